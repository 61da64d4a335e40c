package codex_test

import (
	"context"
	"testing"

	"github.com/yorehq/yore/internal/corpus"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/codex"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// BenchmarkRate reads a log of the shape of genuine ones, a sixth of it text.
func BenchmarkRate(b *testing.B) {
	made := corpus.Codex(7, 20<<20)
	root := b.TempDir()
	path, err := made.Write(root)
	if err != nil {
		b.Fatal(err)
	}
	h, err := codex.New().Identify(context.Background(), root, path)
	if err != nil {
		b.Fatal(err)
	}
	readertest.Rate(b, codex.New(), reader.Source{Agent: session.Codex, Root: root, Path: path, Header: h}, made.Text)
}
