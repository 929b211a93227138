package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/tooldex/tooldex/gateway/rawjson"
)

// maxBody bounds a request's body.
const maxBody = 1 << 20

// object reads the body, a JSON object, by its members. What it was sent as
// does not matter: that is what curl says without being told.
func (c *call) object() (map[string]json.RawMessage, error) {
	text, err := io.ReadAll(http.MaxBytesReader(nil, c.r.Body, maxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, problem(http.StatusRequestEntityTooLarge, "send less", "the body has more than %d MB", maxBody>>20)
	case err != nil:
		return nil, problem(http.StatusBadRequest, "send it again", "the body could not be read: %v", err)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, problem(http.StatusBadRequest, "send a JSON object", "the body is empty")
	}
	var members map[string]json.RawMessage
	err = json.Unmarshal(text, &members)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, problem(http.StatusBadRequest, "send a JSON object", "the body is no JSON: line %d: %v", 1+bytes.Count(text[:syntax.Offset], []byte("\n")), err)
	case err != nil || members == nil:
		return nil, problem(http.StatusBadRequest, "send a JSON object", "the body is %s", kindOf(text))
	}
	return members, nil
}

func kindOf(text []byte) string {
	if kind := rawjson.Kind(text); kind != "null" {
		return "of type " + kind
	}
	return "null"
}

// definition is what of members defines an endpoint, on one line: without its
// name, which the path has or becomes, and what replies add to it.
func definition(members map[string]json.RawMessage) (json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for key, value := range members {
		if key != "name" && !added[key] {
			out[key] = value
		}
	}
	text, err := rawjson.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("write the definition: %w", err)
	}
	return text, nil
}

// merge applies a JSON merge patch, RFC 7396, to an object.
func merge(target, patch json.RawMessage) (json.RawMessage, error) {
	if rawjson.Kind(patch) != "object" {
		return patch, nil
	}
	var into, changes map[string]json.RawMessage
	if rawjson.Kind(target) == "object" {
		if err := json.Unmarshal(target, &into); err != nil {
			return nil, err
		}
	}
	if err := json.Unmarshal(patch, &changes); err != nil {
		return nil, err
	}
	if into == nil {
		into = map[string]json.RawMessage{}
	}
	for key, value := range changes {
		if rawjson.Kind(value) == "null" {
			delete(into, key)
			continue
		}
		merged, err := merge(into[key], value)
		if err != nil {
			return nil, err
		}
		into[key] = merged
	}
	return rawjson.Marshal(into)
}
