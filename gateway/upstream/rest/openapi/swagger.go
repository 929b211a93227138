package openapi

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// collection is the style of a list in Swagger 2.0.
func collection(format, in string) (style string, explode bool) {
	switch format {
	case "multi":
		return "form", true
	case "ssv":
		return "spaceDelimited", false
	case "tsv":
		return "tabDelimited", false
	case "pipes":
		return "pipeDelimited", false
	}
	if in == "query" || in == "formData" {
		return "form", false
	}
	return "simple", false
}

// swaggerBody takes the parameters that make the body of Swagger 2.0 out of
// all.
func (t *toolBuilder) swaggerBody(all []parameter) (params []parameter, c content) {
	c.types = map[string]place{}
	consumes := texts(t.p.object()["consumes"])
	if len(consumes) == 0 {
		consumes = texts(t.r.main.root["consumes"])
	}
	var fields []parameter
	for _, p := range all {
		switch p.in {
		case "body":
			if len(consumes) == 0 {
				consumes = []string{"application/json"}
			}
			c.required, c.about = truth(p.p.object()["required"], false), text(p.p.object()["description"])
			for _, mediaType := range consumes {
				c.types[mediaType] = p.p
			}
		case "formData":
			fields = append(fields, p)
		default:
			params = append(params, p)
		}
	}
	if len(fields) > 0 {
		formOf(fields, consumes, &c)
	}
	return params, c
}

// formOf makes one form of the parameters that are its fields.
func formOf(fields []parameter, consumes []string, c *content) {
	properties, encoding, required := map[string]any{}, map[string]any{}, []any{}
	mediaType := "application/x-www-form-urlencoded"
	if slices.ContainsFunc(consumes, func(t string) bool { return bare(t) == "multipart/form-data" }) {
		mediaType = "multipart/form-data"
	}
	for _, f := range fields {
		o := f.p.object()
		properties[f.name] = o
		style, explode := collection(text(o["collectionFormat"]), f.in)
		if o["type"] == "array" {
			encoding[f.name] = map[string]any{"style": style, "explode": explode}
		}
		if o["type"] == "file" {
			mediaType = "multipart/form-data"
		}
		if truth(o["required"], false) {
			required = append(required, f.name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "required": required}
	c.types[mediaType] = place{fields[0].p.file, map[string]any{"schema": schema, "encoding": encoding}}
	c.required = c.required || len(required) > 0
}

// base is where the document says that calls go.
func (r *reader) base() string {
	root := r.main.root
	if !r.swagger {
		servers := list(root["servers"])
		if len(servers) == 0 {
			return ""
		}
		return r.address(object(servers[0]))
	}
	host, path := text(root["host"]), text(root["basePath"])
	if host == "" {
		return path
	}
	scheme := "https"
	if schemes := texts(root["schemes"]); len(schemes) > 0 && !slices.Contains(schemes, "https") {
		scheme = schemes[0]
	}
	return scheme + "://" + host + path
}

// credentials are the security schemes.
func (r *reader) credentials() (out []string) {
	schemes := place{r.main, r.main.root}.at("components").at("securitySchemes")
	if r.swagger {
		schemes = place{r.main, r.main.root}.at("securityDefinitions")
	}
	for _, name := range slices.Sorted(maps.Keys(schemes.object())) {
		if p, _, err := r.follow(schemes.at(name)); err == nil {
			o := p.object()
			said := sentence(text(o["type"]), text(o["scheme"]), text(o["in"]), text(o["name"]))
			out = append(out, name+" ("+said+")")
		}
	}
	return out
}

// address is the address of a Server Object, with the values of its variables
// that hold unless others are given; "" when one has none.
func (r *reader) address(server map[string]any) string {
	variables := object(server["variables"])
	missing := ""
	address := braced.ReplaceAllStringFunc(text(server["url"]), func(m string) string {
		value := text(object(variables[m[1:len(m)-1]])["default"])
		if value == "" {
			missing = m
		}
		return value
	})
	if missing != "" {
		r.warn("server %s: the variable %s has no value: set base_url", text(server["url"]), missing)
		return ""
	}
	if strings.HasPrefix(address, "//") { // over what the document came by; a file did by nothing
		scheme := "https:"
		if strings.HasPrefix(r.o.Location, "http:") {
			scheme = "http:"
		}
		address = scheme + address
	}
	return address
}

// server finds where an operation goes that has a server of its own: on
// another host only when that is allowed, as our credentials go there.
func (r *reader) server(op *Operation, item, p place) error {
	servers := list(p.object()["servers"])
	if len(servers) == 0 {
		servers = list(item.object()["servers"])
	}
	if len(servers) == 0 || r.swagger {
		return nil
	}
	own := r.address(object(servers[0]))
	u, err := url.Parse(own)
	if err != nil || own == "" {
		return nil
	}
	base := r.o.BaseURL
	if base == "" {
		base = join(r.o.Location, r.doc.Base)
	}
	b, err := url.Parse(base)
	switch {
	case u.Host == "" || err == nil && strings.EqualFold(u.Host, b.Host) && u.Scheme == b.Scheme:
		if r.o.BaseURL == "" {
			op.Server = own
		}
	case slices.ContainsFunc(r.o.Hosts, func(h string) bool { return strings.EqualFold(h, u.Host) }):
		op.Server = own
	case r.o.BaseURL == "":
		return &otherHost{own, u.Host}
	}
	return nil
}

// otherHost reports an operation whose server is another than the document's.
type otherHost struct{ server, host string }

func (e *otherHost) Error() string {
	return "its own server " + e.server + " is another host than the document's: name " + e.host + " in hosts to have it called, with your credentials"
}
