package sample

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

type textOut struct {
	Text string `json:"text"`
}

type changeCaseIn struct {
	Text  string `json:"text" jsonschema:"the text to change"`
	Style string `json:"style" jsonschema:"the wanted spelling"`
}

type countTextIn struct {
	Text string `json:"text" jsonschema:"the text to count"`
}

type countTextOut struct {
	Characters int `json:"characters"`
	Bytes      int `json:"bytes"`
	Words      int `json:"words"`
	Lines      int `json:"lines"`
	Sentences  int `json:"sentences"`
}

type replaceTextIn struct {
	Text        string `json:"text" jsonschema:"the text to change"`
	Find        string `json:"find" jsonschema:"what to look for"`
	Replacement string `json:"replacement" jsonschema:"what to put instead; with regex $1 stands for the first group"`
	Regex       bool   `json:"regex,omitempty" jsonschema:"read find as a regular expression (RE2)"`
}

type replaceTextOut struct {
	Text         string `json:"text"`
	Replacements int    `json:"replacements"`
}

type compareTextsIn struct {
	Old string `json:"old" jsonschema:"the first text"`
	New string `json:"new" jsonschema:"the second text"`
}

type compareTextsOut struct {
	Same bool   `json:"same"`
	Diff string `json:"diff" jsonschema:"unified diff, empty when the texts are the same"`
}

type extractIn struct {
	Text    string `json:"text" jsonschema:"the text to look through"`
	Kind    string `json:"kind" jsonschema:"what to look for"`
	Pattern string `json:"pattern,omitempty" jsonschema:"regular expression (RE2), for the kind custom"`
}

type extractOut struct {
	Matches []string `json:"matches"`
}

type hashTextIn struct {
	Text      string `json:"text" jsonschema:"the text to hash"`
	Algorithm string `json:"algorithm,omitempty" jsonschema:"the hash function"`
}

type hashTextOut struct {
	Hex       string `json:"hex"`
	Algorithm string `json:"algorithm"`
}

type encodeTextIn struct {
	Text   string `json:"text" jsonschema:"the text to encode or decode"`
	Format string `json:"format" jsonschema:"the encoding"`
	Decode bool   `json:"decode,omitempty" jsonschema:"decode instead of encode"`
}

type sortLinesIn struct {
	Text    string `json:"text" jsonschema:"the lines to sort"`
	Options struct {
		Descending bool `json:"descending,omitempty" jsonschema:"last first"`
		Unique     bool `json:"unique,omitempty" jsonschema:"drop repeated lines"`
		IgnoreCase bool `json:"ignore_case,omitempty" jsonschema:"compare upper and lower case alike"`
	} `json:"options,omitzero" jsonschema:"how to sort"`
}

