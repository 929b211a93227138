// Package stdio runs MCP servers as processes and talks with them over their
// stdin and stdout.
//
// [Start] starts one in a group of its own, with a short environment, and
// [NewLink] makes of it a transport for one session of the SDK after the
// other. [Link.Stop] ends the process and everything that it started.
package stdio
