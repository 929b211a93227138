package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// A rawCall is one tools/call and how it is answered.
type rawCall struct {
	name, params string
	token        json.RawMessage
	reply        func(result string)
	refuse       func(code int, text string)
	send         func(message string)
}

func (r *rawServer) call(ctx context.Context, m rawMessage, reply func(string), refuse func(int, string), send func(string)) {
	var p struct {
		Name string
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &p)
	c := rawCall{p.Name, string(m.Params), p.Meta.Token, reply, refuse, send}
	if result, ok := canned[p.Name]; ok {
		reply(result())
		return
	}
	if !r.talks(ctx, &c) && !c.harms() {
		refuse(-32602, "unknown tool "+p.Name)
	}
}

// textResult is a result that says text.
func textResult(text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, quoted)
}

// canned are the results of tools that do nothing else.
var canned = map[string]func() string{
	"exact": func() string { return exactResult },
	"ask": func() string {
		return `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"m","x-unknown":1}}},"requestState":"s\u0000tate"}`
	},
	"string": func() string { return `"text"` },
	"large":  func() string { return textResult(strings.Repeat("x", 3<<20)) },
	"huge":   func() string { return textResult(strings.Repeat("x", wire.MaxMessage)) },
	"pid":    func() string { return fmt.Sprintf(`{"content":[],"structuredContent":{"pid":%d}}`, os.Getpid()) },
	"bytes": func() string {
		return "{\"content\":[{\"type\":\"text\",\"text\":\"a\xffb\"}],\"structuredContent\":{\"k\xc3\":\"\xe2\x82\"}}"
	},
	"deep":     func() string { return `{"content":[],"structuredContent":` + nested(2000) + `}` },
	"odd type": func() string { return `{"resultType":"deferred","content":[]}` },
	"environ": func() string {
		text, _ := json.Marshal(os.Environ())
		return fmt.Sprintf(`{"content":[],"structuredContent":%s}`, text)
	},
}

// talks answers the tools that say more than a result, or wait.
func (r *rawServer) talks(ctx context.Context, c *rawCall) bool {
	switch c.name {
	case "echo":
		c.reply(textResult(c.params))
	case "error":
		c.refuse(-32602, "no such thing")
	case "progress":
		for i := range 3 {
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":3,"message":"step %d","_meta":{"v/x":[1e400],"io.modelcontextprotocol/x":1}}}`, c.token, i+1, i+1))
		}
		c.reply(`{"content":[]}`)
	case "hang":
		if c.token != nil {
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":0}}`, c.token))
		}
		<-ctx.Done()
		r.cancels <- json.RawMessage(`"aborted"`)
	case "cancelled":
		c.reply(textResult(string(<-r.cancels)))
	case "questions":
		for i := range 3 * wire.MaxAsked {
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d","method":"ping"}`, i))
		}
		c.send(`{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{}}`)
		c.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
		c.send(`{"jsonrpc":"2.0","method":"notifications/nonsense"}`)
		c.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":[]}`)
		c.reply(`{"content":[]}`)
	case "change":
		for range 5 {
			c.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		c.reply(`{"content":[]}`)
	default:
		return false
	}
	return true
}

// harms answers the tools that break the protocol, the process or a secret.
func (c *rawCall) harms() bool {
	switch c.name {
	case "cut":
		fmt.Print(`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 9<<20))
		os.Exit(9)
	case "garbage":
		c.send("this is a log line, not a message")
		c.send(`{"neither":"is this"}`)
		c.reply(`{"content":[]}`)
	case "exit":
		fmt.Fprintln(os.Stderr, "raw: about to die")
		os.Exit(7)
	case "leak":
		c.refuse(-32602, "bad credentials: "+os.Getenv("API_KEY"))
	case "leak result":
		fmt.Fprintln(os.Stderr, "raw: key is "+os.Getenv("API_KEY"))
		c.reply(textResult(os.Getenv("API_KEY")))
	case "spawn", "spawn away":
		child := exec.Command("sleep", "1000")
		leave(child, c.name == "spawn away")
		if err := child.Start(); err != nil {
			c.refuse(-32603, err.Error())
			break
		}
		c.reply(fmt.Sprintf(`{"content":[],"structuredContent":{"pid":%d,"child":%d}}`, os.Getpid(), child.Process.Pid))
	default:
		return false
	}
	return true
}