func (s *Server) addText() {
	const category = "Text Processing"
	add(s, category, tool{
		name: "change_case", title: "Change case", description: "Rewrite text in upper case, lower case, title case, snake_case, kebab-case or camelCase.",
		tags: []string{"text", "format"}, props: props{"style": {enum: []string{"upper", "lower", "title", "snake", "kebab", "camel"}}},
		examples: []map[string]any{{"text": "order line item", "style": "camel"}},
	}, changeCase)
	add(s, category, tool{
		name: "count_text", title: "Count words", description: "Count the characters, words, sentences and lines of a text.",
		tags: []string{"text", "analysis"}, examples: []map[string]any{{"text": "One. Two three."}},
	}, countText)
	add(s, category, tool{
		name: "replace_text", title: "Find and replace", description: "Replace every occurrence of a word or regular expression in a text.",
		tags: []string{"text", "edit"}, examples: []map[string]any{{"text": "2026-01-31", "find": `(\d+)-(\d+)-(\d+)`, "replacement": "$3.$2.$1", "regex": true}},
	}, replaceText)
	add(s, category, tool{
		name: "compare_texts", title: "Compare two texts", description: "Show the differences between two texts as a unified diff.",
		tags: []string{"text", "analysis"}, examples: []map[string]any{{"old": "a\nb\n", "new": "a\nc\n"}},
	}, compareTexts)
	add(s, category, tool{
		name: "extract_patterns", title: "Extract patterns", description: "Pull all e-mail addresses, links, numbers, dates or own patterns out of a text.",
		tags: []string{"text", "search"}, props: props{"kind": {enum: []string{"email", "url", "number", "date", "ip", "hashtag", "custom"}}},
		examples: []map[string]any{{"text": "Write to ann@example.com", "kind": "email"}},
	}, extractPatterns)
	add(s, category, tool{
		name: "hash_text", title: "Hash a text", description: "Compute the checksum of a text: SHA-256, SHA-512, SHA-1 or MD5.",
		tags: []string{"text", "security"}, props: props{"algorithm": {enum: []string{"sha256", "sha512", "sha1", "md5"}, def: "sha256"}},
		examples: []map[string]any{{"text": "hello", "algorithm": "sha256"}},
	}, hashText)
	add(s, category, tool{
		name: "encode_text", title: "Encode or decode", description: "Encode text as base64, hexadecimal, percent-encoded URL or HTML entities, or decode it back.",
		tags: []string{"text", "format"}, props: props{"format": {enum: []string{"base64", "base64url", "hex", "url", "html"}}},
		examples: []map[string]any{{"text": "aGVsbG8=", "format": "base64", "decode": true}},
	}, encodeText)
	add(s, category, tool{
		name: "sort_lines", title: "Sort lines", description: "Sort the lines of a text, optionally in reverse or without duplicates.",
		tags: []string{"text", "edit"}, examples: []map[string]any{{"text": "b\na\nb", "options": map[string]any{"unique": true}}},
	}, sortLines)
}

// wordsOf splits on everything but letters and digits, and at camel humps.
func wordsOf(text string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words, word = append(words, strings.ToLower(string(word))), nil
		}
	}
	lower := false
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			lower = false
			continue
		}
		if lower && unicode.IsUpper(r) {
			flush()
		}
		lower = unicode.IsLower(r)
		word = append(word, r)
	}
	flush()
	return words
}

func capitalise(word string) string {
	r, n := utf8.DecodeRuneInString(word)
	if n == 0 {
		return word
	}
	return string(unicode.ToTitle(r)) + word[n:]
}

func changeCase(_ context.Context, in changeCaseIn) (textOut, error) {
	switch in.Style {
	case "upper":
		return textOut{cases.Upper(language.Und).String(in.Text)}, nil
	case "lower":
		return textOut{strings.ToLower(in.Text)}, nil
	}
	words := wordsOf(in.Text)
	sep := map[string]string{"title": " ", "snake": "_", "kebab": "-", "camel": ""}[in.Style]
	for i := range words {
		if in.Style == "title" || in.Style == "camel" && i > 0 {
			words[i] = capitalise(words[i])
		}
	}
	return textOut{strings.Join(words, sep)}, nil
}

var sentenceEnd = regexp.MustCompile(`[.!?]+(\s|$)`)

func countText(_ context.Context, in countTextIn) (countTextOut, error) {
	out := countTextOut{
		Characters: utf8.RuneCountInString(in.Text),
		Bytes:      len(in.Text),
		Words:      len(strings.Fields(in.Text)),
		Lines:      strings.Count(in.Text, "\n"),
		Sentences:  len(sentenceEnd.FindAllString(in.Text, -1)),
	}
	if in.Text != "" && !strings.HasSuffix(in.Text, "\n") {
		out.Lines++
	}
	return out, nil
}

