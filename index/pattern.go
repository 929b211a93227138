package index

import (
	"encoding/binary"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// An automaton matches a pattern against many short texts: the states of a
// deterministic automaton, made as texts need them (Thompson 1968; R. Cox,
// "Regular Expression Matching: the Virtual Machine Approach"), so that a
// byte costs one look into a table. What it does not answer, package regexp
// does: texts that are not ASCII, and patterns that need too many states.
// It is for one goroutine.
type automaton struct {
	re     *regexp.Regexp
	prog   *syntax.Prog
	next   []uint16       // state, by state and byte; or one of the marks below
	states []nfaState     // by state
	number map[string]int // states by their key
	work   int            // that may still be done, in instructions looked at

	reached nfaSet // scratch of step
	after   nfaSet
}

// Marks in place of a state.
const (
	unknown  = iota // not computed yet
	accepted        // the text matches, whatever follows
	unsure          // only regexp can tell
	marks
)

const (
	symbols   = 128 // a newline's place, which names hardly have, is that of the text's end
	textEnd   = '\n'
	maxStates = 1000
	maxWork   = 100_000 // takes a millisecond or two
	stepWork  = 20      // of a step beside the instructions it looks at
)

// An nfaState is a set of instructions that the program may be at, and what
// assertions see before it.
type nfaState struct {
	at     []uint32
	before rune // -1 at the beginning, else a letter or a space, for any that \b takes alike
}

// newAutomaton never fails: at worst the automaton only asks re.
func newAutomaton(re *regexp.Regexp) *automaton {
	a := &automaton{re: re, number: map[string]int{}}
	a.prog = program(re.String())
	if a.prog == nil {
		return a
	}
	a.work = maxWork
	a.reached.grow(len(a.prog.Inst))
	a.after.grow(len(a.prog.Inst))
	a.states = make([]nfaState, marks)
	a.next = make([]uint16, marks*symbols)
	a.state(nil, -1)
	return a
}

// program compiles a pattern, unless it means one thing to regexp.Compile and
// another to regexp.CompilePOSIX: which of them made it cannot be told.
func program(pattern string) *syntax.Prog {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	posix, err := syntax.Parse(pattern, syntax.OneLine|syntax.ClassNL)
	if err == nil && !posix.Equal(parsed) {
		return nil
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil
	}
	return prog
}

// match says whether text has a match of the pattern.
func (a *automaton) match(text []byte) bool {
	if a.prog == nil {
		return a.re.Match(text)
	}
	state := uint16(marks)
	for _, c := range text {
		if c >= utf8.RuneSelf || c == textEnd {
			return a.re.Match(text)
		}
		next := a.next[int(state)*symbols+int(c)]
		if next < marks {
			if next = a.follow(state, c); next < marks {
				return next == accepted || a.re.Match(text)
			}
		}
		state = next
	}
	state = a.follow(state, textEnd)
	return state == accepted || state == unsure && a.re.Match(text)
}

// follow is the state, or the mark, after one more byte.
func (a *automaton) follow(state uint16, c byte) uint16 {
	i := int(state)*symbols + int(c)
	if a.next[i] == unknown {
		next := a.step(a.states[state], c)
		a.next[i] = next
	}
	return a.next[i]
}

// step computes the state after a byte, or after the text's end, which leads
// to no more matches than the mark accepted.
func (a *automaton) step(from nfaState, c byte) uint16 {
	if a.work <= 0 || len(a.states) == maxStates {
		return unsure
	}
	r := rune(c)
	if c == textEnd {
		r = -1
	}
	a.reach(from, syntax.EmptyOpContext(from.before, r))
	a.after.clear()
	for _, pc := range a.reached.list {
		switch in := &a.prog.Inst[pc]; in.Op {
		case syntax.InstMatch:
			return accepted
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if r >= 0 && in.MatchRune(r) {
				a.after.add(in.Out)
			}
		}
	}
	before := ' '
	if r >= 0 && syntax.IsWordChar(r) {
		before = 'a'
	}
	return a.state(a.after.list, before)
}

// reach fills reached with the instructions that a state, or a match that
// begins here, comes to without reading.
func (a *automaton) reach(from nfaState, flags syntax.EmptyOp) {
	a.reached.clear()
	for _, pc := range from.at {
		a.reached.add(pc)
	}
	a.reached.add(uint32(a.prog.Start))
	for i := 0; i < len(a.reached.list); i++ {
		switch in := &a.prog.Inst[a.reached.list[i]]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			a.reached.add(in.Out)
			a.reached.add(in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			a.reached.add(in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^flags == 0 {
				a.reached.add(in.Out)
			}
		}
	}
	a.work -= stepWork + len(a.reached.list)
}

// state is the number of a state, a new one if need be.
func (a *automaton) state(at []uint32, before rune) uint16 {
	at = slices.Clone(at)
	slices.Sort(at)
	key := binary.AppendVarint(nil, int64(before))
	for _, pc := range at {
		key = binary.AppendUvarint(key, uint64(pc))
	}
	n, ok := a.number[string(key)]
	if !ok {
		n = len(a.states)
		a.number[string(key)] = n
		a.states = append(a.states, nfaState{at, before})
		a.next = append(a.next, make([]uint16, symbols)...)
	}
	return uint16(n)
}

// An nfaSet is a set of instructions in order of being added.
type nfaSet struct {
	list []uint32
	has  []bool
}

func (s *nfaSet) grow(n int) { s.has = make([]bool, n) }

func (s *nfaSet) add(pc uint32) {
	if !s.has[pc] {
		s.has[pc] = true
		s.list = append(s.list, pc)
	}
}

func (s *nfaSet) clear() {
	for _, pc := range s.list {
		s.has[pc] = false
	}
	s.list = s.list[:0]
}
