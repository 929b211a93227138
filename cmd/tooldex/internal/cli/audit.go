package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/gateway/audit"
	"github.com/tooldex/tooldex/internal/app"
)

// changing are the commands that change what a gateway does. Those of virtual
// servers go through the API, which keeps them by itself.
var changing = []string{
	"add", "remove", "enable", "disable", "import", "reindex", "backup", "restore", "enrich",
	"auth token new", "auth token revoke", "phrases add", "phrases remove", "phrases forget", "phrases import",
}

// AuditChanges has what the commands change kept in the audit, where there is
// one.
func (c *CLI) AuditChanges(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		c.AuditChanges(cmd)
	}
	_, path, _ := strings.Cut(root.CommandPath(), " ")
	if root.RunE == nil || !slices.Contains(changing, path) {
		return
	}
	run := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		c.auditChange(cmd, args, err == nil)
		return err
	}
}

// auditChange keeps that a command has run, by what it names first: what else
// is on its line may be a secret.
func (c *CLI) auditChange(cmd *cobra.Command, args []string, ok bool) {
	if f := cmd.Flags().Lookup("write"); f != nil && !f.Changed { // it has shown what it would do
		return
	}
	cfg, err := c.ReadConfig(cmd)
	if err != nil {
		return // nobody says that there is an audit
	}
	if err := app.Audit(cfg, audit.Event{Kind: audit.Admin, OK: &ok, Reason: strings.Join(append([]string{cmd.CommandPath()}, args[:min(len(args), 1)]...), " ")}); err != nil {
		c.Note("warning: %v", err)
	}
}
