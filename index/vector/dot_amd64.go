package vector

import (
	"github.com/viterin/vek"
	"github.com/viterin/vek/vek32"
)

var accelerated = vek.Info().Acceleration

// dot returns the dot product of x and y, which are of one length.
func dot(x, y []float32) float32 {
	if accelerated {
		return vek32.Dot(x, y)
	}
	return dotGo(x, y)
}
