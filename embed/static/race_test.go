//go:build race

package static

// The race detector makes sync.Pool drop entries at random.
const raceDetector = true
