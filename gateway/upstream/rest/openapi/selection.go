package openapi

import (
	"regexp"
	"slices"
	"strings"
)

// A Selection chooses operations. Patterns know * for anything within a step
// of a path and ** for anything at all.
type Selection struct {
	Tags       []string // in whatever case
	Paths      []string // patterns
	Methods    []string // in whatever case
	Operations []string // patterns of operationId
}

// wants says whether an operation is to be a tool: what Include names in each
// of its keys, without what Exclude names in any.
func (o Options) wants(op *Operation) bool {
	for _, hit := range o.Exclude.hits(op) {
		if hit == yes {
			return false
		}
	}
	for _, hit := range o.Include.hits(op) {
		if hit == no {
			return false
		}
	}
	return true
}

// A verdict is what one key of a Selection says.
type verdict int

const (
	silent verdict = iota // it is not there
	yes
	no
)

func (s Selection) hits(op *Operation) []verdict {
	say := func(there, hit bool) verdict {
		switch {
		case !there:
			return silent
		case hit:
			return yes
		}
		return no
	}
	fold := func(values []string, v string) bool {
		return slices.ContainsFunc(values, func(s string) bool { return strings.EqualFold(s, v) })
	}
	tagged := slices.ContainsFunc(op.Tags, func(t string) bool { return fold(s.Tags, t) })
	return []verdict{
		say(len(s.Tags) > 0, tagged),
		say(len(s.Paths) > 0, slices.ContainsFunc(s.Paths, func(p string) bool { return match(p, op.Path) })),
		say(len(s.Methods) > 0, fold(s.Methods, op.Method)),
		say(len(s.Operations) > 0, slices.ContainsFunc(s.Operations, func(p string) bool { return match(p, op.ID) || p == plain(op.ID) })),
	}
}

// match reports a text that a pattern describes whole.
func match(pattern, s string) bool {
	quoted := regexp.QuoteMeta(pattern)
	quoted = strings.ReplaceAll(quoted, `\*\*`, `.*`)
	quoted = strings.ReplaceAll(quoted, `\*`, `[^/]*`)
	return regexp.MustCompile("^" + quoted + "$").MatchString(s)
}
