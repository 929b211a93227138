package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxName is the longest name of a tool, as clients accept it.
const maxName = 128

// nameAll names the tools: by operationId, else by method and path. All
// operations that would share a name, in whatever case, are named by method
// and path instead, and those that share that one get a hash of both, so that
// no name depends on what else stands before it.
func (r *reader) nameAll() {
	ops := r.doc.Operations
	wanted := make([]string, len(ops))
	for i := range ops {
		ops[i].Name = plain(ops[i].ID)
		if ops[i].Name == "" {
			ops[i].Name = byPath(&ops[i])
		}
		wanted[i] = ops[i].Name
	}
	for _, other := range []func(*Operation) string{byPath, byHash} {
		count := map[string]int{}
		for i := range ops {
			count[strings.ToLower(ops[i].Name)]++
		}
		for i := range ops {
			if count[strings.ToLower(ops[i].Name)] > 1 {
				ops[i].Name = other(&ops[i])
			}
		}
	}
	for i := range ops {
		if len(ops[i].Name) > maxName {
			ops[i].Name = ops[i].Name[:maxName-9] + "_" + hash(&ops[i])
		}
		if ops[i].Name != wanted[i] {
			r.doc.Renamed = append(r.doc.Renamed, fmt.Sprintf("%s would be %s, is %s", ops[i].label(), cut(wanted[i], 60), ops[i].Name))
		}
		ops[i].Tool = named(ops[i].Name, ops[i].Tool)
	}
}

func byPath(op *Operation) string {
	return strings.ToLower(op.Method) + "_" + plain(op.Path)
}

func byHash(op *Operation) string {
	name := byPath(op)
	return name[:min(len(name), maxName-9)] + "_" + hash(op)
}

// hash tells operations of one document apart, in 8 digits.
func hash(op *Operation) string {
	sum := sha256.Sum256([]byte(op.Method + " " + op.Path))
	return hex.EncodeToString(sum[:4])
}

// plain keeps letters, digits, dots, dashes and underscores, and puts one
// underscore in place of all else.
func plain(s string) string {
	var b strings.Builder
	gap := false
	for _, c := range s {
		ok := c < 0x80 && (c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || c == '-' || c == '.')
		if !ok {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('_')
		}
		gap = false
		b.WriteRune(c)
	}
	return b.String()
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
