package tool

import (
	"encoding/binary"
	"errors"
)

// headVersion is the version of what is stored of a tool beside its analysis.
// A head of another version is lost until its server is listed.
const headVersion = 1

var (
	errOutdated = errors.New("made by another version")
	errMangled  = errors.New("does not decode")
)

// Flags of a head.
const (
	headHidden = 1 << iota
	headListed // Listed follows
)

// EncodeHead writes what is resident of a tool: a version, its strings, then
// its lists, lengths before contents, and flags, all numbers as unsigned
// varints.
func EncodeHead(t *Tool) string {
	w := writer{binary.AppendUvarint(make([]byte, 0, 256+len(t.Description)), headVersion)}
	for _, s := range headStrings(t) {
		w.text(*s)
	}
	for _, l := range headLists(t) {
		w.texts(*l)
	}
	w.number(uint64(len(t.Examples)))
	for _, e := range t.Examples {
		w.text(e.Description)
		w.text(string(e.Arguments))
	}
	flags := uint64(0)
	if t.Hidden {
		flags |= headHidden
	}
	if t.Listed != "" {
		flags |= headListed
	}
	w.number(flags)
	if t.Listed != "" {
		w.text(t.Listed)
	}
	return string(w.data)
}

func headStrings(t *Tool) []*string {
	return []*string{&t.Server, &t.Name, &t.Key, &t.Title, &t.Description, &t.Category, &t.Integration, &t.Visibility, &t.Inexecutable}
}

func headLists(t *Tool) []*[]string {
	return []*[]string{&t.Tags, &t.Phrases, &t.Teams, &t.Warnings}
}

// DecodeHead reads a tool without Raw and FirstSeen, whose strings are slices
// of data.
func DecodeHead(data string) (Tool, error) {
	var t Tool
	r := reader{data: data}
	if r.number() != headVersion {
		return t, errOutdated
	}
	for _, s := range headStrings(&t) {
		*s = r.text()
	}
	for _, l := range headLists(&t) {
		*l = r.texts()
	}
	if n := r.count(); n > 0 {
		t.Examples = make([]Example, n)
	}
	for i := range t.Examples {
		t.Examples[i] = Example{Description: r.text(), Arguments: []byte(r.text())}
	}
	flags := r.number()
	t.Hidden = flags&headHidden != 0
	if flags&headListed != 0 {
		t.Listed = r.text()
	}
	return t, r.end()
}

// A writer appends values that a reader reads back.
type writer struct{ data []byte }

func (w *writer) number(n uint64) { w.data = binary.AppendUvarint(w.data, n) }

func (w *writer) text(s string) {
	w.number(uint64(len(s)))
	w.data = append(w.data, s...)
}

func (w *writer) texts(list []string) {
	w.number(uint64(len(list)))
	for _, s := range list {
		w.text(s)
	}
}

// A reader reads values; past the first that is not there it reads zeros. Its
// strings are slices of data.
type reader struct {
	data string
	bad  bool
}

func (r *reader) number() uint64 {
	n := uint64(0)
	for i := 0; i < len(r.data) && i < binary.MaxVarintLen64; i++ {
		c := r.data[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.data = r.data[i+1:]
			return n
		}
	}
	r.bad = true
	return 0
}

// count reads how many values follow, each of which takes at least a byte.
func (r *reader) count() int {
	n := r.number()
	if n > uint64(len(r.data)) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *reader) text() string {
	n := r.count()
	s := r.data[:n]
	r.data = r.data[n:]
	return s
}

func (r *reader) texts() []string {
	n := r.count()
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = r.text()
	}
	return list
}

func (r *reader) end() error {
	if r.bad || r.data != "" {
		return errMangled
	}
	return nil
}
