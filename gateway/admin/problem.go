package admin

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/surface/args"
)

// A Problem is an error as RFC 9457 has it.
type Problem struct {
	Type   string   `json:"type" jsonschema:"about:blank: the status says what kind it is"`
	Title  string   `json:"title" jsonschema:"the status in words"`
	Status int      `json:"status" jsonschema:"the status of the reply"`
	Detail string   `json:"detail" jsonschema:"what is wrong with which thing"`
	Next   string   `json:"next,omitempty" jsonschema:"what to do next"`
	Errors []string `json:"errors,omitempty" jsonschema:"each thing that is wrong, by its key, where there are several"`
}

func (p *Problem) Error() string { return p.Detail }

func problem(status int, next, format string, args ...any) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...), Next: next}
}

var errUnauthorized = problem(http.StatusUnauthorized,
	`send "Authorization: Bearer KEY" with the key in the file admin.key of the state folder, which "tooldex status" names, or with auth a token of a principal with a grant of role admin`,
	"the API needs the key or the token of an administrator")

// unusable is a definition with mistakes.
func unusable(what string, err error) error {
	p := problem(http.StatusUnprocessableEntity, "correct what is named; GET /openapi.json describes every key", "%s: %s", what, strings.ReplaceAll(err.Error(), "\n", "; "))
	if lines := strings.Split(err.Error(), "\n"); len(lines) > 1 {
		p.Errors = lines
	}
	return p
}

// vocabulary is how the API calls what there is to do.
var vocabulary = gateway.Vocabulary{
	Search: "POST /search", List: "GET /tools", Describe: "GET /tools with include_schemas",
	Categories: "GET /tools", Similar: "POST /search", Labels: "GET /tools",
	Start: `"tooldex serve"`, Status: "GET /status",
	Hybrid: `search_type "hybrid"`, Keyword: `search_type "keyword"`, MinScore: "min_score", Timeout: "a longer timeout",
}

// asked is an error of the gateway about what was asked for.
func asked(err error) error {
	var read *args.Error
	if errors.As(err, &read) {
		return problem(http.StatusUnprocessableEntity, read.Hint, "%s", read.Problem)
	}
	var said *gateway.Error
	if errors.As(err, &said) {
		return problem(http.StatusUnprocessableEntity, said.Next.In(vocabulary), "%s", said.Error())
	}
	return err
}
