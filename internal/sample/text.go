package sample

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
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
}

type sortLinesIn struct {
	Text    string `json:"text" jsonschema:"the lines to sort"`
	Options struct {
		Descending bool `json:"descending,omitempty" jsonschema:"last first"`
		Unique     bool `json:"unique,omitempty" jsonschema:"drop repeated lines"`
	} `json:"options,omitzero" jsonschema:"how to sort"`
}

func (s *Server) addText() {
	const category = "Text Processing"
	add(s, category, tool{
		name: "change_case", title: "Change case", description: "Rewrite text in upper case, lower case, snake_case or kebab-case.",
		tags: []string{"text", "format"}, props: props{"style": {enum: []string{"upper", "lower", "snake", "kebab"}}},
		examples: []map[string]any{{"text": "order line item", "style": "snake"}},
	}, changeCase)
	add(s, category, tool{
		name: "count_text", title: "Count words", description: "Count the characters, words and lines of a text.",
		tags: []string{"text", "analysis"}, examples: []map[string]any{{"text": "One. Two three."}},
	}, countText)
	add(s, category, tool{
		name: "sort_lines", title: "Sort lines", description: "Sort the lines of a text, optionally in reverse or without duplicates.",
		tags: []string{"text", "edit"}, examples: []map[string]any{{"text": "b\na\nb", "options": map[string]any{"unique": true}}},
	}, sortLines)
}

func changeCase(_ context.Context, in changeCaseIn) (textOut, error) {
	switch in.Style {
	case "upper":
		return textOut{strings.ToUpper(in.Text)}, nil
	case "lower":
		return textOut{strings.ToLower(in.Text)}, nil
	}
	words := strings.FieldsFunc(strings.ToLower(in.Text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return textOut{strings.Join(words, map[string]string{"snake": "_", "kebab": "-"}[in.Style])}, nil
}

func countText(_ context.Context, in countTextIn) (countTextOut, error) {
	out := countTextOut{
		Characters: utf8.RuneCountInString(in.Text),
		Bytes:      len(in.Text),
		Words:      len(strings.Fields(in.Text)),
	}
	for range strings.Lines(in.Text) {
		out.Lines++
	}
	return out, nil
}

func sortLines(_ context.Context, in sortLinesIn) (textOut, error) {
	text, ended := strings.CutSuffix(in.Text, "\n")
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	if in.Options.Unique {
		lines = slices.Compact(lines)
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
