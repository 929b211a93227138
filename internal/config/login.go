package config

import (
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/tooldex/tooldex/gateway/upstream/login"
)

// loginFile says how tokens for a server are had, as it is written.
type loginFile struct {
	Type         string   `yaml:"type"`
	Issuer       string   `yaml:"issuer"`
	TokenURL     string   `yaml:"token_url"`
	ClientID     string   `yaml:"client_id"`
	ClientSecret string   `yaml:"client_secret"`
	PrivateKey   string   `yaml:"private_key"`
	MetadataURL  string   `yaml:"client_metadata_url"`
	Assertion    string   `yaml:"assertion"`
	IDPTokenURL  string   `yaml:"idp_token_url"`
	IDPClientID  string   `yaml:"idp_client_id"`
	IDPSecret    string   `yaml:"idp_client_secret"`
	Scopes       []string `yaml:"scopes"`
	Resource     string   `yaml:"resource"`
	Audience     string   `yaml:"audience"`
	ListAs       string   `yaml:"list_as"`
	RedirectPort int      `yaml:"redirect_port"`
	AllowPrivate bool     `yaml:"allow_private"`
}

func (f loginFile) build() login.Config { return login.Config(f) }

// loginNode is the auth of an entry of mcpServers: a map, or its type alone.
// Other clients have an auth of other keys there, which means nothing here.
type loginNode struct{ loginFile }

// UnmarshalYAML reads either.
func (l *loginNode) UnmarshalYAML(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.ScalarNode:
		return n.Decode(&l.Type)
	case foreignLogin(n):
		return nil
	}
	return n.Decode(&l.loginFile)
}

// foreignLogin reports a map without any key that tooldex knows.
func foreignLogin(n *yaml.Node) bool {
	n = resolve(n)
	known := keysOf(reflect.TypeFor[loginFile]())
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if slices.Contains(known, n.Content[i].Value) {
			return false
		}
	}
	return n.Kind == yaml.MappingNode && len(n.Content) > 0
}
