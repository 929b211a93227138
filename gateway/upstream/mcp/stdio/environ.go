package stdio

import (
	"runtime"
	"slices"
	"strings"
)

// What every server gets of our environment: what finds programs, folders,
// languages, certificates and proxies, and nothing that may be a secret of
// another server. A prefix ends in a star.
var (
	inherited = []string{
		"HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TERM", "TMPDIR", "TZ", "XDG_*", "SSL_CERT_*",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	}
	inheritedOnWindows = []string{
		"PATH", "PATHEXT", "COMSPEC", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "OS", "TEMP", "TMP",
		"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "ALLUSERSPROFILE", "PUBLIC", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "USERNAME", "USERDOMAIN",
		"PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432",
		"COMPUTERNAME", "NUMBER_OF_PROCESSORS", "PROCESSOR_*", "PSMODULEPATH", "SSL_CERT_*", "LANG", "LC_*", "TZ",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
	}
)

// environ is the environment of the server: of ours the usual variables and
// those that the command names, and its own.
func (c Command) environ(ours []string) []string {
	own := map[string]bool{}
	for name := range c.Env {
		own[folded(name)] = true
	}
	var out []string
	for _, variable := range ours {
		// Windows has variables whose name begins with "=": a drive's folder.
		name, _, ok := strings.Cut(variable, "=")
		if ok && name != "" && !own[folded(name)] && c.inherits(name) {
			out = append(out, variable)
		}
	}
	for name, value := range c.Env {
		out = append(out, name+"="+value)
	}
	return out
}

// inherits reports whether the server gets our variable of this name.
func (c Command) inherits(name string) bool {
	usual := inherited
	if runtime.GOOS == "windows" {
		usual = inheritedOnWindows
	}
	name = folded(name)
	return len(c.Inherit) == 1 && c.Inherit[0] == "all" ||
		slices.ContainsFunc(c.Inherit, func(wanted string) bool { return folded(wanted) == name }) ||
		slices.ContainsFunc(usual, func(pattern string) bool {
			prefix, open := strings.CutSuffix(pattern, "*")
			return name == pattern || open && strings.HasPrefix(name, prefix)
		})
}

// folded is the name of a variable as the system compares it.
func folded(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}
