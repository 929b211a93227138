package cli

import (
	"errors"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
)

// Words are how the command line calls what there is to do and to give.
var Words = gateway.Vocabulary{
	Search: `"tooldex search"`, List: `"tooldex tools list"`, Describe: `"tooldex tools show"`,
	Categories: `"tooldex tools categories"`, Similar: `"tooldex similar"`, Labels: `"tooldex tools categories"`, Start: `"tooldex call"`, Status: `"tooldex status"`,
	Hybrid: "--mode hybrid", Keyword: "--mode keyword", MinScore: "--min-score", Timeout: "--timeout",
}

// Told is what an operation failed with, with its advice as a hint.
func Told(err error) error {
	var failure *gateway.Error
	if !errors.As(err, &failure) || failure.Next == nil {
		return err
	}
	return Hint(err, "%s", failure.Next.In(Words))
}

// Advise notes what to do next, if there is anything.
func (c *CLI) Advise(next gateway.Advice) {
	if next != nil {
		c.Note("hint: %s", next.In(Words))
	}
}

// Answer prints an operation's result as the JSON object that v gives, when
// that is wanted, else shows it to a person.
func (c *CLI) Answer(v any, show func()) error {
	if !c.JSON {
		show()
		return nil
	}
	raw, err := rawjson.Marshal(v)
	return c.SayRaw(raw, err)
}
