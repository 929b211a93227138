package clients

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/tooldex/tooldex/internal/settings"
)

// Write adds servers to the tooldex configuration that f is, and takes over the
// variables and headers that the updates say differ. It returns the
// path of a copy of what was there, "" where there was no file, and notes
// beside the configuration what Undo takes back.
func Write(f *settings.File, servers []Server, updates []Row) (copied string, err error) {
	text, err := Append(f.Format(), f.Text, servers)
	if err != nil {
		return "", err
	}
	for _, r := range updates {
		if text, err = r.update(f.Format(), text); err != nil {
			return "", err
		}
	}
	if copied, err = f.Keep(); err != nil {
		return "", err
	}
	r := imported{Copy: copied, Text: digest(text), Servers: map[string]string{}}
	have, err := Have(text)
	if err != nil {
		return "", err
	}
	for _, s := range have {
		if slices.ContainsFunc(servers, func(added Server) bool { return added.Name == s.Name }) {
			r.Servers[s.Name] = s.digest()
		}
	}
	for _, u := range updates {
		r.Servers[u.Name] = "" // which no entry has: it cannot be taken back alone
	}
	if err := f.Replace(text); err != nil {
		return "", err
	}
	return copied, changeRecord(f.Path, func(all []imported) []imported { return append(all, r) })
}

// update sets the variables and headers that differ.
func (r Row) update(format settings.Format, text []byte) (_ []byte, err error) {
	for _, key := range r.Differ {
		for section, values := range map[string]map[string]string{"env": r.Env, "headers": r.Headers} {
			if value, ok := values[key]; ok {
				if text, err = settings.Set(format, text, value, "mcpServers", r.Name, section, key); err != nil {
					return nil, err
				}
			}
		}
	}
	return text, nil
}

// imported is what one import wrote.
type imported struct {
	Copy    string            `json:"copy"`    // of the file before, "" if there was none
	Text    string            `json:"text"`    // digest of the file after
	Servers map[string]string `json:"servers"` // added ones, with the digests of their entries
}

// recordPath is where the imports into the configuration at path are noted.
func recordPath(path string) string { return path + ".imports" }

func readRecord(path string) ([]imported, error) {
	text, err := os.ReadFile(recordPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []imported
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", recordPath(path), err)
	}
	return out, nil
}

// changeRecord rewrites the note of imports, or removes it when it is empty.
func changeRecord(path string, change func([]imported) []imported) error {
	all, err := readRecord(path)
	if err != nil {
		return err
	}
	f, err := settings.Read(recordPath(path))
	if err != nil {
		return err
	}
	if all = change(all); len(all) == 0 {
		return f.Replace(nil)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return f.Replace(text)
}

// ErrNoImport reports that there is no import to take back.
var ErrNoImport = errors.New("no import to take back")

// An Undone says what taking an import back did.
type Undone struct {
	Restored bool     `json:"restored"`           // the file is byte for byte what it was
	Removed  []string `json:"removed"`            // servers
	Reverted []string `json:"reverted,omitempty"` // those whose keys were updated, and are as before
	Kept     []string `json:"kept,omitempty"`     // those that were changed since
	Copy     string   `json:"backup,omitempty"`   // of the file as it was before this
}

// Undo takes the last import into the configuration that f is back. Where the
// file has not changed since, it becomes what it was; otherwise the imported
// servers are removed, but for those that were changed since.
func Undo(f *settings.File) (Undone, error) {
	var u Undone
	all, err := readRecord(f.Path)
	if err != nil {
		return u, err
	}
	if len(all) == 0 || !f.Exists() {
		return u, ErrNoImport
	}
	last := all[len(all)-1]
	before, err := last.undo(f, &u)
	if err != nil {
		return u, err
	}
	if u.Copy, err = f.Keep(); err != nil {
		return u, err
	}
	if err := f.Replace(before); err != nil {
		return u, err
	}
	return u, changeRecord(f.Path, func(all []imported) []imported { return all[:len(all)-1] })
}

// undo is the text without what the import added, nil for no file.
func (r imported) undo(f *settings.File, u *Undone) ([]byte, error) {
	have, err := Have(f.Text)
	if err != nil {
		return nil, err
	}
	text := f.Text
	for _, s := range have {
		was, ok := r.Servers[s.Name]
		switch {
		case !ok:
		case was != s.digest():
			u.Kept = append(u.Kept, s.Name)
		default:
			u.Removed = append(u.Removed, s.Name)
			if text, err = settings.Remove(f.Format(), text, s.Section(), s.Name); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(u.Removed)
	slices.Sort(u.Kept)
	if digest(f.Text) != r.Text {
		return text, nil
	}
	var before []byte
	if r.Copy != "" {
		if before, err = os.ReadFile(r.Copy); err != nil {
			return text, nil // the copy is gone
		}
	}
	u.Restored = true
	u.Reverted, u.Kept = u.Kept, nil // as nothing has changed since
	return before, nil
}

func digest(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// digest tells whether an entry has been changed.
func (s Server) digest() string {
	text, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	return digest(text)
}
