package call

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/upstream/rest/openapi"
)

// MaxReply bounds the body of a reply, unpacked.
const MaxReply = 32 << 20

// maxComplaint bounds what is repeated of the body of a reply that reports a
// failure, in bytes.
const maxComplaint = 16 << 10

// maxDepth bounds the levels of JSON that is taken as such.
const maxDepth = 512

// ErrTooLarge reports a body over MaxReply.
var ErrTooLarge = errors.New("the body is too large")

// smallReply is read without asking for room.
const smallReply = 1 << 20

// ReadBody reads the body of a reply. Room is called before more than a small
// one is read; its error ends the reading.
func ReadBody(res *http.Response, room func() error) ([]byte, error) {
	if encoding := res.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, fmt.Errorf("the reply is packed as %s, which was not asked for", encoding)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, smallReply))
	if err != nil || len(data) < smallReply {
		return data, err
	}
	if err := room(); err != nil {
		return nil, err
	}
	buf := bytes.NewBuffer(data)
	n, err := buf.ReadFrom(io.LimitReader(res.Body, MaxReply-smallReply+1))
	switch {
	case err != nil:
		return nil, err
	case n > MaxReply-smallReply:
		return nil, ErrTooLarge
	}
	return buf.Bytes(), nil
}

// Failure is a tools/call result that says what went wrong.
func Failure(text string) json.RawMessage {
	var w rawjson.Writer
	w.AddArray("content", []json.RawMessage{textBlock(text)})
	w.Add("isError", json.RawMessage("true"))
	return w.Bytes()
}

// Result is the tools/call result for a reply with that body. Address is that
// of the request, without secrets.
func Result(res *http.Response, body []byte, address string) json.RawMessage {
	mediaType, params, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		mediaType = ""
	}
	switch {
	case res.StatusCode == http.StatusNotModified, res.StatusCode/100 == 2 && len(body) == 0:
		return content(textBlock(status(res)))
	case res.StatusCode/100 != 2:
		return Failure(complaint(res, mediaType, params["charset"], body))
	case openapi.IsJSON(mediaType):
		return jsonResult(mediaType, params["charset"], body)
	}
	return content(block(mediaType, params["charset"], body, address))
}

func content(blocks ...json.RawMessage) json.RawMessage {
	var w rawjson.Writer
	w.AddArray("content", blocks)
	return w.Bytes()
}

func status(res *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", res.StatusCode, http.StatusText(res.StatusCode)))
}

// complaint says what a reply that is no success says.
func complaint(res *http.Response, mediaType, charset string, body []byte) string {
	said := status(res)
	if to := res.Header.Get("Location"); res.StatusCode/100 == 3 && to != "" {
		return said + ": it leads to " + cut(to, 500) + ", which is not followed as it is another host, or a redirect too many"
	}
	if after := res.Header.Get("Retry-After"); after != "" {
		said += " (Retry-After: " + cut(after, 100) + ")"
	}
	switch {
	case len(body) == 0:
		return said
	case isText(mediaType) || openapi.IsJSON(mediaType) || mediaType == "" && utf8.Valid(body):
		return said + ": " + cut(decoded(body, charset), maxComplaint)
	}
	return fmt.Sprintf("%s, with %d bytes of %s", said, len(body), mediaType)
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// jsonResult is structured content and text, or text with a note when the
// body is not what it claims to be.
func jsonResult(mediaType, charset string, body []byte) json.RawMessage {
	text := decoded(body, charset)
	body = bytes.TrimSpace([]byte(text))
	why := ""
	switch {
	case !rawjson.Valid(body) || !json.Valid(body):
		why = "is no JSON"
	case depth(body) > maxDepth:
		why = fmt.Sprintf("has more than %d levels", maxDepth)
	default:
		var w rawjson.Writer
		w.AddArray("content", []json.RawMessage{textBlock(string(body))})
		w.Add("structuredContent", body)
		return w.Bytes()
	}
	return content(textBlock(text), textBlock(fmt.Sprintf("(The reply claims to be %s and %s: it is given as text.)", mediaType, why)))
}

// depth is how many levels JSON has.
func depth(data []byte) int {
	level, most, inString := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == '{' || c == '['):
			level++
			most = max(most, level)
		case !inString && (c == '}' || c == ']'):
			level--
		}
	}
	return most
}

// block is the content block for a body that is no JSON.
func block(mediaType, charset string, body []byte, address string) json.RawMessage {
	kind, _, _ := strings.Cut(mediaType, "/")
	switch {
	case kind == "image" || kind == "audio":
		return encode(map[string]string{"type": kind, "data": base64.StdEncoding.EncodeToString(body), "mimeType": mediaType})
	case isText(mediaType) || mediaType == "" && utf8.Valid(body) && !bytes.ContainsRune(body, 0):
		return textBlock(decoded(body, charset))
	case mediaType == "":
		mediaType = "application/octet-stream"
	}
	return encode(map[string]any{"type": "resource", "resource": map[string]string{
		"uri": address, "mimeType": mediaType, "blob": base64.StdEncoding.EncodeToString(body),
	}})
}

// isText reports media types that people can read.
func isText(mediaType string) bool {
	if strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+xml") || strings.HasSuffix(mediaType, "+yaml") {
		return !strings.HasPrefix(mediaType, "image/")
	}
	switch mediaType {
	case "application/xml", "application/yaml", "application/x-yaml", "application/javascript", "application/x-www-form-urlencoded",
		"application/graphql", "application/x-ndjson", "application/jsonl", "application/sql", "application/toml":
		return true
	}
	return false
}

// decoded is a text in UTF-8, from the encoding that the reply names.
func decoded(body []byte, charset string) string {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if charset != "" && !strings.EqualFold(charset, "utf-8") {
		if enc, err := htmlindex.Get(charset); err == nil {
			if out, err := enc.NewDecoder().Bytes(body); err == nil {
				return strings.ToValidUTF8(string(out), "\uFFFD")
			}
		}
	}
	return strings.ToValidUTF8(string(body), "\uFFFD")
}

func textBlock(text string) json.RawMessage {
	return encode(map[string]string{"type": "text", "text": text})
}

// encode writes texts, which always encode.
func encode(v any) json.RawMessage {
	data, err := rawjson.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
