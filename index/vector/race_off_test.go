//go:build !race

package vector

const underRace = false
