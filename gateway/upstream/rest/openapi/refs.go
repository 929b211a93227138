package openapi

import (
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// A file is a document, or one that it refers to.
type file struct {
	location string
	root     map[string]any
}

// A place is a value with the file that its references are relative to.
type place struct {
	file *file
	v    any
}

func (p place) object() map[string]any { return object(p.v) }

func (p place) at(key string) place { return place{p.file, p.object()[key]} }

// maxHops bounds references that lead to references.
const maxHops = 20

// follow is the value that p refers to, p itself when it is no reference. Key
// identifies it, "" for p itself.
func (r *reader) follow(p place) (target place, key string, err error) {
	for range maxHops {
		ref, ok := p.object()["$ref"].(string)
		if !ok {
			return p, key, nil
		}
		if p, key, err = r.resolve(p.file, ref); err != nil {
			return p, key, err
		}
	}
	return p, key, fmt.Errorf("$ref %q leads from one reference to the next without end", key)
}

// resolve finds what a reference in f names.
func (r *reader) resolve(f *file, ref string) (place, string, error) {
	location, fragment, _ := strings.Cut(ref, "#")
	if location != "" {
		var err error
		if f, err = r.other(f, location); err != nil {
			return place{}, "", fmt.Errorf("$ref %q: %w", ref, err)
		}
	}
	key := f.location + "#" + fragment
	if fragment == "" {
		return place{f, f.root}, key, nil
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil || !strings.HasPrefix(pointer, "/") {
		return place{}, key, fmt.Errorf("$ref %q is no path in a document", ref)
	}
	v := any(f.root)
	for _, step := range strings.Split(pointer[1:], "/") {
		var ok bool
		if v, ok = child(v, strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")); !ok {
			return place{}, key, fmt.Errorf("$ref %q leads nowhere", ref)
		}
	}
	return place{f, v}, key, nil
}

func child(v any, step string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		c, ok := v[step]
		return c, ok
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// other is another document that f refers to.
func (r *reader) other(f *file, ref string) (*file, error) {
	location := join(f.location, ref)
	if known := r.files[location]; known != nil {
		return known, nil
	}
	if err := r.failed[location]; err != nil {
		return nil, err
	}
	root, err := r.load(location)
	if err != nil {
		if r.failed == nil {
			r.failed = map[string]error{}
		}
		r.failed[location] = err
		return nil, err
	}
	r.files[location] = &file{location, root}
	return r.files[location], nil
}

// maxFiles bounds the documents that one refers to.
const maxFiles = 100

func (r *reader) load(location string) (map[string]any, error) {
	if r.o.Load == nil {
		return nil, fmt.Errorf("another document, which is not read")
	}
	if len(r.files) > maxFiles {
		return nil, fmt.Errorf("%d other documents were read, and no more are", maxFiles)
	}
	data, err := r.o.Load(r.ctx, location)
	if err != nil {
		return nil, err
	}
	return parse(data)
}

// join is a path or an address, relative to the one of a document.
func join(base, ref string) string {
	if u, err := url.Parse(base); err == nil && u.Host != "" {
		if rel, err := url.Parse(ref); err == nil {
			return u.ResolveReference(rel).String()
		}
	}
	if strings.Contains(ref, "://") || path.IsAbs(ref) {
		return ref
	}
	return path.Join(path.Dir(base), ref)
}