func replaceText(_ context.Context, in replaceTextIn) (replaceTextOut, error) {
	if in.Find == "" {
		return replaceTextOut{}, fmt.Errorf("find: is empty")
	}
	pattern, with := in.Find, in.Replacement
	if !in.Regex {
		pattern, with = regexp.QuoteMeta(in.Find), strings.ReplaceAll(in.Replacement, "$", "$$")
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return replaceTextOut{}, err
	}
	n := len(re.FindAllStringIndex(in.Text, -1))
	return replaceTextOut{Text: re.ReplaceAllString(in.Text, with), Replacements: n}, nil
}

func compareTexts(_ context.Context, in compareTextsIn) (compareTextsOut, error) {
	return compareTextsOut{
		Same: in.Old == in.New,
		Diff: string(diff.Diff("old", []byte(in.Old), "new", []byte(in.New))),
	}, nil
}

var patterns = map[string]*regexp.Regexp{
	"email":   regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+`),
	"url":     regexp.MustCompile(`https?://[^\s<>"']+[^\s<>"'.,;:!?)]`),
	"number":  regexp.MustCompile(`[-+]?\d+(\.\d+)?([eE][-+]?\d+)?`),
	"date":    regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`),
	"ip":      regexp.MustCompile(`\b(\d{1,3}\.){3}\d{1,3}\b`),
	"hashtag": regexp.MustCompile(`#[\p{L}\p{N}_]+`),
}

func extractPatterns(_ context.Context, in extractIn) (extractOut, error) {
	re := patterns[in.Kind]
	if in.Kind == "custom" {
		var err error
		if re, err = regexp.Compile(in.Pattern); err != nil {
			return extractOut{}, err
		}
	}
	out := extractOut{Matches: re.FindAllString(in.Text, -1)}
	if out.Matches == nil {
		out.Matches = []string{}
	}
	return out, nil
}

func hashText(_ context.Context, in hashTextIn) (hashTextOut, error) {
	h := map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New, "sha1": sha1.New, "md5": md5.New}[in.Algorithm]()
	h.Write([]byte(in.Text))
	return hashTextOut{Hex: hex.EncodeToString(h.Sum(nil)), Algorithm: in.Algorithm}, nil
}

// codec is one encoding in both directions.
type codec struct {
	encode func(string) string
	decode func(string) (string, error)
}

func bytesDecoder(f func(string) ([]byte, error)) func(string) (string, error) {
	return func(s string) (string, error) {
		b, err := f(s)
		if err == nil && !utf8.Valid(b) {
			err = fmt.Errorf("the decoded bytes are not text")
		}
		return string(b), err
	}
}

var codecs = map[string]codec{
	"base64":    {func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }, bytesDecoder(base64.StdEncoding.DecodeString)},
	"base64url": {func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }, bytesDecoder(base64.RawURLEncoding.DecodeString)},
	"hex":       {func(s string) string { return hex.EncodeToString([]byte(s)) }, bytesDecoder(hex.DecodeString)},
	"url":       {url.QueryEscape, url.QueryUnescape},
	"html":      {html.EscapeString, func(s string) (string, error) { return html.UnescapeString(s), nil }},
}

func encodeText(_ context.Context, in encodeTextIn) (textOut, error) {
	c := codecs[in.Format]
	if !in.Decode {
		return textOut{c.encode(in.Text)}, nil
	}
	text, err := c.decode(in.Text)
	if err != nil {
		return textOut{}, fmt.Errorf("decode %s: %w", in.Format, err)
	}
	return textOut{text}, nil
}

func sortLines(_ context.Context, in sortLinesIn) (textOut, error) {
	key := func(s string) string { return s }
	if in.Options.IgnoreCase {
		key = strings.ToLower
	}
	text, ended := strings.CutSuffix(in.Text, "\n")
	lines := strings.Split(text, "\n")
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(key(a), key(b)) })
	if in.Options.Unique {
		lines = slices.CompactFunc(lines, func(a, b string) bool { return key(a) == key(b) })
	}
	if in.Options.Descending {
		slices.Reverse(lines)
	}
	out := strings.Join(lines, "\n")
	if ended {
		out += "\n"
	}
	return textOut{out}, nil
}
