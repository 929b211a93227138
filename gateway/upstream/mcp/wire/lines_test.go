package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tooldex/tooldex/gateway/upstream"
)

func TestReadLine(t *testing.T) {
	r := LineReader{Reader: bufio.NewReaderSize(strings.NewReader("short\r\n\n"+strings.Repeat("x", 100)+"\n"+
		`{"result":{"id":1,"s":"\"id\":2}"},"jsonrpc":"2.0","id":77,"pad":"`+strings.Repeat("y", 300)+"\"}\nlast"), 16), limit: 200}
	for _, want := range []struct {
		line string
		id   any
		err  error
	}{
		{"short", nil, nil}, {"", nil, nil}, {strings.Repeat("x", 100), nil, nil},
		{"", int64(77), upstream.ErrTooLarge}, {"last", nil, nil}, {"", nil, io.EOF},
	} {
		line, id, err := r.Next()
		if string(line) != want.line || id.Raw() != want.id || !errors.Is(err, want.err) {
			t.Errorf("got %q, id %v, %v, want %q, %v, %v", line, id.Raw(), err, want.line, want.id, want.err)
		}
	}
}

// FuzzReadLine checks lines against bytes.Split, and the scanner of ids
// against a JSON decoder.
func FuzzReadLine(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), 3)
	f.Add([]byte(`{"jsonrpc":"2.0","id":"x\"y","result":{"id":[1,{"id":2}]}}`), 5)
	f.Add([]byte(`{"id": 12, "a":[{}], "b":"}"}`), 1)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		limit = max(1, limit%100)
		r := LineReader{Reader: bufio.NewReaderSize(bytes.NewReader(data), 16), limit: limit}
		lines := strings.Split(string(data), "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		for i, want := range lines {
			got, id, err := r.Next()
			if err == ErrEndless {
				if len(want)+1 <= maxLine*limit {
					t.Fatalf("line %d of %d bytes is said to have no end", i, len(want))
				}
				return
			}
			if err == upstream.ErrTooLarge {
				if len(want)+1 <= limit {
					t.Fatalf("line %d of %d bytes is said to be over %d", i, len(want), limit)
				}
				checkID(t, want, id)
				continue
			}
			if err != nil || string(got) != strings.TrimRight(want, "\r") {
				t.Fatalf("line %d: got %q, %v, want %q", i, got, err, want)
			}
		}
		if _, _, err := r.Next(); err != io.EOF {
			t.Fatalf("at the end: got %v, want EOF", err)
		}
	})
}

// checkID compares the id found in text with that of a decoder, for what is
// one JSON object without a key twice and with a plain id.
func checkID(t *testing.T, text string, id jsonrpc.ID) {
	var fields map[string]json.RawMessage
	if strings.Count(text, `"id"`) != 1 || json.Unmarshal([]byte(text), &fields) != nil {
		return
	}
	var want any
	if json.Unmarshal(fields["id"], &want) != nil {
		return
	}
	switch v := want.(type) {
	case string:
		if len(v) > 100 {
			return
		}
	case float64:
		want = int64(v)
	default:
		return
	}
	if id.Raw() != want {
		t.Fatalf("id of %s: got %v, want %v", text, id.Raw(), want)
	}
}

// FuzzDecodeMessage checks that messages are read as the SDK reads them.
func FuzzDecodeMessage(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"a","method":"","params":{"a":[1e2,"é\u0000"]}}`,
		`{"jsonrpc":"2.0","method":"notifications/x","params":null}`, `{"jsonrpc":"2.0","id":1,"result":{"b": 1,"a":12345678901234567890}}`,
		`{"jsonrpc":"2.0","id":1.5,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"x","data":{"a":1}},"result":null}`, `{"jsonrpc":"2.0","id":7,"error":null}`,
		`{"jsonrpc":"2.0","id":7,"error":"no"}`, `{"jsonrpc":"2.0","id":[],"result":{}}`, `{"jsonrpc":"2.0","ID":1,"Result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":7}`, `{"jsonrpc":"1.0","id":1,"result":{}}`, `[]`, `{}`, `null`, `7`, ``, `{"jsonrpc":"2.0","id":1`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeMessage(data)
		want, wantErr := jsonrpc.DecodeMessage(data)
		if wantErr == nil && !json.Valid(data) {
			return // the SDK reads the first value of several
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%s: got error %v, the SDK %v", data, err, wantErr)
		}
		if err != nil {
			return
		}
		if r, ok := got.(*jsonrpc.Response); ok && r.Error != nil {
			return // whose keys are not told apart by case
		}
		same, err := jsonrpc.EncodeMessage(got)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := jsonrpc.EncodeMessage(want); err != nil || !bytes.Equal(same, text) {
			t.Errorf("%s: got %s, the SDK %s (%v)", data, same, text, err)
		}
	})
}

// FuzzStandIn checks that the SDK gets a list that decodes, whatever came.
func FuzzStandIn(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema":{"x-mcp-header":"b"}},7,{"name":7,"x-mcp-header":""}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var page struct{ Tools []struct{ Name string } }
		if err := json.Unmarshal(standIn(data), &page); err != nil || page.Tools == nil {
			t.Errorf("%s: got %s, %v", data, standIn(data), err)
		}
	})
}
