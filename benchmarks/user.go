package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// The two eras of the protocol that clients may speak.
const (
	handshakeEra = "2025-11-25"
	statelessEra = "2026-07-28"
)

// A message is a request of tools/call.
type message struct {
	tool      string
	arguments json.RawMessage
}

func bareCall() message { return message{hopTool, object(hopArguments)} }

func executeCall() message {
	return message{"execute_tool", object(map[string]any{"tool_name": hopServer + "/" + hopTool, "arguments": hopArguments})}
}

func searchCalls(queries []string) []message {
	var calls []message
	for _, q := range queries {
		calls = append(calls, message{"search_tools", object(map[string]any{"query": q})})
	}
	return calls
}

// A user is one client: one connection, on which it makes one call after the
// other. It speaks HTTP by itself, because a whole client would take more of
// the machine than the servers that are measured.
type user struct {
	conn     net.Conn
	in       *bufio.Reader
	body     bytes.Buffer // of the last answer
	requests [][]byte
	next     int
}

func newUser(host, era string, calls []message) (*user, error) {
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	u := &user{conn: conn, in: bufio.NewReader(conn)}
	headers := map[string]string{"MCP-Protocol-Version": era}
	if era == handshakeEra {
		if headers["Mcp-Session-Id"], err = u.shakeHands(host); err != nil {
			conn.Close()
			return nil, err
		}
	}
	for _, c := range calls {
		params := map[string]any{"name": c.tool, "arguments": c.arguments}
		if era == statelessEra {
			headers["Mcp-Method"], headers["Mcp-Name"] = "tools/call", c.tool
			params["_meta"] = map[string]any{
				"io.modelcontextprotocol/protocolVersion":    era,
				"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "benchmarks", "version": "1"},
				"io.modelcontextprotocol/clientCapabilities": map[string]any{},
			}
		}
		u.requests = append(u.requests, post(host, headers, rpc(1, "tools/call", params)))
	}
	return u, nil
}

func (u *user) close() { u.conn.Close() }

// shakeHands opens a session and returns its id.
func (u *user) shakeHands(host string) (string, error) {
	hello := rpc(1, "initialize", map[string]any{
		"protocolVersion": handshakeEra, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "benchmarks", "version": "1"},
	})
	header, err := u.exchange(post(host, nil, hello), http.StatusOK)
	if err != nil {
		return "", err
	}
	id := header.Get("Mcp-Session-Id")
	headers := map[string]string{"MCP-Protocol-Version": handshakeEra, "Mcp-Session-Id": id}
	_, err = u.exchange(post(host, headers, rpc(nil, "notifications/initialized", map[string]any{})), http.StatusAccepted)
	return id, err
}

// calls makes the next n calls and returns how long each took.
func (u *user) calls(n int) (times timings, err error) {
	for range n {
		request := u.requests[u.next%len(u.requests)]
		u.next++
		took, err := timed(func() error { return u.call(request) })
		if err != nil {
			return times, err
		}
		times = append(times, took)
	}
	return times, nil
}

func (u *user) call(request []byte) error {
	if _, err := u.exchange(request, http.StatusOK); err != nil {
		return err
	}
	if body := u.body.Bytes(); !bytes.Contains(body, []byte(`"result":`)) || bytes.Contains(body, []byte(`"isError":true`)) {
		return fmt.Errorf("the call failed: %.300s", body)
	}
	return nil
}

// exchange sends a request and reads the whole answer into the body.
func (u *user) exchange(request []byte, want int) (http.Header, error) {
	if err := u.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, err
	}
	if _, err := u.conn.Write(request); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(u.in, nil)
	if err != nil {
		return nil, err
	}
	u.body.Reset()
	_, err = u.body.ReadFrom(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	if resp.StatusCode != want {
		return nil, fmt.Errorf("HTTP %s: %.300s", resp.Status, u.body.Bytes())
	}
	return resp.Header, nil
}

// rpc is a JSON-RPC message; a nil id makes it a notification.
func rpc(id any, method string, params map[string]any) []byte {
	m := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id != nil {
		m["id"] = id
	}
	return object(m)
}

// post is an HTTP request that carries body.
func post(host string, headers map[string]string, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n", host)
	fmt.Fprintf(&b, "Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n", len(body))
	for name, value := range headers {
		fmt.Fprintf(&b, "%s: %s\r\n", name, value)
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}
