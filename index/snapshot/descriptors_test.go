package snapshot

import (
	"strings"
	"testing"
)

func TestDescriptorsAreSound(t *testing.T) {
	if n := len(descriptors); n > len(categoryScores{}) {
		t.Errorf("%d categories do not fit categoryScores", n)
	}
	for i, d := range descriptors {
		if i > 0 && descriptors[i-1].name >= d.name {
			t.Errorf("%s is out of order", d.name)
		}
		if d.description == "" || len(strings.Fields(d.words)) < 10 {
			t.Errorf("%s is described too thinly", d.name)
		}
	}
}
