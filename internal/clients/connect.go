package clients

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/internal/settings"
)

// Self is how a client reaches tooldex: by starting it, or at an address.
type Self struct {
	Command string
	Args    []string
	URL     string // instead of a command
}

// selfEntry is tooldex in any client's spelling.
type selfEntry struct {
	Type      string   `json:"type,omitempty" toml:"type,omitempty"`
	Source    string   `json:"source,omitempty" toml:"source,omitempty"`
	Command   string   `json:"command,omitempty" toml:"command,omitempty"`
	Args      []string `json:"args,omitempty" toml:"args,omitempty"`
	URL       string   `json:"url,omitempty" toml:"url,omitempty"`
	ServerURL string   `json:"serverUrl,omitempty" toml:"serverUrl,omitempty"`
	HTTPURL   string   `json:"httpUrl,omitempty" toml:"httpUrl,omitempty"`
}

// entry is how client writes it.
func (s Self) entry(client string) (selfEntry, error) {
	if s.URL == "" {
		e := selfEntry{Command: s.Command, Args: s.Args}
		switch client {
		case "vscode", "claude-code":
			e.Type = "stdio"
		case "zed":
			e.Source = "custom"
		}
		return e, nil
	}
	switch client {
	case "claude-desktop":
		return selfEntry{}, errors.New("connect it without an address: Claude Desktop starts its servers itself")
	case "vscode", "claude-code":
		return selfEntry{Type: "http", URL: s.URL}, nil
	case "windsurf":
		return selfEntry{ServerURL: s.URL}, nil
	case "gemini":
		return selfEntry{HTTPURL: s.URL}, nil
	}
	return selfEntry{URL: s.URL}, nil
}

// selfName is tooldex's name in a client's file.
const selfName = "tooldex"

// serversPath is where a client's file keeps its map of servers.
func serversPath(l Location) []string {
	switch {
	case l.Client == "vscode" && filepath.Base(l.Path) == "settings.json":
		return []string{"mcp", "servers"}
	case l.Client == "vscode":
		return []string{"servers"}
	case l.Client == "zed":
		return []string{"context_servers"}
	case l.Client == "codex":
		return []string{"mcp_servers"}
	}
	return []string{"mcpServers"}
}

// A Rewrite is a change of one file of a client that is not made yet.
type Rewrite struct {
	Location
	Removed []Server // from the file
	Stays   []string // servers that tooldex cannot take over
	Added   string   // tooldex's name, "" if the file gets none
	Back    []string // servers that a disconnection gives back
	Whole   bool     // the file becomes what it was before

	Projects int // of Claude Code, that have servers of their own, which stay

	file     *settings.File
	listen   string
	after    []byte // nil removes the file
	original []byte // what the copy shall hold; nil leaves it
	forget   bool   // the copy goes
}

// Nothing tells whether the file is already as it should be.
func (r *Rewrite) Nothing() bool { return r.after != nil && string(r.after) == string(r.file.Text) }

// Copy is where the file as it was before is kept, until it is restored.
func (r *Rewrite) Copy() string { return r.Path + ".before-tooldex" }

// absent is what the copy of a file holds that was not there.
const absent = "there was no file\n"

// files are the files of one client; the first gets tooldex.
func (s System) files(client string) []Location {
	return slices.DeleteFunc(s.Files(), func(l Location) bool { return l.Client != client })
}

