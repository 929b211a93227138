// Package tool is the vocabulary of the index: a tool as its upstream describes
// it, read from JSON without losing a byte ([Decode]), its input schema made fit
// for use ([InputSchema]), and the texts of it that are searched and embedded.
package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// A Tool is one tool of one server: the object its upstream sent, and the
// parts of it that are searched, filtered and shown.
//
// [Decode] fills a Tool from the upstream's JSON; the caller may then replace
// Description, Tags, Category, Examples, Hidden and Phrases with what an
// operator configured. Raw always keeps the original.
type Tool struct {
	Server string // name of the server; "" for a tool that has none
	Name   string // name within the server, as the upstream spells it
	Key    string // identity; "" means Server + "/" + Name, or Name alone without a server

	Raw json.RawMessage // the tool object byte for byte; nil where a result does not carry it

	Title       string    // display name; "" when the upstream gives none
	Description string    // effective description: the operator's, else the upstream's
	Listed      string    `json:",omitempty"` // the upstream's description, where the operator's is in its place
	Tags        []string  // labels, matched whole and without case
	Category    string    // configured or in _meta; "" means the index derives one
	Phrases     []string  // what people say when they need the tool: searched, never shown
	Examples    []Example // from _meta, the schema and configuration; never invented
	Integration string    // "MCP" or "REST"; "" means "MCP"
	Visibility  string    // "" means "public"
	Teams       []string  // teams that own the tool; none matches no team filter
	Hidden      bool      // kept in the catalog, absent from every search and list
	Warnings    []string  // what is wrong with the object, one sentence each

	// Effect is what the object's annotations claim that the tool does to the
	// world: "read", "write", or "destructive", which is what none say; "" is
	// not known. Set by the index.
	Effect string `json:",omitempty"`
	// Group is where the object's _meta puts the tool among those of its
	// server; "" for nowhere. Set by the index.
	Group string `json:",omitempty"`

	Inexecutable string    // why the tool must not be called; "" when it may be
	FirstSeen    time.Time // when this catalog first saw the tool; set by the index
}

// An Example is one documented call of a tool.
type Example struct {
	Description string          `json:"description,omitempty"`
	Arguments   json.RawMessage `json:"arguments"`
}

// QualifiedName is the tool's name with its server: "server/name", or the
// name alone for a tool without a server.
func (t Tool) QualifiedName() string {
	if t.Server == "" {
		return t.Name
	}
	return t.Server + "/" + t.Name
}

// ID is the tool's stable identity: the first 12 hexadecimal digits of the
// SHA-256 of its key.
func (t Tool) ID() string {
	key := t.Key
	if key == "" {
		key = t.QualifiedName()
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:6])
}
