package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tooldex/tooldex/index"
)

// cachedObjects bounds the tool objects kept parsed, at some 10 KB each with
// their compiled schemas.
const cachedObjects = 512

// A toolObject is what of an upstream's tool object is shown or obeyed.
type toolObject struct {
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`

	raw json.RawMessage // what the other fields were read from
	// input is the verbatim schema, or one that allows any object where the
	// upstream's is missing or no object.
	input json.RawMessage
	// schema compiles input, once.
	schema func() (*jsonschema.Schema, error)
}

type objectCache = lru.Cache[string, *toolObject]

func newObjectCache() *objectCache {
	c, err := lru.New[string, *toolObject](cachedObjects)
	if err != nil { // only for a size below 1
		panic(err)
	}
	return c
}

// object reads the tool object of hit. What Raw returns decides, so that a
// changed tool is never taken for the cached one.
func (g *Gateway) object(hit index.Hit) (*toolObject, error) {
	raw, err := g.ix.Raw(hit.ID)
	if err != nil {
		return nil, fmt.Errorf("read tool %s: %w", hit.Tool.QualifiedName(), err)
	}
	if obj, ok := g.objects.Get(hit.ID); ok && bytes.Equal(obj.raw, raw) {
		return obj, nil
	}
	obj, err := readObject(raw)
	if err != nil {
		return nil, fmt.Errorf("read tool %s: %w", hit.Tool.QualifiedName(), err)
	}
	g.objects.Add(hit.ID, obj)
	return obj, nil
}

func readObject(raw json.RawMessage) (*toolObject, error) {
	obj := &toolObject{raw: raw, input: index.InputSchema(raw).JSON}
	if err := json.Unmarshal(raw, obj); err != nil {
		return nil, err
	}
	obj.schema = sync.OnceValues(func() (*jsonschema.Schema, error) { return compile(obj.input) })
	return obj, nil
}

// repeatable reports whether the annotations claim that running twice is the
// same as running once.
func (o *toolObject) repeatable() bool {
	var a struct {
		ReadOnly   bool `json:"readOnlyHint"`
		Idempotent bool `json:"idempotentHint"`
	}
	if len(o.Annotations) == 0 || json.Unmarshal(o.Annotations, &a) != nil {
		return false
	}
	return a.ReadOnly || a.Idempotent
}
