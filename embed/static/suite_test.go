package static

import (
	"testing"

	"github.com/tooldex/tooldex/embed/embedtest"
)

func TestSuite(t *testing.T) {
	embedtest.Test(t, func(t *testing.T) embedtest.Embedder { return opened(t) }, embedtest.Options{ZeroWithoutWords: true})
}
