package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A Filter selects records. Zero fields select all.
type Filter struct {
	Since      time.Time
	Principals []string // any of them
	Endpoints  []string // any of them
	Events     []string // any of them
}

func (f Filter) takes(r Record) bool {
	any := func(of []string, value string) bool { return len(of) == 0 || slices.Contains(of, value) }
	return !r.Time.Before(f.Since) && any(f.Principals, r.Principal) && any(f.Endpoints, r.Endpoint) && any(f.Events, r.Kind)
}

// Records are those of a folder that f takes, in order of time, from all its
// files. A line that is no record is passed over; Verify names it. With follow
// they go on as more are written, until ctx ends.
func Records(ctx context.Context, folder string, f Filter, follow bool) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		r := reader{folder: folder, offsets: map[string]int64{}, since: f.Since}
		for {
			more, err := r.read()
			for _, rec := range more {
				if f.takes(rec) && !yield(rec, nil) {
					return
				}
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			if r.behind {
				continue
			}
			if !follow {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(Delay / 2):
			}
		}
	}
}

// A reader knows how far it has read each file of a folder.
type reader struct {
	folder  string
	offsets map[string]int64
	since   time.Time
	behind  bool // there is more than was read
}

// chunk is how much of a file is read at once.
const chunk = 8 << 20

// read returns what is new, in order of time. It reads the oldest file that
// has more, and with it those that began before that ended.
func (r *reader) read() (out []Record, err error) {
	r.behind = false
	all, err := names(r.folder)
	if err != nil {
		return nil, err
	}
	var until time.Time // the last record so far
	for _, name := range all {
		if len(out) > 0 && began(name).After(until) {
			r.behind = true // in later files, perhaps
			break
		}
		more, full, err := r.readFile(name)
		if err != nil {
			return nil, err
		}
		r.behind = r.behind || full
		out = append(out, more...)
		for _, rec := range more {
			if rec.Time.After(until) {
				until = rec.Time
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Record) int { return a.Time.Compare(b.Time) })
	return out, nil
}

// readFile returns what is new in a file; full says that there may be more.
func (r *reader) readFile(name string) (out []Record, full bool, err error) {
	path := filepath.Join(r.folder, name)
	st, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil // it was removed meanwhile
	}
	if err != nil || st.Size() <= r.offsets[name] || st.ModTime().Before(r.since) {
		return nil, false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close() // it is only read
	from := r.offsets[name]
	lines := bufio.NewReaderSize(io.NewSectionReader(f, from, st.Size()-from), 64<<10)
	for r.offsets[name] < from+chunk {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out, false, nil // what has no end yet is read when it has
		}
		if err != nil {
			return nil, false, err
		}
		r.offsets[name] += int64(len(line))
		var rec Record
		if json.Unmarshal(line, &rec) == nil {
			out = append(out, rec)
		}
	}
	return out, true, nil
}
