// Package hnsw searches many vectors by a graph over their codes, a
// hierarchical navigable small world (Malkov and Yashunin 2018).
//
// [Build] makes a [Graph], always from scratch: the same documents give the
// same graph. [Graph.Bind] joins it to the catalog as it is now, in an [Index],
// which scans what the graph lacks and finds nothing that is gone. Everything
// here is immutable once made and safe for concurrent use.
//
// # The graph file
//
// [Graph.WriteFile] writes a graph and [ReadFile] reads one. The file holds no
// vectors but their codes, one byte a number, by which the graph is walked and
// which tell whether a document still has the vector it was linked by. Integers are little-endian, floats IEEE 754.
//
//	magic     8 bytes  "TDXHNSW\n"
//	version   u32      2
//	zero      u32
//	sections           in the order below, each from the next multiple of 8 on,
//	                   the bytes between them zero
//	contents           one entry of 32 bytes a section:
//	                     name    8 bytes, ASCII, zeros after it
//	                     offset  u64, from the start of the file
//	                     length  u64, in bytes, without what follows up to the next 8
//	                     crc32c  u32, of these bytes
//	                     zero    u32
//	offset    u64      of the contents
//	entries   u32      8
//	crc32c    u32      of everything but the sections: the first 16 bytes, the
//	                   contents, offset and entries
//
// With N nodes (distinct vectors), D documents and R rows above layer 0:
//
//	head    generation u64, recall f64 (recall@10 at the beam below, measured
//	        when the graph was built), dimensions u32, D u32, N u32, R u32,
//	        neighbours on layer 0 u32 (32), neighbours above u32 (16), entry
//	        node u32, beam u32, then the identity of the vector space in UTF-8
//	keys    D × u64: identities of the documents, ascending
//	node    D × u32: the node of each document
//	level   N × u8: the highest layer of each node, 0 to 15
//	scale   N × f32: what a node's codes are to be multiplied by
//	codes   N × dimensions × i8: scale × codes is the vector
//	base    N × 32 × u32: neighbours on layer 0, 0xffffffff after the last
//	above   R × 16 × u32: for each node in turn, one row a layer from 1 up to
//	        its level, likewise
//
// The entry node is one of the highest level; without nodes it is 0xffffffff.
// A neighbour on a layer has at least that level.
//
// Version 2 dropped the checksums of vectors that were not codes. Readers
// accept 2, writers write 2.
package hnsw
