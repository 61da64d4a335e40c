package dsh

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// checkFile reads a file at once, in two pieces, and by windows; all must agree,
// and every failure must have a code.
func checkFile(t *testing.T, src reader.Source, content []byte) {
	t.Helper()
	header, err := New().Identify(context.Background(), src.Root, src.Path)
	coded(t, err)
	src.Header = header
	events, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
	coded(t, err)
	if err != nil {
		return
	}
	for _, raw := range Closers(tail.Position.State, tail.Position.Next) {
		if !json.Valid(raw.Native) {
			t.Errorf("made JSON: %s", raw.Native)
		}
	}
	i := 0
	_, err = New().Window(context.Background(), src, session.Checkpoint{}, 0, min(tail.Position.Next, 1000), session.Every(), func(raw session.Raw) error {
		for i < len(events) && raw.Event.Seq >= events[i].Seq+events[i].Len() {
			i++
		}
		if i == len(events) || raw.Event.Type != events[i].Type || !jsonl.Valid(raw.Native) {
			return fmt.Errorf("event %d is %s", raw.Event.Seq, raw.Native)
		}
		return nil
	})
	if err != nil {
		t.Errorf("as a window: %v", err)
	}

	if err := os.WriteFile(src.Path, content[:len(content)*2/3], 0o600); err != nil {
		t.Fatal(err)
	}
	first, half, err := readertest.ReadFrom(New(), src, reader.Position{})
	if errors.Is(err, reader.ErrPending) {
		return
	}
	if err != nil {
		t.Fatalf("a part of a sound log: %v", err)
	}
	if err := os.WriteFile(src.Path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	rest, _, err := readertest.ReadFrom(New(), src, half.Position)
	if err != nil {
		t.Fatalf("the rest of a sound log: %v", err)
	}
	if diff := cmp.Diff(events, append(first, rest...)); diff != "" {
		t.Errorf("in two pieces (-at once +in pieces):\n%s", diff)
	}
}

func coded(t *testing.T, err error) {
	t.Helper()
	if _, ok := fault.Of(err); err != nil && !ok && !errors.Is(err, reader.ErrPending) {
		t.Errorf("a failure without a code: %v", err)
	}
}

// seeds adds the golden files of an encoding.
func seeds(f *testing.F, name string) {
	f.Helper()
	for _, root := range []string{corpus, filepath.Dir(genuine)} {
		paths, err := filepath.Glob(filepath.Join(root, "*", "*", "*", name))
		if err != nil {
			f.Fatal(err)
		}
		for i, path := range paths {
			content, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			if (i%7 == 0 || name == zstdName) && len(content) < 8<<10 {
				f.Add(content)
			}
		}
	}
}

func FuzzRaw(f *testing.F) {
	seeds(f, rawName)
	f.Fuzz(func(t *testing.T, content []byte) { checkFile(t, logFile(t, rawName, content), content) })
}

func FuzzZstd(f *testing.F) {
	seeds(f, zstdName)
	f.Fuzz(func(t *testing.T, content []byte) { checkFile(t, logFile(t, zstdName, content), content) })
}

// A line is an event or a failure with a code; made JSON decodes to the same
// event; what the standard parser takes for no JSON is none.
func FuzzLine(f *testing.F) {
	for _, path := range []string{"alpha-legacy", "alpha-chunks", "alpha-json", "alpha-blocks", "alpha-prune"} {
		content, err := os.ReadFile(filepath.Join(corpus, "main", "--srv-code-alpha--", path, rawName))
		if err != nil {
			f.Fatal(err)
		}
		for i, line := range bytes.Split(content, []byte("\n")) {
			f.Add(line, int64(i-1))
		}
	}
	f.Fuzz(func(t *testing.T, line []byte, next int64) {
		d := NewDecoder(session.Header{Agent: session.DSH, ID: "s"})
		d.next = max(next, 0)
		raws, err := d.Event(line)
		coded(t, err)
		if err != nil {
			return
		}
		if !json.Valid(line) {
			t.Errorf("%q is taken for JSON", line)
		}
		for _, raw := range raws {
			if !raw.Event.Reconstructed {
				continue
			}
			again := NewDecoder(d.header)
			again.next = raw.Event.Seq
			got, err := again.Event(raw.Native)
			if err != nil || len(got) != 1 {
				t.Fatalf("made of %q: %s: %v", line, raw.Native, err)
			}
			got[0].Event.Reconstructed, got[0].Event.Ignorable = true, raw.Event.Ignorable
			if diff := cmp.Diff(raw.Event, got[0].Event); diff != "" {
				t.Errorf("made of %q (-event +JSON):\n%s", line, diff)
			}
		}
	})
}

func FuzzHeader(f *testing.F) {
	f.Add([]byte(sampleHeader))
	f.Add([]byte(`{"type":"session","version":0,"id":"\ud83d\ude80\n","createdAt":1e3,"cwd":"C:\\w\u002f","delegationDepth":-0,"origin":"subagent"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		h, reason := parseHeader(line)
		if reason != "" {
			return
		}
		if err := h.Validate(); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		for _, name := range []string{h.workspace, h.folder} {
			if name == "" || name == "." || name == ".." || bytes.ContainsAny([]byte(name), "/\\:\x00") {
				t.Errorf("%q: the folder %q", line, name)
			}
		}
	})
}
