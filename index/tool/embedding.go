package tool

import (
	"crypto/sha256"
	"strings"
)

// TemplateVersion names what embedders are given of a tool; vectors of
// another version are of other texts.
const TemplateVersion = "1"

// A tool is embedded in one of two forms.
const (
	AsFields = iota // its fields, each by itself
	AsText          // one text
	Forms           // how many forms there are
)

// EmbeddedFields are the fields of a tool by name.
func EmbeddedFields(t *Tool, p Parameters) map[string]string {
	return map[string]string{
		"name":   t.Name,
		"server": t.Server,
		"desc":   t.Description,
		"pname":  strings.Join(p.Names, " "),
		"pdesc":  strings.Join(p.Texts, " "),
	}
}

// EmbeddedText is a tool as one text: "server name: title. description.
// parameters", without what is empty.
func EmbeddedText(t *Tool, p Parameters) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(t.Server + " " + t.Name))
	separator := ": "
	for _, s := range []string{t.Title, t.Description, strings.Join(p.Names, ", "), strings.Join(p.Texts, " ")} {
		if s = strings.TrimRight(strings.TrimSpace(s), "."); s == "" {
			continue
		}
		b.WriteString(separator)
		b.WriteString(s)
		separator = ". "
	}
	return b.String()
}

// EmbeddedHashes are the SHA-256 of what a tool's vectors are made of, by form.
func EmbeddedHashes(t *Tool, p Parameters) (sums [Forms][32]byte) {
	f := EmbeddedFields(t, p)
	h := sha256.New()
	for _, name := range []string{"name", "server", "desc", "pname", "pdesc"} {
		h.Write([]byte(f[name]))
		h.Write([]byte{0})
	}
	h.Sum(sums[AsFields][:0])
	sums[AsText] = sha256.Sum256([]byte(EmbeddedText(t, p)))
	return sums
}
