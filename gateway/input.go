package gateway

import (
	"encoding/json"

	"github.com/tooldex/tooldex/gateway/rawjson"
)

// answering is by method of a server's request for input the capability of
// the client that answers it.
var answering = map[string]string{
	"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots",
}

// inputCapabilities are those of a client's capabilities that a server is told
// of: what the client has beside them it has with us.
func inputCapabilities(given json.RawMessage) json.RawMessage {
	if given == nil {
		return nil
	}
	var all map[string]json.RawMessage
	_ = json.Unmarshal(given, &all) // what is no object has none
	var o rawjson.Writer
	for _, name := range []string{"elicitation", "roots", "sampling"} {
		if value := all[name]; rawjson.Kind(value) == "object" {
			o.Add(name, value)
		}
	}
	return o.Bytes()
}

// unanswerable names what a client with the capabilities lacks to answer the
// requests of a server that speaks protocol; "" when it lacks nothing. Any
// client of the era can call again with no more than a state.
func unanswerable(requests, capabilities json.RawMessage, protocol string) string {
	var asked map[string]struct {
		Method string
		Params struct{ Mode string }
	}
	var has map[string]map[string]json.RawMessage
	if capabilities == nil || protocol < StatelessEra || len(requests) > 0 && json.Unmarshal(requests, &asked) != nil {
		return "elicitation"
	}
	_ = json.Unmarshal(inputCapabilities(capabilities), &has) // objects each
	for _, r := range asked {
		name, known := answering[r.Method]
		own, ok := has[name]
		switch {
		case !known:
			return "an answer to " + r.Method
		case !ok:
			return name
		case r.Params.Mode == "url" && own["url"] == nil:
			return "elicitation of mode url"
		case name == "elicitation" && r.Params.Mode != "url" && len(own) > 0 && own["form"] == nil:
			return "elicitation of mode form"
		}
	}
	return ""
}
