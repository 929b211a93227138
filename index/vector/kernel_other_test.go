//go:build !amd64

package vector

var kernels = map[string]func(dst []int32, data []int8, ids []uint32, q *codedQuery){"default": dotCodes}
