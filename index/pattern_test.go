package index

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// randomPattern is a pattern over a small alphabet, of some depth.
func randomPattern(r *rand.Rand, depth int) string {
	atoms := []string{
		"a", "b", "_", "K", "é", "ſ", "\n", ".", `\w`, `\W`, `\d`, `[ab]`, `[^a]`, `[[:alpha:]_]`, "^", "$", `\b`, `\B`, `\A`, `\z`,
		`(?i:k)`, `(?i:s)`, `(?s:.)`, `(?m:^)`, `(?m:$)`, `\pL`, "",
	}
	if depth == 0 {
		return atoms[r.IntN(len(atoms))]
	}
	sub := func() string { return randomPattern(r, depth-1) }
	switch r.IntN(6) {
	case 0:
		return "(" + sub() + "|" + sub() + ")"
	case 1:
		return "(?:" + sub() + ")" + []string{"*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{2,}?"}[r.IntN(9)]
	case 2:
		return sub() + "|" + sub()
	}
	return sub() + sub()
}

func randomName(r *rand.Rand) string {
	letters := []rune("aaabbb__kKsS1-")
	if r.IntN(8) == 0 {
		letters = append(letters, 'é', 'ſ', 'K', '\n', '\x00')
	}
	name := make([]rune, r.IntN(9))
	for i := range name {
		name[i] = letters[r.IntN(len(letters))]
	}
	if r.IntN(50) == 0 {
		return string(name) + "\xff"
	}
	return string(name)
}

func TestAutomatonMatchesAsRegexp(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	names := make([]string, 200)
	for i := range names {
		names[i] = randomName(r)
	}
	matched := 0
	for range 2000 {
		pattern := randomPattern(r, r.IntN(4))
		for _, compile := range []func(string) (*regexp.Regexp, error){regexp.Compile, regexp.CompilePOSIX} {
			re, err := compile(pattern)
			if err != nil {
				continue
			}
			a := newAutomaton(re)
			for _, name := range names {
				want := re.MatchString(name)
				if got := a.match([]byte(name)); got != want {
					t.Fatalf("pattern %q, name %q: got %v, want %v", pattern, name, got, want)
				}
				if want {
					matched++
				}
			}
		}
	}
	if matched == 0 {
		t.Fatal("no pattern matched: the test tests nothing")
	}
}

// The same pattern can mean two things; what means another to POSIX goes to
// regexp.
func TestAutomatonOfPOSIX(t *testing.T) {
	for pattern, want := range map[string]bool{"^a+?b$": true, "^ab$": true} {
		a := newAutomaton(regexp.MustCompilePOSIX(pattern))
		if got := a.match([]byte("ab")); got != want {
			t.Errorf("%q: got %v, want %v", pattern, got, want)
		}
	}
	if !newAutomaton(regexp.MustCompilePOSIX("^a+?b$")).match([]byte("b")) {
		t.Error(`"^a+?b$" must match "b": in POSIX it is (a+)?`)
	}
	if newAutomaton(regexp.MustCompile("^ab$")).prog == nil {
		t.Error("a plain pattern must have an automaton")
	}
}

// Which of the last 12 letters were an "a" takes 4096 states to know.
func TestAutomatonThatGrowsTooLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, pattern := range []string{"a[ab]{12}c", "(a|b|ab){1,300}(?:a[ab]{9}){20}c", "x{1000}"} {
		re := regexp.MustCompile(pattern)
		a := newAutomaton(re)
		for range 2000 {
			var b strings.Builder
			for range 5 + r.IntN(60) {
				b.WriteByte("aab"[r.IntN(3)])
			}
			name := b.String() + []string{"", "c"}[r.IntN(2)]
			if got, want := a.match([]byte(name)), re.MatchString(name); got != want {
				t.Fatalf("pattern %q, name %q: got %v, want %v", pattern, name, got, want)
			}
		}
		if len(a.states) > maxStates {
			t.Errorf("pattern %q: %d states, want at most %d", pattern, len(a.states), maxStates)
		}
	}
}

func FuzzAutomaton(f *testing.F) {
	f.Add("^read_(file|dir)s?$", "read_files")
	f.Add(`(?i)\bMAIL\b|_x{2,3}$`, "send_mail")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 100 {
			return
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return
		}
		a := newAutomaton(re)
		for i := range name { // every suffix, so that states are used again
			if got, want := a.match([]byte(name[i:])), re.MatchString(name[i:]); got != want {
				t.Fatalf("pattern %q, name %q: got %v, want %v", pattern, name[i:], got, want)
			}
		}
	})
}
