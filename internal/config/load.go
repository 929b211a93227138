package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"

	"github.com/tooldex/tooldex/internal/settings"
)

// Options say where Load looks.
type Options struct {
	Path  string         // the file; "" leaves it to Find
	Flags *pflag.FlagSet // flags named like a setting ("listen", "log.level") override the file when set; nil for none
	// Surfaces are those that an endpoint may have; nil leaves it to who serves.
	Surfaces []string
	// Optional makes a missing file no error: the defaults then stand alone.
	Optional bool
}

// Load finds, reads and checks the configuration. Every error names the file,
// and where it can the line and what to write instead.
func Load(o Options) (*Config, error) {
	path, err := Find(o.Path)
	if errors.Is(err, ErrNone) && o.Optional {
		path, err = "", nil
	}
	if err != nil {
		return nil, err
	}
	var data []byte
	if path != "" {
		if data, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("configuration %s: %w", path, cause(err))
		}
	}
	return loadText(path, data, o)
}

// loadText reads and checks the text of the file at path.
func loadText(path string, data []byte, o Options) (*Config, error) {
	root, err := parse(path, data)
	if err != nil {
		return nil, err
	}
	c, err := decode(root, path, o)
	if err != nil {
		return nil, inFile(path, err)
	}
	return c, nil
}

// inFile puts the file's name before each of the errors that err joins.
func inFile(path string, err error) error {
	if path == "" {
		path = "configuration"
	}
	lines := strings.Split(err.Error(), "\n")
	for i, l := range lines {
		lines[i] = path + ": " + l
	}
	return errors.New(strings.Join(lines, "\n"))
}

