//go:build !race

package static

const raceDetector = false
