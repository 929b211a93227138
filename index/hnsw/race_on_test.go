//go:build race

package hnsw

// underRace says that pools forget at random and arithmetic is slow.
const underRace = true
