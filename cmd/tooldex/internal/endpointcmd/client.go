package endpointcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/gateway/admin"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/app/access"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/manage"
)

// answerTimeout bounds a request: the API works on what is in memory and small
// files.
const answerTimeout = 30 * time.Second

// A client uses the API: that of the process which serves, or the same one over
// the state folder, in this process.
type client struct {
	http http.Client
	base string // its address
	key  string
}

// connected runs f with a client.
func (c commands) connected(cmd *cobra.Command, f func(ctx context.Context, a *client) error) error {
	cfg, err := c.LoadConfig(cmd, true)
	if err != nil {
		return err
	}
	if listen := app.ListensAt(cmd.Context(), cfg, c.Version); opens(cfg, listen) {
		key, err := admin.Key(cfg.State)
		if err != nil {
			return err
		}
		return f(cmd.Context(), &client{http: http.Client{Timeout: answerTimeout}, base: "http://" + listen, key: key})
	}
	e, err := c.Open(cmd, cfg, app.Options{Managing: true}, false)
	if err != nil {
		return err
	}
	defer e.Close() // what was written is on the disk
	base := "http://" + cfg.Listen
	h, key, err := manage.API(e, manage.Options{Version: c.Version, URL: func() string { return access.Base(cfg) }})
	if err != nil {
		return err
	}
	return f(cmd.Context(), &client{http: http.Client{Transport: inProcess{h}}, base: base, key: key})
}

// opens says whether the key of the state folder opens the API at an address.
// Where it does not, the same is done over the folder, which who serves follows.
func opens(cfg *config.Config, listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err == nil && config.Loopback(host) && cfg.TLS.Cert == "" && !cfg.BehindProxy
}

// inProcess is a transport to a handler of this process.
type inProcess struct{ http.Handler }

// RoundTrip implements [http.RoundTripper].
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	p.ServeHTTP(w, r)
	return &http.Response{
		StatusCode: w.status, Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
		Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
	}, nil
}

// A recorder keeps what a handler answers.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header         { return w.header }
func (w *recorder) Write(b []byte) (int, error) { return w.body.Write(b) }
func (w *recorder) WriteHeader(status int)      { w.status = status }

// A request is one to the API.
type request struct {
	method, path string
	body         any    // nil for none
	version      string // of what it changes, "" for none
}

// do sends a request, reads the answer into out unless that is nil, and returns
// the version that it names. What the API refuses is an error with its advice.
func (a *client) do(ctx context.Context, r request, out any) (version string, err error) {
	var body io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return "", err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, a.base+r.path, body)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	req.Header.Set("Content-Type", "application/json")
	if r.version != "" {
		req.Header.Set("If-Match", r.version)
	}
	res, err := a.http.Do(req)
	if err != nil {
		return "", cli.Hint(err, "see \"tooldex status\"")
	}
	defer res.Body.Close() // it was read
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	if res.StatusCode >= http.StatusBadRequest {
		return "", refused(r, res.StatusCode, text)
	}
	if out != nil {
		err = json.Unmarshal(text, out)
	}
	return res.Header.Get("ETag"), err
}

// inCommands words the advice of the API for who uses commands.
var inCommands = strings.NewReplacer(
	"GET /servers lists", `"tooldex servers list" lists`, "with PUT or PATCH /servers/", "with tooldex servers edit ",
	"; GET /openapi.json describes every key", "", "replace it with PUT, or delete it", "give it whole with --file, or delete it",
)

// refused is what the API says is wrong.
func refused(r request, status int, text []byte) error {
	var p admin.Problem
	if json.Unmarshal(text, &p) != nil || p.Detail == "" {
		return cli.Hint(fmt.Errorf("%s %s: %s", r.method, r.path, http.StatusText(status)), "the log of the tooldex that serves says why it has no API; see \"tooldex status\" for which it is")
	}
	if p.Next == "" {
		return errors.New(p.Detail)
	}
	return cli.Hint(errors.New(p.Detail), "%s", inCommands.Replace(p.Next))
}
