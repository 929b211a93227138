// Package remote talks with MCP servers over HTTP, streamable or the legacy
// HTTP+SSE.
//
// [NewLink] makes the way to one and [Link.Transport] of it a transport for one
// session of the SDK. [Link.Stop] ends what is under way.
package remote
