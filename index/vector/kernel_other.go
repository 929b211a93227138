//go:build !amd64

package vector

const codesInHardware = false

// dot returns the dot product of x and y, which are of one length.
func dot(x, y []float32) float32 { return dotGo(x, y) }

func dotCodes(dst []int32, data []int8, ids []uint32, q *codedQuery) { dotCodesGo(dst, data, ids, q.q) }
