package dsh_test

import (
	"context"
	"os"
	"testing"

	"github.com/yorehq/yore/internal/corpus"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// BenchmarkRate reads a rich log, a sixth of it text, and one that is mostly text.
func BenchmarkRate(b *testing.B) {
	for _, o := range []corpus.Options{{Sessions: 1, Events: 200_000, Rich: true}, {Sessions: 1, Events: 20_000}} {
		name := "text"
		if o.Rich {
			name = "rich"
		}
		b.Run(name, func(b *testing.B) {
			root := b.TempDir()
			stats, err := corpus.Generate(root, o)
			if err != nil {
				b.Fatal(err)
			}
			path := stats.Sessions[0].Path
			text, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			h, err := dsh.New().Identify(context.Background(), root, path)
			if err != nil {
				b.Fatal(err)
			}
			readertest.Rate(b, dsh.New(), reader.Source{Agent: session.DSH, Root: root, Path: path, Header: h}, text)
		})
	}
}
