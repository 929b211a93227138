// Package store keeps a catalog of tools on disk: one bbolt file that any
// number of processes share, because each opens it only for the length of one
// transaction.
//
// A [Store] holds no file open between calls. Readers copy what they need out
// in transactions of at most 20 ms, so that a writer never waits long;
// writers wait up to 10 s for the file's lock and then give up with
// [ErrBusy]. The package knows bytes, keys and times: what a head or a
// vector means is its caller's business.
//
// # Files
//
// The state folder holds store.db (bbolt), folder.key (32 random bytes and
// their crc32c, little-endian), store.lock (held while store.db is created,
// upgraded or moved aside), store.vN.bak (the file before an upgrade from
// format N) and store.damaged-N (files that could not be read).
//
// # Format 2
//
// Every value in store.db is
//
//	crc32c u32 | payload
//
// with the checksum taken over bucket name, 0, key and payload, so that a
// value under a wrong key is found out too. Integers are little-endian, times
// are Unix nanoseconds as i64, 0 for none. S is the 16-byte key of a server
// ([Store.Key]), I the 6-byte id of a tool, X the 16-byte key of a vector
// space ([SpaceOf]), T the SHA-256 of an embedded text.
//
//	bucket   key           payload
//	meta     format        u32, 2
//	meta     id            u64, random, made with the file
//	meta     generation    u64, one more with every change of the catalog
//	meta     recorded      u64, one more with every change of the metrics
//	meta     phrased       u64, one more with every change of the phrases
//	meta     space/ X      JSON: model, template, dims, used
//	servers  S             JSON: name, listed, seen, generation, warnings
//	tools    h S I         sum [16] | count u8 | count × T | head
//	tools    r S I         the tool object as its upstream sent it
//	tools    f S I         time when the tool was first seen
//	terms                  empty: a package of format 1 looks for it before it looks at the format
//	metrics  S I           total i64 | failed i64 | nanoseconds i64 | last time
//	vectors  X T           scale f32 | i8 …; as format 1 left it f32 …
//	phrases  S I           count u8 | count × T | what people say when they need the tool
//
// The letters h, r and f are one byte of the key. sum identifies head and raw
// object together; the T of a head and of phrases are the texts whose vectors
// they need, and keep those from being collected. The bucket of phrases is made
// with the first of them, and need not be there. f outlives its tool, so that a tool that
// comes back keeps its date.
package store
