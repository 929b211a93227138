package clients

import (
	"bytes"

	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"

	"github.com/tooldex/tooldex/internal/settings"
)

// Have reads the servers of a tooldex configuration's text, YAML or JSON with
// comments, disabled ones included.
func Have(config []byte) ([]Server, error) {
	if settings.Guess(config) == settings.JSON {
		plain, err := hujson.Standardize(bytes.Clone(bytes.TrimPrefix(config, []byte("\xef\xbb\xbf")))) // it writes over what it is given
		if err != nil {
			return nil, err
		}
		config = bytes.ReplaceAll(plain, []byte("\t"), []byte(" "))
	}
	var f struct {
		Servers map[string]Server         `yaml:"mcpServers"`
		APIs    map[string]map[string]any `yaml:"rest"`
	}
	if err := yaml.Unmarshal(config, &f); err != nil {
		return nil, err
	}
	var out []Server
	for name, s := range f.Servers {
		s.Name = name
		out = append(out, s)
	}
	for name, api := range f.APIs {
		if api == nil { // an entry without a value
			api = map[string]any{}
		}
		out = append(out, Server{Name: name, API: api})
	}
	return out, nil
}

// Append returns a tooldex configuration's text with servers added, each in
// its section. Comments and everything else stay. The names must be new.
func Append(format settings.Format, config []byte, servers []Server) ([]byte, error) {
	for _, s := range servers {
		var err error
		if config, err = settings.Set(format, config, s.entry(), s.Section(), s.Name); err != nil {
			return nil, err
		}
	}
	return config, nil
}
