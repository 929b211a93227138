package tool

import (
	"fmt"
	"testing"
)

func FuzzHead(f *testing.F) {
	f.Add(EncodeHead(&Tool{Server: "s", Name: "n", Description: "ours", Listed: "theirs"}))
	f.Add(EncodeHead(&Tool{Server: "s", Name: "n", Tags: []string{"t"}, Examples: []Example{{Description: "d", Arguments: []byte("{}")}}, Hidden: true}))
	f.Fuzz(func(t *testing.T, data string) {
		tool, err := DecodeHead(data)
		if err != nil {
			return
		}
		again, err := DecodeHead(EncodeHead(&tool))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(tool) {
			t.Errorf("%+v reads back as %+v, %v", tool, again, err)
		}
	})
}
