package claude_test

import (
	"context"
	"testing"

	"github.com/yorehq/yore/internal/corpus"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/claude"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// BenchmarkRate reads a log of the shape of genuine ones, a sixth of it text.
func BenchmarkRate(b *testing.B) {
	made := corpus.Claude(7, 20<<20)
	root := b.TempDir()
	path, err := made.Write(root)
	if err != nil {
		b.Fatal(err)
	}
	h, err := claude.New().Identify(context.Background(), root, path)
	if err != nil {
		b.Fatal(err)
	}
	readertest.Rate(b, claude.New(), reader.Source{Agent: session.Claude, Root: root, Path: path, Header: h}, made.Text)
}
