package corpus_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/yorehq/yore/internal/corpus"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/session"
)

// The generator knows the format from its description, and so does the
// product's reader: each checks the other here.
func TestReaderTakesTheCorpus(t *testing.T) {
	ctx := context.Background()
	for _, encoding := range []corpus.Encoding{corpus.Raw, corpus.Zstd} {
		dir := t.TempDir()
		stats, err := corpus.Generate(dir, corpus.Options{Sessions: 30, Events: 5000, Chunks: true, Encoding: encoding, Largest: 2500})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := corpus.Append(stats.Sessions[0], 10, "one more"); err != nil {
			t.Fatal(err)
		}
		r := dsh.New()
		for _, s := range stats.Sessions {
			rel, err := filepath.Rel(dir, s.Path)
			if err != nil {
				t.Fatal(err)
			}
			if kind := r.Classify(filepath.ToSlash(rel), false); kind != reader.File {
				t.Errorf("%s is classified %d", rel, kind)
			}
			header, err := r.Identify(ctx, dir, s.Path)
			if err != nil {
				t.Fatal(err)
			}
			want := session.Header{
				Agent: session.DSH, ID: session.ID(s.ID), CreatedAt: s.CreatedAt, Cwd: s.Cwd,
				ParentSession: session.ID(s.Parent), SeedLength: s.Seed,
			}
			if header != want {
				t.Errorf("header %+v, want %+v", header, want)
			}
			var f session.Fold
			src := reader.Source{Agent: session.DSH, Root: dir, Path: s.Path, Header: header}
			tail, err := r.Read(ctx, src, reader.Position{}, func(e session.Event) error {
				_, err := f.Apply(&e)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if f.Next() != s.Events || tail.Position.Next != s.Events || len(tail.Closers) > 0 || len(tail.Skips) > 0 {
				t.Errorf("%s: %d events folded, next %d, want %d; %d closers, skips %v", rel, f.Next(), tail.Position.Next, s.Events, len(tail.Closers), tail.Skips)
			}
		}
	}
}
