package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/tooldex/tooldex/gateway/arguments"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/tool"
)

const (
	// cachedObjects bounds the tool objects kept parsed, at some 10 KB each
	// with their compiled schemas.
	cachedObjects = 512
	// cachedBytes bounds them when they are large.
	cachedBytes = 32 << 20
)

// A toolObject is what of an upstream's tool object is shown or obeyed.
type toolObject struct {
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`

	raw json.RawMessage // what the other fields were read from
	// input is the verbatim schema, or one that allows any object where the
	// upstream's is missing or no object.
	input  *arguments.Schema
	weight int // as counted in the cache; guarded by its mu
}

// An objectCache keeps the tool objects used last.
type objectCache struct {
	mu    sync.Mutex // guards what follows
	kept  *simplelru.LRU[string, *toolObject]
	bytes int
}

func newObjectCache() *objectCache {
	c := &objectCache{}
	var err error
	c.kept, err = simplelru.NewLRU(cachedObjects, func(_ string, obj *toolObject) { c.bytes -= obj.weight })
	if err != nil { // only for a size below 1
		panic(err)
	}
	return c
}

// get is the object of id as it was read from raw.
func (c *objectCache) get(id string, raw json.RawMessage) (*toolObject, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	obj, ok := c.kept.Get(id)
	return obj, ok && bytes.Equal(obj.raw, raw)
}

func (c *objectCache) add(id string, obj *toolObject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Remove(id)
	obj.weight = 2*len(obj.raw) + 1<<10
	c.kept.Add(id, obj)
	c.bytes += obj.weight
	c.shrink()
}

// grow counts what compiling the schema of obj, kept as id, has added.
func (c *objectCache) grow(id string, obj *toolObject, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept, ok := c.kept.Peek(id); !ok || kept != obj {
		return
	}
	obj.weight += by
	c.bytes += by
	c.shrink()
}

func (c *objectCache) shrink() {
	for c.bytes > cachedBytes {
		if _, _, ok := c.kept.RemoveOldest(); !ok {
			return
		}
	}
}

// object reads the tool object of hit. What Raw returns decides, so that a
// changed tool is never taken for the cached one.
func (g *Gateway) object(hit index.Hit) (*toolObject, error) {
	raw, err := g.ix.Raw(hit.ID)
	if errors.Is(err, index.ErrGone) {
		return nil, &Error{
			Tool: words.ToolName(hit.Tool.Server, hit.Tool.Name), Err: fmt.Errorf("%w: %w", ErrUnknownTool, err),
			Problem: fmt.Sprintf("server %s no longer has this tool: it is gone from the catalog", hit.Tool.Server),
			Next:    func(v Vocabulary) string { return "it did not run; " + v.Search + " finds what there is now" },
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read tool %s: %w", hit.Tool.QualifiedName(), err)
	}
	if obj, ok := g.objects.get(hit.ID, raw); ok {
		return obj, nil
	}
	obj := &toolObject{raw: raw}
	if err := json.Unmarshal(raw, obj); err != nil {
		return nil, fmt.Errorf("read tool %s: %w", hit.Tool.QualifiedName(), err)
	}
	obj.input = arguments.NewSchema(tool.InputSchema(raw), func(bytes int) { g.objects.grow(hit.ID, obj, bytes) })
	g.objects.add(hit.ID, obj)
	return obj, nil
}

// extras are the members of a tool object that are only shown, as parts of raw
// where nothing is left out of them; nil for those that are missing or null.
func (o *toolObject) extras() (icons, execution, meta json.RawMessage) {
	rawjson.Each(o.raw, func(key string, value json.RawMessage) {
		if rawjson.Kind(value) == "null" {
			value = nil
		}
		switch key {
		case "icons":
			icons = value
		case "execution":
			execution = value
		case "_meta":
			meta = withoutProtocol(value)
		}
	})
	return icons, execution, meta
}

// withoutProtocol is a _meta without the keys that belong to one hop, nil if
// nothing else is in it.
func withoutProtocol(meta json.RawMessage) json.RawMessage {
	var kept []rawjson.Member
	n := 0
	rawjson.Each(meta, func(key string, value json.RawMessage) {
		if n++; !strings.HasPrefix(key, protocolPrefix) {
			kept = append(kept, rawjson.Member{Key: key, Value: value})
		}
	})
	switch {
	case n == len(kept):
		return meta
	case len(kept) == 0:
		return nil
	}
	return rawjson.Object(kept)
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
