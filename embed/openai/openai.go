// Package openai embeds through any server that speaks OpenAI's
// POST /v1/embeddings: llama-server, vLLM, TEI, LM Studio, OpenAI, Azure.
//
// The protocol names no digest, so the identity contains a fingerprint of
// what the server answers to a fixed text: two servers that give different
// vectors for one model name are told apart. Servers read the protocol
// loosely, and all of it is taken: vectors as numbers or base64, in any
// order, errors with status 200.
package openai

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"

	"github.com/tooldex/tooldex/embed/endpoint"
)

// DefaultURL is OpenAI's own service.
const DefaultURL = "https://api.openai.com/v1"

// Options describe the server and the model. Model is required; the
// endpoint's Provider, Model, URL, Hints and Client are filled here.
type Options struct {
	URL        string // base address, ends before /embeddings; "" means DefaultURL
	Model      string // on Azure the deployment's name
	Key        string // sent as a bearer token, on Azure as api-key; may be empty
	KeySource  string // where the key comes from, for messages
	APIVersion string // Azure's api-version; makes the address Azure's
	Headers    map[string]string
	Endpoint   endpoint.Options
}

// New checks the options; it makes no request.
func New(o Options) (*endpoint.Endpoint, error) {
	if o.Model == "" {
		return nil, fmt.Errorf("open openai embedder: no model; set embedding.model, for example to text-embedding-3-small")
	}
	if o.URL == "" {
		o.URL = DefaultURL
	}
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("open openai embedder: embedding.url is no address like %s", DefaultURL)
	}
	azure := isAzure(base, o.APIVersion)
	address := embeddingsURL(base, o)
	headers := map[string]string{}
	if o.Key != "" && azure {
		headers["api-key"] = o.Key
	} else if o.Key != "" {
		headers["Authorization"] = "Bearer " + o.Key
	}
	for k, v := range o.Headers {
		headers[k] = v
	}
	client := endpoint.HTTPClient(headers)
	d := &driver{url: address, http: client, model: o.Model, dimensions: o.Endpoint.Dimensions}
	d.locked = base.Hostname() == "api.openai.com" && len(headers) == 0
	if azure || base.Host == "api.openai.com" {
		d.encoding = "base64" // a third of the bytes; other servers may refuse the field
	}
	e := o.Endpoint
	e.Provider, e.Model, e.Client = "openai", o.Model, client
	e.URL, e.Hints = base.Redacted(), hints(o)
	return endpoint.New(d, e), nil
}

func isAzure(base *url.URL, version string) bool {
	return version != "" || strings.HasSuffix(base.Hostname(), ".azure.com")
}

// embeddingsURL is the address to post to. Azure's older addresses name the
// deployment in the path and the version in the query.
func embeddingsURL(base *url.URL, o Options) string {
	u := *base
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/embeddings")
	if o.APIVersion != "" {
		if !strings.Contains(u.Path, "/deployments/") {
			u.Path = strings.TrimSuffix(u.Path, "/openai") + "/openai/deployments/" + o.Model
		}
		q := u.Query()
		q.Set("api-version", o.APIVersion)
		u.RawQuery = q.Encode()
	}
	u.Path += "/embeddings"
	return u.String()
}

func hints(o Options) map[int]string {
	key := "set embedding.key_env to the variable that holds the key"
	if o.Key != "" {
		key = "check the key" + from(o.KeySource)
	}
	return map[int]string{
		http.StatusUnauthorized:        key,
		http.StatusForbidden:           key,
		http.StatusNotFound:            "check embedding.model, and embedding.url, which ends before /embeddings",
		http.StatusMethodNotAllowed:    "check embedding.url, which ends before /embeddings",
		http.StatusBadRequest:          "check embedding.model and embedding.dimensions",
		http.StatusUnprocessableEntity: "check embedding.model and embedding.dimensions",
		http.StatusTooManyRequests:     "lower embedding.parallel or embedding.batch_bytes, or check the account's quota",
		http.StatusOK:                  "check embedding.model",
	}
}

func from(source string) string {
	if source == "" {
		return ""
	}
	return " from " + source
}

type driver struct {
	url        string
	http       *http.Client
	model      string
	dimensions int
	encoding   string // encoding_format; "" does not send it
	locked     bool   // the service wants a key, and there is none
}

type request struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Dimensions int      `json:"dimensions,omitempty"`
	Encoding   string   `json:"encoding_format,omitempty"`
}

type reply struct {
	Data []struct {
		Index     *int            `json:"index"`
		Embedding json.RawMessage `json:"embedding"`
	} `json:"data"`
	Error json.RawMessage `json:"error"`
}

// Digest is empty: the protocol has none.
func (d *driver) Digest(context.Context) (string, error) { return "", nil }

func (d *driver) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if d.locked { // it would be refused, and what is asked need not leave this machine for that
		return nil, errors.New("there is no key, so nothing is sent; set OPENAI_API_KEY, or embedding.key_env to the variable that holds it")
	}
	body, err := json.Marshal(request{Model: d.model, Input: texts, Dimensions: d.dimensions, Encoding: d.encoding})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := d.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("read reply: %w", err)
	}
	return decode(raw, len(texts))
}

// decode reads a reply's vectors into the order of the texts.
func decode(raw []byte, texts int) ([][]float32, error) {
	var r reply
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, &endpoint.ReplyError{Err: err}
	}
	if len(r.Error) > 0 && string(r.Error) != "null" {
		return nil, errorReply(raw)
	}
	if len(r.Data) != texts {
		return nil, &endpoint.ReplyError{Err: fmt.Errorf("%d vectors for %d texts", len(r.Data), texts)}
	}
	out := make([][]float32, texts)
	for n, d := range r.Data {
		i := n
		if d.Index != nil {
			i = *d.Index
		}
		if i < 0 || i >= texts || out[i] != nil {
			return nil, &endpoint.ReplyError{Err: fmt.Errorf("index %d twice or outside 0 to %d", i, texts-1)}
		}
		v, err := vector(d.Embedding)
		if err != nil {
			return nil, &endpoint.ReplyError{Err: fmt.Errorf("vector %d: %w", i, err)}
		}
		out[i] = v
	}
	return out, nil
}

// errorReply is an error told with status 200; its code may be a number that
// means a status.
func errorReply(raw []byte) error {
	var e struct {
		Error struct {
			Code json.Number `json:"code"`
		} `json:"error"`
	}
	code := http.StatusOK
	if json.Unmarshal(raw, &e) == nil {
		if n, err := e.Error.Code.Int64(); err == nil && n >= 400 && n < 600 {
			code = int(n)
		}
	}
	return &endpoint.StatusError{Code: code, Message: endpoint.Message(raw)}
}

// vector reads numbers, or base64 of little-endian float32. An empty list
// gives an empty vector, which is no nil.
func vector(raw json.RawMessage) ([]float32, error) {
	v := []float32{}
	if len(raw) == 0 || raw[0] != '"' {
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, err
		}
		if v == nil {
			return nil, errors.New("missing")
		}
		return v, nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, err
	}
	if len(b)%4 != 0 {
		return nil, fmt.Errorf("%d bytes of base64 are no float32 numbers", len(b))
	}
	for ; len(b) > 0; b = b[4:] {
		v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return v, nil
}
