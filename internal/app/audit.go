package app

import (
	"log/slog"
	"path/filepath"
	"time"

	"github.com/tooldex/tooldex/gateway/audit"
	"github.com/tooldex/tooldex/gateway/auth"
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

// Audited says how it stands with the audit.
type Audited struct {
	Folder   string `json:"folder"`
	Required bool   `json:"required"`          // a tool runs only when that it is about to is on disk
	Problem  string `json:"problem,omitempty"` // why events are lost
}

func auditStatus(e *Engine) *Audited {
	if !e.Config.Audit.Enabled || e.Config.State == "" {
		return nil
	}
	a := &Audited{Folder: AuditFolder(e.Config), Required: e.Config.Audit.Required}
	if e.audit == nil { // it writes none
		return a
	}
	if err := e.audit.Problem(); err != nil {
		a.Problem = err.Error()
	}
	return a
}

// Audit keeps what a command has done, where an audit is kept, as the user's
// who runs it.
func Audit(cfg *config.Config, event audit.Event) error {
	l, err := openAudit(cfg, nil)
	if err != nil || l == nil {
		return err
	}
	event.Principal = auth.Local().Name
	l.Add(event)
	return l.Close()
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
