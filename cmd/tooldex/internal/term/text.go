package term

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// OneLine cuts a text to n characters on one line.
func OneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// SortedKeys are the keys of a map in order.
func SortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// Plural is a number with its noun.
func Plural(n int, noun string) string {
	if stem, ok := strings.CutSuffix(noun, "y"); ok && n != 1 {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
