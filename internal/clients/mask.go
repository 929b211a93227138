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

// Summary is the command or address of the server on one line, with whatever
// may be secret hidden. It errs on the side of hiding.
func (s Server) Summary() string {
	if s.URL != "" {
		return maskText(s.URL)
	}
	return strings.Join(append([]string{s.Command}, mask(s.Args)...), " ")
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
		case assigned && plainName.MatchString(name) && secretName.MatchString(name):
			out[i] = name + "=" + Hidden
		default:
			out[i] = maskText(a)
		}
		hideNext = flag && !assigned && (secretName.MatchString(a) || a == "-H" || a == "-p" || a == "-u" || a == "-e")
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
	if name, _, ok := strings.Cut(s, ":"); ok && secretName.MatchString(name) {
		return name + ":" + Hidden
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
	for name := range u.Query() {
		names = append(names, name+"="+Hidden)
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
