package mask

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestMasker(t *testing.T) {
	m := New(
		map[string]string{"Authorization": "Bearer tok<en>/1234", "X-Short": "abc", "Host": "example.com"},
		map[string]string{"GITHUB_TOKEN": "ghp_0123456789", "PIN_SECRET": "12345678", "HOME_FOLDER": "/home/somebody"},
		"https://user:pa55word!@h/mcp?key=query%2Fsecret&short=abc",
	)
	for text, want := range map[string]string{
		"got Bearer tok<en>/1234":             "got [masked]",
		"tok<en>/1234, ghp_0123456789":        "[masked], [masked]",
		"key=query%2Fsecret is query/secret":  "key=[masked] is [masked]",
		"pa55word! of example.com abc":        "[masked] of example.com abc",
		"/home/somebody is no secret, 123456": "/home/somebody is no secret, 123456",
	} {
		if got := m.Text(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for text, want := range map[string]string{
		`{"a":"tok<en>/1234"}`:              `{"a":"[masked]"}`,
		`{"a":"tok\u003cen\u003e/1234"}`:    `{"a":"[masked]"}`,
		`{"a":"tok<en>\/1234\n"}`:           `{"a":"[masked]\n"}`,
		`{"a":12345678,"b":"\"12345678"}`:   `{"a":12345678,"b":"\"[masked]"}`,
		`{"ghp_0123456789":["ghp_012345"]}`: `{"[masked]":["ghp_012345"]}`,
	} {
		if got := string(m.JSON([]byte(text))); got != want || !json.Valid([]byte(got)) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	base := errors.New("ghp_0123456789 refused")
	if err := m.Error(base); err.Error() != "[masked] refused" || !errors.Is(err, base) {
		t.Errorf("got %v", err)
	}
	var log bytes.Buffer
	l := m.Log(slog.New(slog.NewTextHandler(&log, nil))).With("with", "ghp_0123456789").WithGroup("g")
	l.Info("ghp_0123456789", "error", base, "line", "x ghp_0123456789", "n", 5)
	if strings.Contains(log.String(), "ghp") || strings.Count(log.String(), masked) != 4 {
		t.Errorf("logged %s", log.String())
	}
}

func TestLongTextsAreCut(t *testing.T) {
	var buf bytes.Buffer
	Masker{}.Log(slog.New(slog.NewTextHandler(&buf, nil))).Warn("x", "error", errors.New(strings.Repeat("y", 1<<20)))
	if buf.Len() > 2*Longest {
		t.Errorf("an error of 1 MiB is a line of %d bytes", buf.Len())
	}
}
