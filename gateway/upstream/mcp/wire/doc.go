// Package wire is what goes over one connection with an MCP server: where a
// message begins and ends, how much of it may be in memory, and who waits for
// it.
//
// A [LineReader] reads lines of bounded length, an [Intake] takes room in
// memory for those that are large, and a [Tap] hands the bytes of an answer to
// the [Sink] of its request before the SDK decodes a stand-in for them. What
// is of no use to anybody is paid for from an [Allowance].
package wire
