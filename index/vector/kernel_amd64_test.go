package vector

// kernels are all that this machine has.
var kernels = map[string]func(dst []int32, data []int8, ids []uint32, q *codedQuery){"default": dotCodes}

func init() {
	if codesInHardware {
		kernels["AVX2"] = func(dst []int32, data []int8, ids []uint32, q *codedQuery) {
			dotBytesAVX2(&dst[0], &data[0], &ids[0], &q.q[0], len(ids), len(q.q))
		}
	}
}
