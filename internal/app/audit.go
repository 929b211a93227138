package app

import (
	"log/slog"
	"path/filepath"
	"time"

	"github.com/tooldex/tooldex/gateway/audit"
	"github.com/tooldex/tooldex/gateway/serve"
	"github.com/tooldex/tooldex/internal/config"
)

// AuditFolder is where the audit of a configuration is kept.
func AuditFolder(cfg *config.Config) string { return filepath.Join(cfg.State, "audit") }

// openAudit opens the audit, nil where none is kept.
func openAudit(cfg *config.Config, log *slog.Logger) (*audit.Log, error) {
	if !cfg.Audit.Enabled || cfg.State == "" { // a catalog in memory is for a trial
		return nil, nil
	}
	return audit.Open(AuditFolder(cfg), audit.Options{Keep: time.Duration(cfg.Audit.Keep), Logger: log})
}

// auditor keeps calls of hidden tools; nil where no audit is kept, which has
// them logged.
func (e *endpoints) auditor() serve.Auditor {
	if e.audit == nil {
		return nil
	}
	return hiddenAccess{e.audit}
}

type hiddenAccess struct{ log *audit.Log }

// HiddenToolAccess implements [serve.Auditor].
func (h hiddenAccess) HiddenToolAccess(a serve.HiddenAccess) {
	for _, name := range a.Tools {
		h.log.Add(audit.Event{
			Time: a.Time, Kind: audit.HiddenAccess, Principal: a.Origin.Principal, Endpoint: a.Origin.Endpoint,
			Request: a.Origin.Request, Tool: name,
		})
	}
}
