package login

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// callbackPath is where a browser comes back to.
const callbackPath = "/callback"

// A callback is the place on this machine to which a browser comes back.
type callback struct {
	address string // as the authorization server is told it
	server  *http.Server
	state   atomic.Pointer[string] // of the login that is waited for
	answers chan url.Values
}

// listen opens the place at a port, 0 for any.
func listen(port int) (*callback, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("wait for the browser: %w; free the port, or change auth.redirect_port", err)
	}
	c := &callback{address: "http://" + ln.Addr().String() + callbackPath, answers: make(chan url.Values, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+callbackPath, c.come)
	c.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go c.server.Serve(ln) //nolint:errcheck // it ends with close
	return c, nil
}

func portOf(address string) int {
	u, err := url.Parse(address)
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return 0
	}
	return port
}

// come takes the browser's answer. One of another login is turned away, and
// the wait goes on: any page may send a browser here.
func (c *callback) come(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	if !c.take(req.URL.Query()) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintln(w, "This is not the login that tooldex waits for. Open the address that it shows in your terminal.")
		return
	}
	fmt.Fprintln(w, "tooldex has the answer. You can close this window; your terminal says how it went.")
}

// take takes an answer, unless it is to another login.
func (c *callback) take(q url.Values) bool {
	state := c.state.Load()
	if state == nil || q.Get("state") != *state || q.Get("code") == "" && q.Get("error") == "" {
		return false
	}
	select {
	case c.answers <- q:
	default: // it has one
	}
	return true
}

// ended takes the address at which a browser ended that could not come back.
func (c *callback) ended(address string) error {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil || u.Path != callbackPath:
		return fmt.Errorf("that is not where the browser ends; its address begins with %s", c.address)
	case !c.take(u.Query()):
		return errors.New("that is the end of another login: open the address above, and copy the one at which it ends")
	}
	return nil
}

// wait waits for the answer to the login of the state that is set.
func (c *callback) wait(ctx context.Context) (url.Values, error) {
	select {
	case q := <-c.answers:
		return q, nil
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return nil, errors.New("nobody came back from the browser in time; run it again, or raise --timeout")
		}
		return nil, context.Cause(ctx)
	}
}

// close ends the wait, when the browser has its page.
func (c *callback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		c.server.Close()
	}
}
