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
// which tell whether a document still has the vector it was linked by. It is
// a file of package flat with the magic "TDXHNSW\n" and version 3. With N
// nodes (distinct vectors), D documents and R rows above layer 0 its arrays are
//
//	texts  the identity of the vector space
//	u64    generation, recall@10 at the beam below as an f64, measured when the graph was built
//	u32    dimensions, entry node, beam, neighbours on layer 0 (32) and above (16)
//	u64    by document: its key, ascending
//	u32    by document: its node
//	u8     by node: its highest layer, 0 to 15
//	f32    by node: the scale of its code
//	i8     by node: the numbers of its code
//	u32    by node: 32 neighbours on layer 0, 0xffffffff after the last
//	u32    by node, by layer from 1 up to its level: 16 neighbours, likewise
//
// The entry node is one of the highest level; without nodes it is 0xffffffff.
// A neighbour on a layer has at least that level.
//
// Version 3 is of flat arrays, version 2 dropped the checksums of vectors that
// were not codes. Readers accept 3, writers write 3.
package hnsw
