package static

import (
	"context"
	"testing"
)

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		m, err := load()
		if err != nil {
			b.Fatal(err)
		}
		m.vocab()
	}
}

func BenchmarkQuery(b *testing.B) {
	m := opened(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.EmbedQuery(context.Background(), "list the open pull requests of a repository that wait for my review"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTool embeds a tool of usual size: a paragraph and eight
// parameters.
func BenchmarkTool(b *testing.B) {
	m := opened(b)
	tools := []map[string]string{{
		"name":   "create_pull_request",
		"server": "github",
		"desc": "Create a new pull request in a GitHub repository. The head branch must exist and contain commits that the base branch does not have. " +
			"Use draft to open it without asking anyone for a review; reviewers can be requested afterwards.",
		"pname": "owner repo title body head base draft maintainer_can_modify",
		"pdesc": "Repository owner Repository name PR title PR description Branch containing changes Branch to merge into Create as draft PR Allow maintainer edits",
	}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.EmbedFields(context.Background(), tools); err != nil {
			b.Fatal(err)
		}
	}
}
