package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
)

// Have reads the servers of a tooldex configuration's text, YAML or JSON with
// comments, disabled ones included.
func Have(config []byte) ([]Server, error) {
	if isJSON(config) {
		plain, err := hujson.Standardize(config)
		if err != nil {
			return nil, err
		}
		config = bytes.ReplaceAll(plain, []byte("\t"), []byte(" "))
	}
	var f struct {
		Servers map[string]Server `yaml:"mcpServers"`
	}
	if err := yaml.Unmarshal(config, &f); err != nil {
		return nil, err
	}
	var out []Server
	for name, s := range f.Servers {
		s.Name = name
		out = append(out, s)
	}
	return out, nil
}

func isJSON(config []byte) bool {
	t := bytes.TrimSpace(config)
	return bytes.HasPrefix(t, []byte("{")) || bytes.HasPrefix(t, []byte("//")) || bytes.HasPrefix(t, []byte("/*"))
}

// Append returns a tooldex configuration's text with servers added to its
// mcpServers. Comments and everything else stay. The names must be new.
func Append(config []byte, servers []Server) ([]byte, error) {
	if isJSON(config) {
		return appendJSON(config, servers)
	}
	return appendYAML(config, servers)
}

func appendJSON(config []byte, servers []Server) ([]byte, error) {
	v, err := hujson.Parse(config)
	if err != nil {
		return nil, err
	}
	type op struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	var ops []op
	if v.Find("/mcpServers") == nil {
		ops = append(ops, op{"add", "/mcpServers", struct{}{}})
	}
	for _, s := range servers {
		ops = append(ops, op{"add", "/mcpServers/" + s.Name, s})
	}
	patch, err := json.Marshal(ops)
	if err != nil {
		return nil, err
	}
	if err := v.Patch(patch); err != nil {
		return nil, err
	}
	v.Format()
	return v.Pack(), nil
}

func appendYAML(config []byte, servers []Server) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(config, &doc); err != nil {
		return nil, err
	}
	if doc.Kind == 0 {
		doc = yaml.Node{Kind: yaml.DocumentNode, HeadComment: doc.HeadComment}
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		doc.Content = []*yaml.Node{{Kind: yaml.MappingNode, Tag: "!!map"}}
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, errors.New("the configuration is no map of settings")
	}
	list := mapping(top, "mcpServers")
	for _, s := range servers {
		var key, value yaml.Node
		key.SetString(s.Name)
		if err := value.Encode(s); err != nil {
			return nil, err
		}
		list.Content = append(list.Content, &key, &value)
	}
	var out bytes.Buffer
	if text := string(config); doc.Content[0].HeadComment == "" && onlyComments(text) {
		out.WriteString(text) // the library drops comments of an empty document
	}
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(&doc), enc.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func onlyComments(text string) bool {
	for line := range strings.Lines(text) {
		if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "#") {
			return false
		}
	}
	return strings.Contains(text, "#")
}

// mapping finds the map at key, adding an empty one if need be.
func mapping(top *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(top.Content); i += 2 {
		if top.Content[i].Value != key {
			continue
		}
		n := top.Content[i+1]
		for n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		if n.Kind != yaml.MappingNode {
			*n = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		}
		n.Style = 0 // {} becomes lines
		return n
	}
	var name yaml.Node
	name.SetString(key)
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	top.Content = append(top.Content, &name, n)
	return n
}
