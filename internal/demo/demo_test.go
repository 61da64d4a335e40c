package demo

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yorehq/yore/toolset"
)

// TestSamplesAreOriginals: each sample is the file of the same name in the
// project's test data, byte for byte.
func TestSamplesAreOriginals(t *testing.T) {
	n := 0
	err := fs.WalkDir(samples, "samples", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		got, err := samples.ReadFile(path)
		if err != nil {
			return err
		}
		rel := filepath.FromSlash(strings.TrimPrefix(path, "samples/"))
		for _, from := range []string{"dsh/sessions", "golden/corpus/main"} {
			want, err := os.ReadFile(filepath.Join("../../testdata", filepath.FromSlash(from), rel))
			if err == nil {
				if !bytes.Equal(got, want) {
					t.Errorf("%s differs from its original", path)
				}
				return nil
			}
		}
		t.Errorf("%s has no original", path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 10 {
		t.Errorf("only %d samples", n)
	}
}

// TestTourShowsEveryTool: all five, each answered, and one call refused.
func TestTourShowsEveryTool(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	t.Setenv("HOME", "")
	var b strings.Builder
	if err := Run(t.Context(), slog.New(slog.DiscardHandler), func(text string) error { b.WriteString(text); return nil }); err != nil {
		t.Fatal(err)
	}
	for _, tool := range toolset.Catalogue() {
		if !strings.Contains(b.String(), "   "+tool.Name+" {") {
			t.Errorf("the tour does not call %s", tool.Name)
		}
	}
	if n := strings.Count(b.String(), "refused: "); n != 1 {
		t.Errorf("%d calls are refused:\n%s", n, b.String())
	}
	if strings.Contains(b.String(), "No session matches") || strings.Contains(b.String(), "No event matches") {
		t.Errorf("a stop of the tour finds nothing:\n%s", b.String())
	}
	empty(t, temp)
}

// However the tour ends, nothing stays behind.
func TestTourLeavesNothing(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	broken := errors.New("the pipe is closed")
	stops := 0
	err := Run(t.Context(), slog.New(slog.DiscardHandler), func(string) error {
		if stops++; stops == 3 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) || stops != 3 {
		t.Errorf("after %d stops: %v", stops, err)
	}
	empty(t, temp)

	ctx, cancel := context.WithCancel(t.Context())
	err = Run(ctx, slog.New(slog.DiscardHandler), func(string) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	empty(t, temp)
}

func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
