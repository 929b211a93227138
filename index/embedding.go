package index

import (
	"crypto/sha256"
	"strings"
)

// templateVersion names what embedders are given of a tool; vectors of
// another version are of other texts.
const templateVersion = "1"

// A tool is embedded in one of two forms.
const (
	asFields  = iota // its fields, for a FieldEmbedder
	asText           // one text, for any other
	textForms        // how many forms there are
)

// embedFields are the fields of a tool as a FieldEmbedder takes them.
func embedFields(t *Tool, p parameters) map[string]string {
	return map[string]string{
		"name":   t.Name,
		"server": t.Server,
		"desc":   t.Description,
		"pname":  strings.Join(p.names, " "),
		"pdesc":  strings.Join(p.texts, " "),
	}
}

// embedText is a tool as one text: "server name: title. description.
// parameters", without what is empty.
func embedText(t *Tool, p parameters) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(t.Server + " " + t.Name))
	separator := ": "
	for _, s := range []string{t.Title, t.Description, strings.Join(p.names, ", "), strings.Join(p.texts, " ")} {
		if s = strings.TrimRight(strings.TrimSpace(s), "."); s == "" {
			continue
		}
		b.WriteString(separator)
		b.WriteString(s)
		separator = ". "
	}
	return b.String()
}

// textHashes are the SHA-256 of what a tool's vectors are made of, by form.
func textHashes(t *Tool, p parameters) (sums [textForms][32]byte) {
	f := embedFields(t, p)
	h := sha256.New()
	for _, name := range []string{"name", "server", "desc", "pname", "pdesc"} {
		h.Write([]byte(f[name]))
		h.Write([]byte{0})
	}
	h.Sum(sums[asFields][:0])
	sums[asText] = sha256.Sum256([]byte(embedText(t, p)))
	return sums
}
