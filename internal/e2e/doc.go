// Package e2e runs the tooldex binary between real MCP servers and real MCP
// clients. Its tests skip unless what they need is installed; .ci/integration
// installs it and runs them.
package e2e
