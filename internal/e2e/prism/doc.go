// Package prism calls the tools of real OpenAPI documents against Prism, which
// checks each request by the document. It has tests only.
package prism
