package clients

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Hidden stands in place of what may be secret.
const Hidden = "•••"

var (
	// secretName is part of the name of something secret.
	secretName = regexp.MustCompile(`(?i)(key|token|secret|passw|pwd|auth|bearer|credential|cookie|session|dsn|connection|header)`)
	plainName  = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	// tokenLike is a run of characters as in a key: long, or of a known maker.
	tokenLike = regexp.MustCompile(`(?:\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[a-z]|AKIA|AIza|hf|npm|pat)[-_A-Za-z0-9]{6,}|[A-Za-z0-9_\-+=.]{20,})`)
	digit     = regexp.MustCompile(`[0-9]`)
	knownKey  = regexp.MustCompile(`^(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[a-z]|AKIA|AIza|hf_|npm_|pat)[-_A-Z0-9a-z]{6,}`)
	letter    = regexp.MustCompile(`[A-Za-z]`)
	// published is a package or file name with a version, which no secret is.
	published = regexp.MustCompile(`^@?[a-z][a-z.\-_]*(@[0-9a-z.]+)?$`)
)

// A rule hides what may be secret wherever it stands in a line of text, as in
// the argument of "sh -c".
type rule struct {
	pattern *regexp.Regexp
	shown   string // what stands there instead
}

const (
	secretWord = `[\w.-]*(?:key|token|secret|passw|pwd|auth|bearer|credential|cookie|session|dsn|connection|header)[\w.-]*`
	// value is what follows a name: quoted, or up to a blank, with the scheme
	// of an Authorization header before it.
	value = `(?:(?:bearer|basic|token)\s+)?(?:"[^"]*"?|'[^']*'?|[^\s"']+)`
)

var rules = []rule{
	{regexp.MustCompile(`[^\s:/@"'=]+:[^\s/@"']*@`), Hidden + "@"},                                          // user:password@host
	{regexp.MustCompile(`://[^\s/@"']+@`), "://" + Hidden + "@"},                                            // token@host
	{regexp.MustCompile(`([?&][^\s=&"']+=)[^\s&"']+`), "${1}" + Hidden},                                     // a query's values
	{regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[^\s"']+`), "${1}" + Hidden},                            // Bearer x
	{regexp.MustCompile(`(?i)(` + secretWord + `["']?\s*[=:]\s*)` + value), "${1}" + Hidden},                // PASSWORD=x, Authorization: x
	{regexp.MustCompile(`(?i)((?:^|[\s"'])--?` + secretWord + `\s+)` + value), "${1}" + Hidden},             // --password x
	{regexp.MustCompile(`((?:^|[\s"'])-[Hpue]\s+)(?:"[^"]*"?|'[^']*'?|[^\s"'-][^\s"']*)`), "${1}" + Hidden}, // -p x
	{regexp.MustCompile(`((?:^|[\s"'])-p)[^\s"']+`), "${1}" + Hidden},                                       // -px
}

// Summary is the command or address of the server on one line, with whatever
// may be secret hidden. It errs on the side of hiding.
func (s Server) Summary() string {
	if s.URL != "" {
		return maskText(s.URL)
	}
	command := s.Command
	if strings.ContainsAny(command, " \t\n") {
		command = maskText(command) // a whole line, which some clients split
	}
	return strings.Join(append([]string{command}, mask(s.Args)...), " ")
}

// Line is the command or address on one line, with nothing hidden.
func (s Server) Line() string {
	if s.URL != "" {
		return s.URL
	}
	return strings.Join(append([]string{s.Command}, s.Args...), " ")
}

// Secrets are the names of the variables and headers whose values Summary
// does not show.
func (s Server) Secrets() []string {
	return append(slices.Sorted(maps.Keys(s.Env)), slices.Sorted(maps.Keys(s.Headers))...)
}

// mask hides what may be secret in a command's arguments.
func mask(args []string) []string {
	out := make([]string, len(args))
	hideNext := false
	for i, a := range args {
		flag := strings.HasPrefix(a, "-")
		name, _, assigned := strings.Cut(a, "=")
		switch {
		case hideNext && !flag:
			out[i] = Hidden
		case assigned && !strings.ContainsAny(a, " \t\n") && plainName.MatchString(name) && secretName.MatchString(name):
			out[i] = name + "=" + Hidden
		default:
			out[i] = maskText(a)
		}
		hideNext = flag && !assigned && (secretName.MatchString(a) || a == "-H" || a == "-p" || a == "-u" || a == "-e") ||
			strings.EqualFold(a, "bearer")
	}
	return out
}

// maskText hides user information, queries and runs of characters that look
// like keys.
func maskText(s string) string {
	if reference.MatchString(s) && reference.ReplaceAllString(s, "") == "" {
		return s
	}
	if u, err := url.Parse(s); err == nil && u.Scheme != "" && u.Host != "" {
		return maskURL(u)
	}
	if name, _, ok := strings.Cut(s, ":"); ok && plainName.MatchString(name) && secretName.MatchString(name) {
		return name + ":" + Hidden
	}
	for _, r := range rules {
		s = r.pattern.ReplaceAllString(s, r.shown)
	}
	return maskTokens(s)
}

func maskURL(u *url.URL) string {
	out := u.Scheme + "://"
	if u.User != nil {
		out += Hidden + "@"
	}
	out += u.Host + maskTokens(u.EscapedPath())
	var names []string
	for name, values := range u.Query() {
		if values[0] == "" {
			name = Hidden // the whole of it may be the key
		} else {
			name += "=" + Hidden
		}
		names = append(names, name)
	}
	if slices.Sort(names); len(names) > 0 {
		out += "?" + strings.Join(names, "&")
	} else if u.RawQuery != "" {
		out += "?" + Hidden
	}
	if u.Fragment != "" {
		out += "#" + Hidden
	}
	return out
}

func maskTokens(s string) string {
	return tokenLike.ReplaceAllStringFunc(s, func(run string) string {
		if !knownKey.MatchString(run) && (published.MatchString(run) || !digit.MatchString(run) || !letter.MatchString(run)) {
			return run
		}
		return Hidden
	})
}
