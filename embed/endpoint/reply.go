package endpoint

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Message takes the words out of an error's body: {"error": {"message": …}}
// (OpenAI), {"error": …} (Ollama), {"message": …}, {"detail": …} (vLLM), or
// text.
func Message(body []byte) string {
	var b struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &b) == nil {
		for _, raw := range []json.RawMessage{b.Error, b.Message, b.Detail} {
			if s := words(raw); s != "" {
				return shorten(s)
			}
		}
	}
	return shorten(string(body))
}

func words(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var o struct {
		Message string `json:"message"`
		Code    any    `json:"code"`
		Type    string `json:"type"`
	}
	if json.Unmarshal(raw, &o) != nil {
		return ""
	}
	if code, ok := o.Code.(string); ok && code != "" {
		return o.Message + " (" + code + ")"
	}
	return o.Message
}

// shorten makes a foreign text fit for one line of a message.
func shorten(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	s = strings.ToValidUTF8(s, "\uFFFD")
	if short := cut(s, 300); short != s {
		return short + "…"
	}
	return s
}

// RetryAfter reads the header's seconds or date; 0 if there is none. Some
// servers send fractions.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// checkVector says what is wrong with a vector, "" if nothing.
func checkVector(v []float32) string {
	if len(v) == 0 {
		return "an empty vector"
	}
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	switch {
	case math.IsNaN(sum):
		return "a vector with NaN"
	case math.IsInf(sum, 0):
		return "a vector with infinite entries"
	case sum == 0:
		return "a vector of zeros"
	}
	return ""
}

// cut returns at most n bytes of s, whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func isBlank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.IsControl(r) })
}
