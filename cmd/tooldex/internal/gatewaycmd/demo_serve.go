package gatewaycmd

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/config"
)

// demoServe walks and goes on serving until the person has seen enough, also
// those who attach from another terminal.
func (c commands) demoServe(cmd *cobra.Command, cfg *config.Config, addr string) error {
	ln, err := listenLoopback(addr)
	if err != nil && addr == demoListen {
		ln, err = listen("127.0.0.1:0")
	}
	if err != nil {
		return err
	}
	claimed, err := app.Claim(cmd.Context(), cfg, c.Version, true)
	if err != nil {
		c.Note("warning: other processes cannot use the servers of this one: %v", err)
	}
	var walked atomic.Bool // calls are noted that others make
	note := func(what string, isError bool, took time.Duration) {
		if walked.Load() {
			c.noteCall(what, isError, took)
		}
	}
	e, err := c.Open(cmd, cfg, app.Options{Online: true, Claimed: claimed, OnCall: note}, false)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	c.serveAPI(e, ln)
	err = e.Serve(cmd.Context(), ln, func(ctx context.Context) error {
		err := c.anyWalk(ctx, e)
		if err == nil {
			c.sayServing(cfg, ln)
			walked.Store(true)
		}
		return err
	})
	if err = errors.Join(err, e.Close()); err == nil {
		c.Note("goodbye; the sample servers have stopped")
	}
	return err
}

func (c commands) noteCall(what string, isError bool, took time.Duration) {
	outcome := "ok"
	if isError {
		outcome = "error"
	}
	c.Note("%s %s %s, %.1f ms", time.Now().Format(time.TimeOnly), what, outcome, float64(took.Microseconds())/1000)
}

// sayServing tells how to reach the demo.
func (c commands) sayServing(cfg *config.Config, ln net.Listener) {
	url := "http://" + ln.Addr().String() + "/mcp"
	c.step(6, "Serving MCP clients on %s until you press Ctrl-C", url)
	c.Say("   Claude Code:  claude mcp add --transport http tooldex %s", url)
	c.Say("   Cursor:       {\"mcpServers\": {\"tooldex\": {\"url\": %q}}}", url)
	c.Say("   a terminal:   %s search \"sort lines\"", demoCommand(cfg))
	c.Say("                 the same with status, tools list, or call text/count_text 'text=one two'")
	c.Say("   your servers: tooldex import --write, then tooldex serve")
}

// demoCommand is how a shell starts this program with the demo's catalog.
func demoCommand(cfg *config.Config) string {
	program := "tooldex"
	self, err := os.Executable()
	if found, notFound := exec.LookPath(program); err == nil && (notFound != nil || found != self) {
		program = shellWord(self)
	}
	command := program + " --config " + shellWord(cfg.Path)
	if os.Getenv("TOOLDEX_STATE") != "" { // which is above the file
		command += " --state " + shellWord(cfg.State)
	}
	return command
}

// shellWord quotes a path that a shell would take apart.
func shellWord(path string) string {
	if !strings.ContainsAny(path, " \t'\"$&;()<>|*?`") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