// parse reads the file as YAML. JSON, with or without comments, is made plain
// first: YAML reads it once comments and tabs are blanks.
func parse(path string, data []byte) (*yaml.Node, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if settings.Guess(data) == settings.JSON {
		plain, err := hujson.Standardize(bytes.Clone(data)) // it writes over what it is given
		if err != nil {
			return nil, fmt.Errorf("configuration %s: %w", path, err)
		}
		data = bytes.ReplaceAll(plain, []byte("\t"), []byte(" "))
	}
	if err := yaml.Unmarshal(data, root); err != nil {
		return nil, fmt.Errorf("configuration %s: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return root, nil
}

func decode(root *yaml.Node, path string, o Options) (*Config, error) {
	if r := resolve(root); r.Kind == yaml.SequenceNode || r.Kind == yaml.ScalarNode && r.Tag != "!!null" {
		return nil, fmt.Errorf("line %d: a configuration is a map of settings, such as mcpServers", r.Line)
	}
	foreign, errs := check(root, reflect.TypeFor[file](), "")
	errs = append(errs, expandFile(root))
	f := defaults()
	f.path = path
	f.surfaces, f.Auth.given = o.Surfaces, child(root, "auth").Kind != 0
	errs = append(errs, unmarshal(root, &f), f.merge(root), f.override(o.Flags), located(root, f.chooseModel()))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	c, err := f.build(path)
	c.Foreign = append(foreign, c.Foreign...)
	return c, located(root, err)
}

// unmarshal decodes a map of settings and words what is of the wrong type.
func unmarshal(n *yaml.Node, into any) error {
	if n = resolve(n); len(n.Content) == 0 && n.Kind != yaml.ScalarNode {
		return nil
	}
	err := n.Decode(into)
	var te *yaml.TypeError
	if !errors.As(err, &te) {
		return err
	}
	var errs []error
	for _, e := range te.Errors {
		errs = append(errs, errors.New(plainType.Replace(e)))
	}
	return errors.Join(errs...)
}

// plainType words the YAML library's type errors for people.
var plainType = strings.NewReplacer(
	"cannot unmarshal !!str", "wrong type: the text", "cannot unmarshal !!int", "wrong type: the number",
	"cannot unmarshal !!float", "wrong type: the number", "cannot unmarshal !!bool", "wrong type:",
	"cannot unmarshal !!seq", "wrong type: a list", "cannot unmarshal !!map", "wrong type: a map",
	"into []string", "where a list of texts is expected", "into string", "where a text is expected",
	"into bool", "where true or false is expected", "into int", "where a whole number is expected",
	"into float64", "where a number is expected",
	"into map[string]string", "where a map of texts is expected",
	"into map[string]config.entry", "where a map of servers by name is expected",
	"into []config.grantFile", "where a list of grants is expected",
	"into config.serverFile", "where a server's settings are expected",
	"into map[string]config.Tool", "where a map of tools by name is expected",
	"into map[string]config.restTool", "where a map of tools by name is expected",
	"into config.restFile", "where a REST API's settings are expected",
	"into []config.Example", "where a list of examples is expected",
	"into config.", "where a map of settings is expected: ",
)

func defaults() file {
	meta := Meta{
		EnableSemanticSearch: true, EnableCategories: true, EnableSimilarTools: true, IncludeSignatures: true,
		DefaultSearchLimit: 10, MaxSearchLimit: 50,
	}
	execution := executionFile{TimeoutSeconds: 30, MaxTimeoutSeconds: 300, RetryAttempts: 2, LogAllExecutions: true, ValidateArguments: true}
	f := file{
		Listen: "127.0.0.1:7420", State: StateDir(), Keyring: true, Log: Log{Level: "info", Format: "text"},
		Index: Index{HNSWThreshold: -1}, Phrases: Phrases{Pack: "on", Learn: "off", AutoTools: 60, AutoTokens: 60_000},
		Meta: meta, Execution: execution, Audit: Audit{Keep: Duration(90 * 24 * time.Hour)},
	}
	f.Virtual.Meta, f.Virtual.Execution = meta, execution
	return f
}

// merge moves meta_server's own sections to the top, where they are the same
// settings. Given in both places they are an error.
func (f *file) merge(root *yaml.Node) error {
	var errs []error
	inner := child(root, "meta_server")
	moves := func(section string) bool {
		given := child(inner, section)
		if given.Kind != 0 && child(root, section).Kind != 0 {
			errs = append(errs, fmt.Errorf("line %d: meta_server.%s repeats %s; keep one of them", given.Line, section, section))
		}
		return given.Kind != 0
	}
	if moves("meta_config") {
		f.Meta = f.Virtual.Meta
	}
	if moves("execution") {
		f.Execution = f.Virtual.Execution
	}
	return errors.Join(errs...)
}

// scalars are the settings that flags and the environment may override; maps
// whose keys matter are not among them, as viper lower-cases keys.
type scalars struct {
	Listen    string    `yaml:"listen"`
	State     string    `yaml:"state"`
	Log       Log       `yaml:"log"`
	Embedding Embedding `yaml:"embedding"`
	Index     Index     `yaml:"index"`
}

// override lays TOOLDEX_* variables and flags over the file:
// TOOLDEX_EMBEDDING_PROVIDER is embedding.provider.
func (f *file) override(flags *pflag.FlagSet) error {
	v := viper.New()
	v.SetEnvPrefix("TOOLDEX")
	v.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))
	v.AutomaticEnv()
	s := scalars{Listen: f.Listen, State: f.State, Log: f.Log, Embedding: f.Embedding, Index: f.Index}
	eachScalar(reflect.ValueOf(s), "", func(key string, value any) {
		v.SetDefault(key, value)
		if flags == nil {
			return
		}
		if flag := flags.Lookup(key); flag != nil && flag.Changed {
			v.Set(key, flag.Value.String())
		}
	})
	yamlTags := func(dc *mapstructure.DecoderConfig) { dc.TagName = "yaml" }
	if err := v.Unmarshal(&s, yamlTags); err != nil {
		return fmt.Errorf("flags and TOOLDEX_* variables: %w", err)
	}
	f.Listen, f.State, f.Log, f.Embedding, f.Index = s.Listen, s.State, s.Log, s.Embedding, s.Index
	return nil
}

// eachScalar visits the settings of a struct that are no maps, by dotted key.
func eachScalar(v reflect.Value, prefix string, visit func(key string, value any)) {
	for i := range v.NumField() {
		key := strings.TrimPrefix(prefix+"."+v.Type().Field(i).Tag.Get("yaml"), ".")
		switch field := v.Field(i); field.Kind() {
		case reflect.Struct:
			eachScalar(field, key, visit)
		case reflect.Map:
		default:
			visit(key, field.Interface())
		}
	}
}
