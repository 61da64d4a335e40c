package corpus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/yorehq/yore/internal/corpus"
	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/claude"
	"github.com/yorehq/yore/reader/codex"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/session"
)

// searchable reads a log whole and returns how many events and how many bytes of
// searchable text it gives.
func searchable(t *testing.T, r reader.Reader, root, path, cwd, id string) (events int64, text int) {
	t.Helper()
	ctx := context.Background()
	rel, err := filepath.Rel(root, path)
	if err != nil {
		t.Fatal(err)
	}
	if kind := r.Classify(filepath.ToSlash(rel), false); kind != reader.File {
		t.Errorf("%s is classified %d", rel, kind)
	}
	h, err := r.Identify(ctx, root, path)
	if err != nil {
		t.Fatal(err)
	}
	if h.Cwd != cwd || h.ID != session.ID(id) {
		t.Errorf("header %+v", h)
	}
	var f session.Fold
	tail, err := r.Read(ctx, reader.Source{Agent: r.Agent(), Root: root, Path: path, Header: h}, reader.Position{}, func(e session.Event) error {
		got, _ := document.Extract(e.Body)
		text += len(got)
		_, err := f.Apply(&e)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(tail.Skips) > 0 {
		t.Errorf("skips %v", tail.Skips)
	}
	return f.Next(), text
}

// Made transcripts are what the product's readers take, and as poor in text as
// genuine ones.
func TestTranscripts(t *testing.T) {
	const size = 3 << 20
	for _, c := range []struct {
		name string
		make func(seed uint64, size int) corpus.Transcript
		r    reader.Reader
	}{
		{"claude", corpus.Claude, claude.New()},
		{"codex", corpus.Codex, codex.New()},
	} {
		made := c.make(7, size)
		if again := c.make(7, size); !bytes.Equal(again.Text, made.Text) || again.Path != made.Path {
			t.Errorf("%s: the same seed gives another log", c.name)
		}
		if other := c.make(8, size); bytes.Equal(other.Text, made.Text) {
			t.Errorf("%s: another seed gives the same log", c.name)
		}
		lines := bytes.Count(made.Text, []byte("\n"))
		for line := range bytes.Lines(made.Text) {
			if !json.Valid(line) {
				t.Fatalf("%s: no JSON: %s", c.name, line)
			}
		}
		root := t.TempDir()
		path, err := made.Write(root)
		if err != nil {
			t.Fatal(err)
		}
		events, text := searchable(t, c.r, root, path, made.Cwd, made.ID)
		share := float64(text) / float64(len(made.Text))
		t.Logf("%s: %d bytes, %d lines, %d events, %.1f %% text", c.name, len(made.Text), lines, events, 100*share)
		if share < 0.13 || share > 0.19 || len(made.Text) < size || len(made.Text) > 2*size || events < int64(lines) {
			t.Errorf("%s: %d bytes, %d lines, %d events, %.1f %% text", c.name, len(made.Text), lines, events, 100*share)
		}
	}
}

// A rich log is as poor in text as genuine ones; the plain one is mostly text.
func TestRich(t *testing.T) {
	dir := t.TempDir()
	stats, err := corpus.Generate(dir, corpus.Options{Sessions: 1, Events: 50_000, Rich: true})
	if err != nil {
		t.Fatal(err)
	}
	s := stats.Sessions[0]
	events, text := searchable(t, dsh.New(), dir, s.Path, s.Cwd, s.ID)
	share := float64(text) / float64(stats.Bytes)
	t.Logf("%d bytes, %d events, %.1f %% text", stats.Bytes, events, 100*share)
	if share < 0.13 || share > 0.19 || events != stats.Events {
		t.Errorf("%d bytes, %d events of %d, %.1f %% text", stats.Bytes, events, stats.Events, 100*share)
	}
}
