package readertest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Divide lets a file grow in steps, reads it and the parts that this brings to
// light, and checks that a part stays what it is, that reading on to its end
// gives what reading at once gives, and that no more is parsed for it than lies
// between its beginning and its end. Files without parts pass.
func Divide(t *testing.T, r reader.Reader, src reader.Source) {
	d, ok := r.(reader.Divider)
	if !ok {
		return
	}
	src, content := copyOf(t, src)
	type progress struct {
		src    reader.Source
		at     reader.Position
		events []session.Event
	}
	known := map[string]*progress{}
	var at reader.Position
	for _, n := range cuts(len(content), 16) {
		write(t, src.Path, content[:n])
		_, tail, err := ReadFrom(r, src, at)
		if errors.Is(err, reader.ErrPending) {
			continue
		}
		if err != nil {
			t.Fatalf("at %d bytes: %v", n, err)
		}
		at = tail.Position
		parts := d.Parts(src, at.State)
		if len(parts) < len(known) {
			t.Fatalf("at %d bytes: %d parts, %d before", n, len(parts), len(known))
		}
		for _, part := range parts {
			p := known[part.Path]
			if p == nil {
				p = &progress{src: part}
				known[part.Path] = p
			}
			if file, name := reader.SplitPart(part.Path); file != src.Path || name == "" {
				t.Fatalf("the path %s is not that of a part of %s", part.Path, src.Path)
			}
			if part.End < p.src.End || part.Header != p.src.Header {
				t.Fatalf("at %d bytes: the part %+v was %+v", n, part, p.src)
			}
			p.src = part
			if h, err := r.Identify(context.Background(), src.Root, part.Path); err != nil || h != part.Header {
				t.Fatalf("at %d bytes: %s is identified as %+v, %v; want %+v", n, part.Path, h, err, part.Header)
			}
			events, tail, err := ReadFrom(r, part, p.at)
			if err != nil {
				t.Fatal(err)
			}
			if tail.Bytes > part.End-p.at.Offset || tail.Position.Offset != part.End {
				t.Fatalf("at %d bytes: %d bytes of a part were parsed from %d to %d, its end is at %d",
					n, tail.Bytes, p.at.Offset, tail.Position.Offset, part.End)
			}
			p.events, p.at = append(p.events, events...), tail.Position
			if revision, _, err := r.Revise(context.Background(), part, p.at); err != nil || revision != reader.Unchanged {
				t.Fatalf("at %d bytes: a part read to its end is %d, %v", n, revision, err)
			}
		}
	}
	for path, p := range known {
		whole := p.src
		whole.End = 0
		events, _ := mustRead(t, r, whole, reader.Position{})
		if diff := cmp.Diff(events, p.events); diff != "" || len(events) == 0 {
			t.Errorf("%s: %d events (-at once +in pieces):\n%s", path, len(events), diff)
		}
	}
}
