package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const keyFile = "key"

// A key seals lines.
type key []byte

// openKey reads the key of a folder, which it makes if there is none.
func openKey(folder string) (key, error) {
	k, err := readKey(folder)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	f, err := os.CreateTemp(folder, keyFile+"-*.tmp") // mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name()) // it has its name by then, or is of no use
	fresh := make([]byte, sha256.Size)
	_, _ = rand.Read(fresh) // never fails
	_, err = f.WriteString(hex.EncodeToString(fresh) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	// A link fails where another process was first.
	if err := os.Link(f.Name(), filepath.Join(folder, keyFile)); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readKey(folder)
}

func readKey(folder string) (key, error) {
	path := filepath.Join(folder, keyFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	k, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(k) != sha256.Size {
		return nil, fmt.Errorf("%s is not a key of %d bytes in hexadecimal; restore it from a backup, or move the folder away to begin anew", path, sha256.Size)
	}
	return k, nil
}

// seal is the MAC of parts, each of which is told from the next.
func (k key) seal(parts ...[]byte) []byte {
	h := hmac.New(sha256.New, k)
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write(p)
	}
	return h.Sum(nil)
}

// begin is what the first line of a file follows.
func (k key) begin(name string) []byte { return k.seal([]byte("begin"), []byte(name)) }

// A head is how far a file was written when it was last synced.
type head struct {
	seq int
	mac []byte // of the line of that number
}

// text is the head as it stands beside a file, always of one length.
func (k key) text(name string, h head) []byte {
	body := fmt.Appendf(nil, "%012d %x", h.seq, h.mac)
	return fmt.Appendf(body, " %x\n", k.seal([]byte("head"), []byte(name), body))
}

// readHead reads the head beside a file.
func (k key) readHead(path string) (head, error) {
	text, err := os.ReadFile(path + headSuffix)
	if err != nil {
		return head{}, err
	}
	var h head
	var mac string
	if _, err := fmt.Sscanf(string(text), "%d %s", &h.seq, &mac); err == nil {
		h.mac, err = hex.DecodeString(mac)
		if err == nil && hmac.Equal(text, k.text(filepath.Base(path), h)) {
			return h, nil
		}
	}
	return head{}, errors.New("it was changed")
}
