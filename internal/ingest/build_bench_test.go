package ingest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/yorehq/yore/internal/corpus"
	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/claude"
	"github.com/yorehq/yore/reader/codex"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// tokenWriter is a store that makes tokens and keeps nothing.
type tokenWriter struct {
	Writer
	tokens int
	folded []byte
}

func (w *tokenWriter) Append(_ context.Context, _ int64, b *Batch) error {
	for i := range b.Entries {
		n := 0
		w.folded, n = document.AppendFolded(w.folded[:0], b.Entries[i].Text)
		w.tokens += n + document.Points(b.Entries[i].Text)
	}
	return nil
}

func (w *tokenWriter) Surface(context.Context, int64) ([]session.Node, error) { return nil, nil }

// BenchmarkBuild does everything of a first index but the index: reading,
// folding, texts, batches and tokens.
func BenchmarkBuild(b *testing.B) {
	dshLog := func(root string) (string, error) {
		stats, err := corpus.Generate(root, corpus.Options{Sessions: 1, Events: 200_000, Rich: true})
		return stats.Sessions[0].Path, err
	}
	for _, c := range []struct {
		name string
		r    reader.Reader
		make func(root string) (path string, err error)
	}{
		{"dsh", dsh.New(), dshLog},
		{"claude", claude.New(), corpus.Claude(7, 20<<20).Write},
		{"codex", codex.New(), corpus.Codex(7, 20<<20).Write},
	} {
		b.Run(c.name, func(b *testing.B) {
			ctx := context.Background()
			root := b.TempDir()
			path, err := c.make(root)
			if err != nil {
				b.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			h, err := c.r.Identify(ctx, root, path)
			if err != nil {
				b.Fatal(err)
			}
			src := reader.Source{Agent: c.r.Agent(), Root: root, Path: filepath.Clean(path), Header: h}
			readertest.RateOf(b, text, func() error {
				w := &tokenWriter{}
				build := newBuilder(ctx, w, &Stored{Num: 1, Header: h, LastStep: -1})
				if _, err := c.r.Read(ctx, src, reader.Position{}, build.add); err != nil {
					return err
				}
				return build.flush()
			})
		})
	}
}
