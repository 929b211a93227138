package tool

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"
)

// Hash hashes everything of a tool that is searched or shown.
func Hash(t *Tool) [16]byte {
	h := sha256.New()
	put := func(part []byte) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write(part)
	}
	put(t.Raw)
	c := *t
	c.Raw, c.FirstSeen = nil, time.Time{}
	c.Effect, c.Group = "", "" // which Raw says
	rest, err := json.Marshal(&c)
	if err != nil { // an example's arguments that are no JSON
		rest = fmt.Appendf(nil, "%#v", c)
	}
	put(rest)
	return [16]byte(h.Sum(nil))
}
