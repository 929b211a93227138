package attach

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// sessionTimeout bounds the wait for who serves to take a session: it has
	// greeted, and may be starting.
	sessionTimeout = 5 * time.Second
	// askTimeout bounds a question about the state.
	askTimeout = 3 * time.Second
	// maxReply bounds what a peer may say in answer to a question.
	maxReply = 64 << 20
)

// Session opens a session of an MCP client at an endpoint of who serves at the
// place, a message a line in both directions; an EndpointError when that does not
// serve it.
func (p Place) Session(ctx context.Context, endpoint string) (io.ReadWriteCloser, error) {
	conn, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	s, err := p.hello(conn, endpoint)
	if err != nil && !errors.As(err, new(*EndpointError)) {
		err = fmt.Errorf("attach: %w", err)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return s, nil
}

func (p Place) hello(conn net.Conn, endpoint string) (*stream, error) {
	if err := conn.SetDeadline(time.Now().Add(sessionTimeout)); err != nil {
		return nil, err
	}
	_, err := fmt.Fprintf(conn, "POST /session?%s HTTP/1.1\r\nHost: tooldex\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: %s\r\nContent-Length: 0\r\n\r\n",
		url.Values{endpointKey: {endpoint}}.Encode(), protocol, keyHeader, p.key)
	if err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: conn, N: maxHeader}
	r := bufio.NewReader(limited)
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return nil, err
	}
	switch res.StatusCode {
	case http.StatusSwitchingProtocols:
	case http.StatusNotFound:
		return nil, &EndpointError{said(res)}
	default:
		return nil, refusal(res)
	}
	limited.N = math.MaxInt64
	return &stream{Conn: conn, r: r}, conn.SetDeadline(time.Time{})
}

// refusal is what a peer answered instead of what was asked for.
func refusal(res *http.Response) error { return errors.New("refused: " + said(res)) }

func said(res *http.Response) string {
	text, err := io.ReadAll(io.LimitReader(res.Body, maxHeader))
	if err != nil {
		return "status " + res.Status
	}
	return strings.TrimSpace(string(text))
}

// About asks who serves at the place.
func (p Place) About(ctx context.Context) (About, error) {
	var a About
	return a, p.ask(ctx, http.MethodGet, "/about", nil, &a)
}

// Status asks how it stands with who serves at the place.
func (p Place) Status(ctx context.Context, into any) error {
	return p.ask(ctx, http.MethodGet, "/status", nil, into)
}

// Yield asks who serves at the place to leave it.
func (p Place) Yield(ctx context.Context) error {
	return p.ask(ctx, http.MethodPost, "/yield", nil, nil)
}

// Call has who serves at the place run a tool, for as long as ctx lasts.
func (p Place) Call(ctx context.Context, request, into any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	return p.exchange(ctx, http.MethodPost, "/call", body, into)
}

func (p Place) ask(ctx context.Context, method, path string, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return p.exchange(ctx, method, path, body, into)
}

func (p Place) exchange(ctx context.Context, method, path string, body []byte, into any) error {
	transport := &http.Transport{
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx) },
		MaxResponseHeaderBytes: maxHeader, DisableKeepAlives: true,
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://tooldex"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set(keyHeader, p.key)
	res, err := transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("ask the tooldex that serves: %w", err)
	}
	defer res.Body.Close() // it has been read, or is not wanted
	switch {
	case res.StatusCode == http.StatusNoContent:
		return nil
	case res.StatusCode != http.StatusOK:
		return refusal(res)
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxReply)).Decode(into); err != nil {
		return fmt.Errorf("ask the tooldex that serves: %w", err)
	}
	return nil
}
