package group

import (
	"fmt"
	"testing"
)

func TestBy(t *testing.T) {
	numbers := map[string]uint32{}
	var of []uint32
	for _, name := range []string{"b", "a", "b", "c", "a", "b"} {
		of = append(of, Number(numbers, name))
	}
	if got := fmt.Sprint(numbers, of); got != "map[a:1 b:0 c:2] [0 1 0 2 1 0]" {
		t.Errorf("numbered %s", got)
	}
	for n, want := range []string{"[]", "[[10 12 15]]", "[[10 12 15] [11 14]]", "[[10 12 15] [11 14] [13]]", "[[10 12 15] [11 14] [13] []]"} {
		if got := fmt.Sprint(By([]uint32{10, 11, 12, 13, 14, 15}, of, n)); got != want {
			t.Errorf("below %d: %s, want %s", n, got, want)
		}
	}
}
