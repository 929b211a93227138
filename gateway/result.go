package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
)

// A callResult is an upstream's tools/call result, its parts as bytes.
type callResult struct {
	Content       []json.RawMessage `json:"content"`
	Structured    json.RawMessage   `json:"structuredContent"`
	IsError       bool              `json:"isError"`
	Meta          json.RawMessage   `json:"_meta"`
	ResultType    string            `json:"resultType"`
	InputRequests json.RawMessage   `json:"inputRequests"`
	RequestState  json.RawMessage   `json:"requestState"`
}

type executionMetadata struct {
	ToolID string `json:"tool_id"`
	Millis int64  `json:"execution_time_ms"`
	Server string `json:"server"`
}

// mapResult turns an upstream's result into an answer, losing nothing.
func mapResult(res upstream.Result, x *execution, c caller, took time.Duration) (*Answer, error) {
	var r callResult
	if err := json.Unmarshal(res.Raw, &r); err != nil {
		return nil, fmt.Errorf("result is not as the protocol has it: %w", err)
	}
	if jsonKind(r.Structured) == "null" {
		r.Structured = nil
	}
	if r.ResultType == "input_required" {
		return relayInput(res, r, x, c)
	}
	meta, err := withoutProtocolKeys(r.Meta)
	if err != nil {
		return nil, err
	}
	var a *Answer
	if x.untouched {
		a = untouched(r, c)
	} else if a, err = wrapped(r, x, took); err != nil {
		return nil, err
	}
	a.meta, a.IsError = meta, r.IsError
	return a, nil
}

// relayInput hands an upstream's request for input to a caller that can
// answer it.
func relayInput(res upstream.Result, r callResult, x *execution, c caller) (*Answer, error) {
	if c.elicitation == nil || c.protocol < statelessEra || res.Protocol < statelessEra {
		return errorAnswer(&callError{
			msg: fmt.Sprintf("execute_tool %s: server %s asks for input from the user, which only a client on protocol %s with elicitation can give",
				x.name, x.hit.Tool.Server, statelessEra),
			hint: "give all the input in arguments, or use such a client",
		}), nil
	}
	return &Answer{needsInput: true, inputRequests: r.InputRequests, requestState: r.RequestState}, nil
}

// withoutProtocolKeys are the members of an upstream's _meta that may be
// handed on: its own serverInfo would pass for ours.
func withoutProtocolKeys(raw json.RawMessage) ([]member, error) {
	if jsonKind(raw) != "object" {
		return nil, nil
	}
	all, err := members(raw)
	if err != nil {
		return nil, fmt.Errorf("result _meta: %w", err)
	}
	var kept []member
	for _, m := range all {
		if !strings.HasPrefix(m.key, protocolPrefix) {
			kept = append(kept, m)
		}
	}
	return kept, nil
}

// untouched is the upstream's result as it came.
func untouched(r callResult, c caller) *Answer {
	a := &Answer{content: r.Content, structured: r.Structured}
	if r.Structured != nil && jsonKind(r.Structured) != "object" && c.protocol < statelessEra {
		a.structured = nil
		a.content = append(a.content[:len(a.content):len(a.content)], textBlock(string(r.Structured)))
	}
	return a
}

// wrapped is {"result": R, "execution_metadata": …} as text and structured
// content, followed by the blocks that are no text. R is the structured
// content; else the one text, parsed when it is JSON; else all texts. A
// failed tool's R is under "error".
func wrapped(r callResult, x *execution, took time.Duration) (*Answer, error) {
	texts, others, err := splitContent(r.Content)
	if err != nil {
		return nil, err
	}
	metadata, err := marshal(executionMetadata{ToolID: x.hit.ID, Millis: took.Milliseconds(), Server: x.hit.Tool.Server})
	if err != nil {
		return nil, err
	}
	var o objectWriter
	key := "result"
	if r.IsError {
		key = "error"
	}
	o.add(key, resultValue(r.Structured, texts))
	if r.IsError {
		o.add("hint", quote(fmt.Sprintf("%s itself reported this error; describe_tool shows what it expects", x.name)))
	}
	o.add("execution_metadata", metadata)
	a := &Answer{JSON: o.bytes()}
	a.structured = a.JSON
	a.content = append([]json.RawMessage{textBlock(string(a.JSON))}, others...)
	return a, nil
}

func splitContent(content []json.RawMessage) (texts []string, others []json.RawMessage, err error) {
	for i, raw := range content {
		var block struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if err := json.Unmarshal(raw, &block); err != nil {
			return nil, nil, fmt.Errorf("result content[%d]: %w", i, err)
		}
		if block.Type == "text" {
			texts = append(texts, block.Text)
		} else {
			others = append(others, raw)
		}
	}
	return texts, others, nil
}

func resultValue(structured json.RawMessage, texts []string) json.RawMessage {
	if structured != nil {
		return structured
	}
	if len(texts) == 1 {
		if one := bytes.TrimSpace([]byte(texts[0])); json.Valid(one) {
			return one
		}
		return quote(texts[0])
	}
	all := make([]json.RawMessage, len(texts))
	for i, t := range texts {
		all[i] = quote(t)
	}
	return array(all)
}
