package vector

// dotGo is the portable dot product. Eight sums keep the adds independent of
// each other, which is what bounds a plain loop.
func dotGo(x, y []float32) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	y = y[:len(x)]
	for len(x) >= 8 && len(y) >= 8 {
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		s4 += x[4] * y[4]
		s5 += x[5] * y[5]
		s6 += x[6] * y[6]
		s7 += x[7] * y[7]
		x, y = x[8:], y[8:]
	}
	for i, v := range x {
		s0 += v * y[i]
	}
	return (s0 + s1) + (s2 + s3) + ((s4 + s5) + (s6 + s7))
}

// dotsGo is dots where there is no kernel for it.
func (c *codes) dotsGo(dst []float32, ids []uint32, q *codedQuery, base float32) {
	for i, id := range ids {
		sum := dotCode(c.data[int(id)*c.stride:][:c.stride], q.words)
		dst[i] = float32(sum)*(c.scale[id]*q.scale) + base
	}
}

// dotCode is the dot product of a row of codes and a query. The query is such
// that it does not overflow.
func dotCode(x []int8, q []int16) int32 {
	var s0, s1, s2, s3 int32
	for len(x) >= 4 && len(q) >= 4 {
		s0 += int32(x[0]) * int32(q[0])
		s1 += int32(x[1]) * int32(q[1])
		s2 += int32(x[2]) * int32(q[2])
		s3 += int32(x[3]) * int32(q[3])
		x, q = x[4:], q[4:]
	}
	return s0 + s1 + s2 + s3
}
