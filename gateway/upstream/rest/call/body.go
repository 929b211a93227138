package call

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/upstream/rest/openapi"
)

// body writes the body of the arguments that are no parameters; nil is none.
func (w *writer) body(rest []rawjson.Member) (data []byte, contentType string, err error) {
	b := w.op.Body
	if b == nil {
		return nil, "", unknown(rest)
	}
	whole, fields, err := split(b, rest)
	if err != nil {
		return nil, "", err
	}
	switch b.Kind {
	case openapi.JSON:
		switch {
		case whole != nil:
			return whole, b.Type, nil
		case b.Argument == "" && (len(fields) > 0 || b.Required):
			return rawjson.Object(fields), b.Type, nil
		}
	case openapi.Form, openapi.Multipart:
		return w.form(whole, fields)
	default:
		if whole == nil {
			return nil, "", nil
		}
		return w.raw(whole)
	}
	return nil, "", nil
}

func unknown(rest []rawjson.Member) error {
	if len(rest) > 0 {
		return &ArgumentError{rest[0].Key, "the operation has no such parameter"}
	}
	return nil
}

// split finds the argument that is the whole body, or those that are fields.
func split(b *openapi.Body, rest []rawjson.Member) (whole json.RawMessage, fields []rawjson.Member, err error) {
	for _, m := range rest {
		switch {
		case b.Argument != "" && m.Key == b.Argument:
			whole = m.Value
		case b.Argument == "" && (b.Open || b.Fields[m.Key]):
			fields = append(fields, m)
		default:
			return nil, nil, unknown([]rawjson.Member{m})
		}
	}
	return whole, fields, nil
}

// raw is a body of text or bytes.
func (w *writer) raw(whole json.RawMessage) ([]byte, string, error) {
	b := w.op.Body
	v, err := decode(b.Argument, whole)
	if err != nil {
		return nil, "", err
	}
	if b.Kind == openapi.Text {
		contentType := b.Type
		if !strings.Contains(contentType, ";") && strings.HasPrefix(contentType, "text/") {
			contentType += "; charset=utf-8"
		}
		return []byte(plainText(v)), contentType, nil
	}
	f, err := fileOf(b.Argument, plainText(v))
	if err != nil {
		return nil, "", err
	}
	said := f.mediaType != "" && !f.plain && b.Type == "application/octet-stream" // which may be anything
	if !said && !(f.mediaType != "" && strings.Contains(b.Type, "*")) {
		f.mediaType = b.Type
	}
	if strings.Contains(f.mediaType, "*") {
		f.mediaType = "application/octet-stream"
	}
	return f.data, f.mediaType, nil
}

// form writes fields as a form.
func (w *writer) form(whole json.RawMessage, fields []rawjson.Member) ([]byte, string, error) {
	b := w.op.Body
	if whole != nil {
		var err error
		if fields, err = rawjson.Members(whole); err != nil {
			return nil, "", &ArgumentError{b.Argument, "it is no object of fields"}
		}
	}
	if len(fields) == 0 && !b.Required {
		return nil, "", nil
	}
	if b.Kind == openapi.Form {
		return urlencoded(b, fields)
	}
	var buf bytes.Buffer
	mw := multipart.NewWriter(&buf)
	for _, f := range fields {
		v, err := decode(f.Key, f.Value)
		if err == nil {
			err = writeParts(mw, b, f.Key, v)
		}
		if err != nil {
			return nil, "", err
		}
	}
	if err := mw.Close(); err != nil {
		return nil, "", err
	}
	return buf.Bytes(), mw.FormDataContentType(), nil
}

func urlencoded(b *openapi.Body, fields []rawjson.Member) ([]byte, string, error) {
	var all []string
	for _, f := range fields {
		v, err := decode(f.Key, f.Value)
		if err != nil {
			return nil, "", err
		}
		if v == nil {
			continue
		}
		p := openapi.Param{Name: f.Key, Style: "form", Explode: true}
		if part, said := b.Parts[f.Key]; said {
			p.Style, p.Explode = part.Style, part.Explode
			if openapi.IsJSON(part.Type) {
				v = string(f.Value)
			}
		}
		all = append(all, pairs(p, v)...)
	}
	return []byte(strings.Join(all, "&")), "application/x-www-form-urlencoded", nil
}

// writeParts writes one field; each item of a list is a part.
func writeParts(w *multipart.Writer, b *openapi.Body, name string, v any) error {
	part, said := b.Parts[name]
	list, isList := v.([]any)
	switch {
	case v == nil:
		return nil
	case isList && said && !part.Explode && part.Type == "":
		v = strings.Join(items(v, asItIs, false), ",")
	case isList && !openapi.IsJSON(part.Type):
		for _, e := range list {
			if err := writePart(w, b, name, e); err != nil {
				return err
			}
		}
		return nil
	}
	return writePart(w, b, name, v)
}

func writePart(w *multipart.Writer, b *openapi.Body, name string, v any) error {
	header := textproto.MIMEHeader{}
	var data []byte
	mediaType, _, _ := strings.Cut(b.Parts[name].Type, ",")
	if strings.Contains(mediaType, "*") || strings.ContainsAny(mediaType, "\r\n") {
		mediaType = ""
	}
	if b.Binary[name] {
		f, err := fileOf(name, plainText(v))
		if err != nil {
			return err
		}
		if f.mediaType == "" {
			f.mediaType = "application/octet-stream"
		}
		if mediaType == "" {
			mediaType = f.mediaType
		}
		header.Set("Content-Disposition", multipart.FileContentDisposition(name, f.name))
		data = f.data
	} else {
		if _, object := v.(map[string]any); object && mediaType == "" {
			mediaType = "application/json"
		}
		header.Set("Content-Disposition", `form-data; name="`+quoted.Replace(name)+`"`)
		data = []byte(plainText(v))
	}
	if mediaType != "" {
		header.Set("Content-Type", mediaType)
	}
	p, err := w.CreatePart(header)
	if err == nil {
		_, err = p.Write(data)
	}
	return err
}

var quoted = strings.NewReplacer("\\", "\\\\", `"`, "%22", "\r", "%0D", "\n", "%0A")

// A file is the content of a data: URL, or a text.
type file struct {
	data      []byte
	mediaType string
	name      string
	plain     bool // it was a text
}

// fileOf reads a data: URL; any other text is the file itself.
func fileOf(argument, text string) (file, error) {
	head, rest, ok := strings.Cut(text, ",")
	if !ok || len(head) < 5 || !strings.EqualFold(head[:5], "data:") {
		return file{data: []byte(text), mediaType: "text/plain; charset=utf-8", name: "file.txt", plain: true}, nil
	}
	head, inBase64 := strings.CutSuffix(head[5:], ";base64")
	mediaType, params, err := mime.ParseMediaType(head)
	if err != nil {
		mediaType, params = "", nil
	}
	f := file{mediaType: mediaType, name: "file"}
	if name, err := url.PathUnescape(params["name"]); err == nil && name != "" {
		f.name = name
	}
	if !inBase64 {
		plain, err := url.PathUnescape(rest)
		f.data = []byte(plain)
		if err != nil {
			return file{}, &ArgumentError{argument, "its data: URL is not escaped as one: " + err.Error()}
		}
		return f, nil
	}
	if f.data, err = base64.StdEncoding.DecodeString(rest); err != nil {
		if f.data, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(rest, "=")); err != nil {
			return file{}, &ArgumentError{argument, fmt.Sprintf("its data: URL is no base64: %v", err)}
		}
	}
	return f, nil
}
