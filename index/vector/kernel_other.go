//go:build !amd64

package vector

const codesInHardware = false

// dot returns the dot product of x and y, which are of one length.
func dot(x, y []float32) float32 { return dotGo(x, y) }

func dotCodes[C code](dst []int32, data []C, ids []uint32, q []int16) { dotCodesGo(dst, data, ids, q) }
