//go:build !amd64

package vector

// dot returns the dot product of x and y, which are of one length.
func dot(x, y []float32) float32 { return dotGo(x, y) }
