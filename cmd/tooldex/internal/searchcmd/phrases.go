package searchcmd

import (
	"encoding/json"
	"fmt"

	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/phrase"
)

// withPhrases is an object with one member more, what people say when they
// need the tool, unless nobody does.
func withPhrases(object any, phrases []phrase.Phrase) (json.RawMessage, error) {
	raw, err := rawjson.Marshal(object)
	if err != nil || len(phrases) == 0 {
		return raw, err
	}
	list, err := rawjson.Marshal(phrases)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(raw[:len(raw)-1], `,"phrases":%s}`, list), nil
}

func (c commands) showPhrases(t index.ToolPhrases) {
	for i, p := range t.Phrases {
		if i == 0 {
			c.Say("\nWhat people say")
		}
		note := string(p.Source)
		if p.Stale {
			note += ", of an older text"
		}
		if i >= t.Counted {
			note += ", does not count"
		}
		c.Hang("  ", fmt.Sprintf("%s (%s)", p.Text, note))
	}
}
