package store

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math"
	"time"

	"go.etcd.io/bbolt"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// buckets are the names of all buckets of the file.
var buckets = []string{"meta", "servers", "tools", "metrics", "vectors", phraseBucket}

// phraseBucket may be missing: what made the file may not have known it.
const phraseBucket = "phrases"

// emptyBucket held the analyses in format 1, whose package takes a file
// without it for damaged, not for newer.
const emptyBucket = "terms"

// A bucket seals its values with a checksum. A missing bucket reads as empty.
type bucket struct {
	*bbolt.Bucket
	crc uint32 // of the name and a zero byte
}

func in(tx *bbolt.Tx, name string) bucket {
	return bucket{tx.Bucket([]byte(name)), nameCRC(name)}
}

func nameCRC(name string) uint32 { return crc32.Checksum(append([]byte(name), 0), castagnoli) }

// sum is the checksum of a payload under key.
func (b bucket) sum(key, payload []byte) uint32 {
	return crc32.Update(crc32.Update(b.crc, castagnoli, key), castagnoli, payload)
}

// unseal returns the payload of a stored value, and whether it is whole.
func (b bucket) unseal(key, value []byte) ([]byte, bool) {
	if len(value) < 4 || binary.LittleEndian.Uint32(value) != b.sum(key, value[4:]) {
		return nil, false
	}
	return value[4:], true
}

// get returns the payload under key. It is nil, true when there is none and
// nil, false when there is one that is damaged. The payload is valid until
// the transaction ends.
func (b bucket) get(key []byte) (payload []byte, whole bool) {
	if b.Bucket == nil {
		return nil, true
	}
	v := b.Get(key)
	if v == nil {
		return nil, true
	}
	return b.unseal(key, v)
}

func (b bucket) put(key, payload []byte) error {
	v := make([]byte, 4, 4+len(payload))
	binary.LittleEndian.PutUint32(v, b.sum(key, payload))
	return b.Put(key, append(v, payload...))
}

// uint32 reads a number; found is false when it is absent or damaged.
func (b bucket) uint32(key string) (n uint32, found bool) {
	p, _ := b.get([]byte(key))
	if len(p) != 4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(p), true
}

func (b bucket) uint64(key string) (n uint64, found bool) {
	p, _ := b.get([]byte(key))
	if len(p) != 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(p), true
}

func (b bucket) putUint64(key string, n uint64) error {
	return b.put([]byte(key), binary.LittleEndian.AppendUint64(nil, n))
}

func (b bucket) putJSON(key []byte, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.put(key, data)
}

// each calls fn with every key under prefix and its payload, nil when it is
// damaged, until fn returns false.
func (b bucket) each(prefix []byte, fn func(key, payload []byte, whole bool) bool) {
	if b.Bucket == nil {
		return
	}
	c := b.Cursor()
	for k, v := c.Seek(prefix); hasPrefix(k, prefix); k, v = c.Next() {
		p, ok := b.unseal(k, v)
		if !fn(k, p, ok) {
			return
		}
	}
}

// deleteAll deletes the keys under prefix that drop says, all if it is nil,
// and returns how many they were.
func (b bucket) deleteAll(prefix []byte, drop func(key []byte) bool) (int, error) {
	return b.deleteSome(prefix, drop, math.MaxInt)
}

// deleteSome is deleteAll for the first n of them.
func (b bucket) deleteSome(prefix []byte, drop func(key []byte) bool, n int) (int, error) {
	if b.Bucket == nil {
		return 0, nil
	}
	var doomed [][]byte // a cursor must not be used across deletes
	c := b.Cursor()
	for k, _ := c.Seek(prefix); hasPrefix(k, prefix) && len(doomed) < n; k, _ = c.Next() {
		if drop == nil || drop(k) {
			doomed = append(doomed, append([]byte(nil), k...))
		}
	}
	for _, k := range doomed {
		if err := b.Delete(k); err != nil {
			return 0, err
		}
	}
	return len(doomed), nil
}

func hasPrefix(k, prefix []byte) bool {
	return k != nil && len(k) >= len(prefix) && string(k[:len(prefix)]) == string(prefix)
}

// Stamp is a time as it is stored: Unix nanoseconds, 0 for none.
func Stamp(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// Unstamp is the time that Stamp made n of.
func Unstamp(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}

func encodeTime(t time.Time) []byte {
	return binary.LittleEndian.AppendUint64(nil, uint64(Stamp(t)))
}

// decodeTime returns the zero time for what is no time.
func decodeTime(p []byte) time.Time {
	if len(p) != 8 {
		return time.Time{}
	}
	return Unstamp(int64(binary.LittleEndian.Uint64(p)))
}
