package clients

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// What a plan does with a server.
const (
	Add    = "add"    // take it over
	Update = "update" // take over what has changed of its variables and headers
	Skip   = "skip"   // leave it, for the reason given
)

// A Row is a plan's decision about one server of one file.
type Row struct {
	Server          // under the name it shall have
	From   Location // the file it comes from
	Was    string   // its name there, when that differs
	Action string   // Add, Update or Skip
	Why    string   // reason of a Skip or of a new name
	Differ []string // variables and headers that an Update changes
}

// A Plan says what to take over.
type Plan struct{ Rows []Row }

// Added are the rows to take over.
func (p Plan) Added() []Server {
	var out []Server
	for _, r := range p.Rows {
		if r.Action == Add {
			out = append(out, r.Server)
		}
	}
	return out
}

// Updated are the rows whose servers are there with other variables or headers.
func (p Plan) Updated() []Row {
	return slices.DeleteFunc(slices.Clone(p.Rows), func(r Row) bool { return r.Action != Update })
}

// Found are the servers of one file.
type Found struct {
	Location
	Servers []Server
}

// MakePlan decides about every found server. have are the servers of the
// tooldex configuration already; listen is tooldex's own address, whose
// entries are left out: a gateway that calls itself would never end.
func MakePlan(found []Found, have []Server, listen string) Plan {
	names, updated := map[string]Server{}, map[string]bool{}
	for _, s := range have {
		names[strings.ToLower(s.Name)] = s
	}
	var p Plan
	for _, f := range found {
		for _, s := range f.Servers {
			r := decide(Row{Server: s, From: f.Location}, names, listen)
			if r.Action == Update && updated[r.Name] {
				r.Action, r.Why = Skip, "another client has yet another "+strings.Join(r.Differ, ", ")
			}
			if r.Action != Skip {
				updated[r.Name] = r.Action == Update
				names[strings.ToLower(r.Name)] = r.Server
			}
			p.Rows = append(p.Rows, r)
		}
	}
	return p
}

func decide(r Row, names map[string]Server, listen string) Row {
	original := r.Name
	r.Action = Skip
	switch {
	case r.IsTooldex(listen):
		r.Why = "is tooldex itself"
		return r
	case r.Command == "" && r.URL == "":
		r.Why = "has neither command nor url"
		return r
	}
	for _, other := range names {
		if r.Same(other) {
			r.Why = "already there"
			if other.Name != r.Name {
				r.Why += " as " + other.Name
			}
			return r
		}
	}
	r.Name = cleanName(original)
	if other, ok := names[strings.ToLower(r.Name)]; ok && r.keyChanged(other) {
		return r
	}
	r.Action = Add
	if _, taken := names[strings.ToLower(r.Name)]; taken {
		r.Why = "another server has this name"
		r.Name = freeName(r.Name, r.From.Client, names)
	}
	if r.Name != original {
		r.Was = original
	}
	return r
}

// keyChanged decides about a server that differs from one that is there, of the
// same name, in nothing but variables and headers.
func (r *Row) keyChanged(other Server) bool {
	bare := func(s Server) Server { s.Env, s.Headers = nil, nil; return s }
	if !bare(r.Server).Same(bare(other)) {
		return false
	}
	fromVariable := false
	for _, m := range []struct{ mine, theirs map[string]string }{{r.Env, other.Env}, {r.Headers, other.Headers}} {
		for _, key := range slices.Sorted(maps.Keys(m.mine)) {
			if was, ok := m.theirs[key]; !ok || was != m.mine[key] {
				r.Differ = append(r.Differ, key)
				fromVariable = fromVariable || reference.MatchString(was)
			}
		}
	}
	r.Name = other.Name
	keys := strings.Join(r.Differ, ", ")
	switch {
	case len(r.Differ) == 0:
		r.Why = "already there, with more variables"
	case fromVariable:
		r.Why = "has another " + keys + ", which the configuration takes from a variable"
	default:
		r.Action, r.Why = Update, "has another "+keys
	}
	return true
}

// Same tells whether two servers are reached in the same way.
func (s Server) Same(o Server) bool {
	return s.connection() == o.connection()
}

func (s Server) connection() string {
	s.Name, s.Notes, s.Timeout, s.Disabled, s.Type, s.Tags = "", nil, "", false, "", nil
	s.Tools, s.Hidden = nil, false
	if len(s.Env) == 0 {
		s.Env = nil
	}
	if len(s.Headers) == 0 {
		s.Headers = nil
	}
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Sprintf("%+v", s) // cannot be: texts always encode
	}
	return string(b)
}

// IsTooldex tells whether the server is a tooldex: the program, or an address
// where one listens on this machine. Its sample server is a server like any.
func (s Server) IsTooldex(listen string) bool {
	if slices.Contains(s.Args, "sample-server") {
		return false
	}
	if program(s.Command) == "tooldex" || listens(s.URL, listen) {
		return true
	}
	for _, a := range s.Args {
		if strings.HasSuffix(filepath.ToSlash(a), "cmd/tooldex") || strings.Contains(a, "tooldex/cmd/tooldex@") || program(a) == "tooldex" || listens(a, listen) {
			return true
		}
	}
	return false
}

func program(path string) string {
	base := path[strings.LastIndexAny(path, `/\`)+1:]
	return strings.TrimSuffix(strings.ToLower(base), ".exe")
}

func listens(raw, listen string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return false
	}
	_, port, err := net.SplitHostPort(listen)
	if err != nil || u.Port() != port {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// cleanName makes a name that a tooldex configuration accepts.
func cleanName(name string) string {
	clean := strings.Trim(notInName.ReplaceAllString(name, "-"), "-")
	if clean == "" {
		clean = "server"
	}
	return clean[:min(len(clean), 64)]
}

// freeName adds the client, then a number, until the name is free.
func freeName(name, client string, names map[string]Server) string {
	if client == "" {
		client = "imported"
	}
	base := name[:min(len(name), 40)] + "-" + client
	free := base
	for n := 2; ; n++ {
		if _, taken := names[strings.ToLower(free)]; !taken {
			return free
		}
		free = fmt.Sprintf("%s-%d", base, n)
	}
}