// Connect plans to leave tooldex alone in the files of a client.
func (s System) Connect(client string, self Self) ([]*Rewrite, error) {
	entry, err := self.entry(client)
	if err != nil {
		return nil, err
	}
	if s.Home == "" {
		return nil, errors.New("the home folder is not known")
	}
	var out []*Rewrite
	for i, l := range s.files(client) {
		r, err := s.rewrite(l)
		if err != nil {
			return nil, err
		}
		if i > 0 && len(r.Removed) == 0 {
			continue // an older place, without servers
		}
		if _, err := os.Stat(filepath.Dir(l.Path)); err != nil && i == 0 {
			return nil, fmt.Errorf("%s: %s has no such folder: start it once", filepath.Dir(l.Path), Names[client])
		}
		if err := r.connect(entry, i == 0); err != nil {
			return nil, fmt.Errorf("%s: %w", l.Path, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// rewrite reads a file and says which servers would go.
func (s System) rewrite(l Location) (*Rewrite, error) {
	f, err := settings.Read(l.Path)
	if err != nil {
		return nil, err
	}
	r := &Rewrite{Location: l, file: f, listen: s.Listen}
	at, err := settings.Get(f.Format(), f.Text, serversPath(l)...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", l.Path, err)
	}
	names, isMap := at.(map[string]any)
	if at != nil && !isMap {
		return nil, fmt.Errorf("read %s: %s is no map of servers", l.Path, strings.Join(serversPath(l), "."))
	}
	if l.Client == "claude-code" {
		r.Projects = projects(f)
	}
	if len(names) == 0 {
		return r, nil
	}
	servers, err := s.parse(l, f.Text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", l.Path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		i := slices.IndexFunc(servers, func(x Server) bool { return x.Name == name })
		if i < 0 || servers[i].Command == "" && servers[i].URL == "" {
			r.Stays = append(r.Stays, name)
			continue
		}
		r.Removed = append(r.Removed, servers[i])
	}
	return r, nil
}

// projects counts the folders for which a file of Claude Code has servers.
func projects(f *settings.File) int {
	at, err := settings.Get(f.Format(), f.Text, "projects")
	if err != nil {
		return 0
	}
	all, _ := at.(map[string]any)
	n := 0
	for _, p := range all {
		project, _ := p.(map[string]any)
		if servers, _ := project["mcpServers"].(map[string]any); len(servers) > 0 {
			n++
		}
	}
	return n
}

// others are the removed servers that are not tooldex.
func (r *Rewrite) others() []string {
	var out []string
	for _, s := range r.Removed {
		if !s.IsTooldex(r.listen) {
			out = append(out, s.Name)
		}
	}
	return out
}

// connect makes the text with tooldex alone, if this file is the one for it.
func (r *Rewrite) connect(entry selfEntry, gets bool) error {
	if err := r.checkCopy(); err != nil {
		return err
	}
	format, path, text := r.file.Format(), serversPath(r.Location), r.file.Text
	if text == nil {
		text = []byte{}
	}
	var err error
	for _, s := range r.Removed {
		if text, err = settings.Remove(format, text, append(path, s.Name)...); err != nil {
			return err
		}
	}
	r.Removed = slices.DeleteFunc(r.Removed, func(s Server) bool { return s.IsTooldex(r.listen) })
	if gets {
		if slices.Contains(r.Stays, selfName) {
			return fmt.Errorf("it has a server %s that starts nothing: remove it first", selfName)
		}
		r.Added = selfName
		if len(r.Stays) == 0 && format == settings.JSON {
			text, err = settings.Set(format, text, map[string]any{selfName: entry}, path...)
		} else {
			text, err = settings.Set(format, text, entry, append(path, selfName)...)
		}
	}
	r.after = text
	return err
}

// checkCopy decides what the copy shall hold: what is there now, unless it
// holds what was there before tooldex came.
func (r *Rewrite) checkCopy() error {
	now := r.file.Text
	if !r.file.Exists() {
		now = []byte(absent)
	}
	there, err := os.ReadFile(r.Copy())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.original = now
		return nil
	case err != nil:
		return err
	case string(there) == string(now):
		return nil // an attempt that was cut off
	case len(r.others()) > 0:
		return fmt.Errorf("it was connected before and has %s since: disconnect first, then connect again", strings.Join(r.others(), ", "))
	}
	return nil
}

// Disconnect plans to give the files of a client back the servers that Connect
// took out.
func (s System) Disconnect(client string) ([]*Rewrite, error) {
	var out []*Rewrite
	for _, l := range s.files(client) {
		r, err := s.rewrite(l)
		if err != nil {
			return nil, err
		}
		original, err := os.ReadFile(r.Copy())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := r.disconnect(original); err != nil {
			return nil, fmt.Errorf("%s: %w", l.Path, err)
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s is not connected: there is no %s.before-tooldex", Names[client], s.files(client)[0].Path)
	}
	return out, nil
}

// disconnect makes the text that was there before, or, where the file has
// changed since, one with the servers that it had.
func (r *Rewrite) disconnect(original []byte) error {
	r.forget = true
	format, path := r.file.Format(), serversPath(r.Location)
	was := original
	if string(original) == absent {
		was = []byte{}
	}
	before, err := settings.Get(format, was, path...)
	if err != nil {
		return err
	}
	servers, _ := before.(map[string]any)
	r.Back = slices.Sorted(maps.Keys(servers))
	if len(r.others()) == 0 && settings.Same(format, was, r.file.Text, path...) {
		r.after = was
		if string(original) == absent {
			r.after = nil
		}
		r.Whole = true
		return nil
	}
	text := r.file.Text
	for _, s := range r.Removed {
		if s.IsTooldex(r.listen) {
			if text, err = settings.Remove(format, text, append(path, s.Name)...); err != nil {
				return err
			}
		}
	}
	now, err := settings.Get(format, text, path...)
	if err != nil {
		return err
	}
	have, _ := now.(map[string]any)
	r.Back = slices.DeleteFunc(r.Back, func(name string) bool { _, there := have[name]; return there }) // made anew since
	for _, name := range r.Back {
		if text, err = settings.Set(format, text, servers[name], append(path, name)...); err != nil {
			return err
		}
	}
	r.after = text
	return nil
}

// Apply makes changes, all of them or none, and returns the copies of what a
// disconnection replaced.
func Apply(rewrites []*Rewrite) (copies []string, err error) {
	var done []*Rewrite
	for _, r := range rewrites {
		before := r.file.Text
		var copied string
		if copied, err = r.apply(); err != nil {
			break
		}
		if copied != "" {
			copies = append(copies, copied)
		}
		r.after = before // what undoes it
		done = append(done, r)
	}
	if err == nil {
		for _, r := range rewrites {
			if r.forget {
				err = errors.Join(err, os.Remove(r.Copy()))
			}
		}
		return copies, err
	}
	for _, r := range done {
		if back := r.file.Replace(r.after); back != nil {
			err = errors.Join(err, back)
		} else if r.original != nil {
			err = errors.Join(err, os.Remove(r.Copy()))
		}
	}
	return nil, err
}

func (r *Rewrite) apply() (copied string, err error) {
	if r.Nothing() && !r.forget {
		return "", nil
	}
	if r.original != nil {
		if err := settings.WriteNew(r.Copy(), r.original); err != nil {
			return "", err
		}
	}
	if r.forget {
		if copied, err = r.file.Keep(); err != nil {
			return "", err
		}
	}
	if err := r.file.Replace(r.after); err != nil {
		if r.original != nil {
			err = errors.Join(err, os.Remove(r.Copy()))
		}
		return "", err
	}
	return copied, nil
}
