//go:build race

package vector

// underRace says that pools forget at random and arithmetic is slow.
const underRace = true
