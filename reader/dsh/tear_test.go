package dsh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// grow appends to a log and reads on from a position.
func grow(t *testing.T, src reader.Source, at reader.Position, more []byte) (reader.Tail, error) {
	t.Helper()
	f, err := os.OpenFile(src.Path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(more)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if revision, _, err := New().Revise(context.Background(), src, at); err != nil || revision != reader.Grown {
		t.Fatalf("revision %d, %v", revision, err)
	}
	events, tail, err := readertest.ReadFrom(New(), src, at)
	if len(events) > 0 {
		t.Fatalf("%d events behind a tear", len(events))
	}
	return tail, err
}

// A log that grows behind a line at which it ends costs its new bytes only, says
// each time what it passes over, and still notices that a turn ends there.
func TestGrowthBehindATear(t *testing.T) {
	const bad = "noise, and more of it"
	line := func(i int) string { return fmt.Sprintf(`{"type":"goal/change","seq":%d,"time":1,"data":{}}`, i) + "\n" }
	for _, c := range []struct {
		name  string
		src   reader.Source
		pack  func(text string) []byte
		place session.Place
		known int64 // bytes of text behind the bad line from the start
	}{
		{
			"raw", rawLog(t, nil, turnStart(0), bad), func(text string) []byte { return []byte(text) },
			session.Place{Offset: int64(len(sampleHeader) + len(turnStart(0)) + 1)}, 0,
		},
		{
			"first in a frame", zstdLog(t, nil, turnStart(0)+"\n", bad+"\n"+line(1)), func(text string) []byte { return zstdFrame(t, text) },
			session.Place{Offset: int64(len(zstdFrame(t, sampleHeader)) + len(zstdFrame(t, turnStart(0)+"\n")))}, int64(len(line(1))),
		},
		{
			"inside a frame", zstdLog(t, nil, turnStart(0)+"\n"+bad+"\n"+line(1)), func(text string) []byte { return zstdFrame(t, text) },
			session.Place{Offset: int64(len(zstdFrame(t, sampleHeader))), Inner: int64(len(turnStart(0)) + 1)}, int64(len(line(1))),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := c.src
			var err error
			if src.Header, err = New().Identify(context.Background(), src.Root, src.Path); err != nil {
				t.Fatal(err)
			}
			_, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
			if err != nil {
				t.Fatal(err)
			}
			rest := c.known
			check := func() {
				t.Helper()
				want := []reader.Skip{{Place: c.place, Line: 3, Length: int64(len(bad)) + 1, Rest: rest, Reason: "the line is no JSON"}}
				if diff := cmp.Diff(want, tail.Skips); diff != "" {
					t.Fatalf("skips (-want +got):\n%s", diff)
				}
			}
			check()
			for i := range 20 {
				more := c.pack(line(i))
				if tail, err = grow(t, src, tail.Position, more); err != nil {
					t.Fatal(err)
				}
				rest += int64(len(line(i)))
				check()
				if tail.Bytes != int64(len(more)) {
					t.Errorf("%d bytes were parsed, %d are new", tail.Bytes, len(more))
				}
			}
			_, err = grow(t, src, tail.Position, c.pack(turnEnded(1)+"\n"))
			var p *reader.Problem
			if !errors.As(err, &p) || p.Line != 3 || p.Offset != c.place.Offset {
				t.Errorf("a turn ends behind the tear: %v", err)
			}
		})
	}
}

// What lies behind the last newline is counted, and looked at again once it is a line.
func TestUnfinishedLineBehindATear(t *testing.T) {
	src := rawLog(t, []byte(turnEnded(1)[:20]), turnStart(0), "noise", turnStart(7))
	src.Header, _ = New().Identify(context.Background(), src.Root, src.Path)
	_, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
	if want := int64(len(turnStart(7)) + 1 + 20); err != nil || tail.Skips[0].Rest != want {
		t.Fatalf("skips %+v, %v; want a rest of %d", tail.Skips, err, want)
	}
	if _, err := grow(t, src, tail.Position, []byte(turnEnded(1)[20:]+"\n")); !errors.Is(err, persistence) {
		t.Errorf("a turn ends behind the tear: %v", err)
	}
}

// A tear that the agent has mended is read over, even where the file is longer
// than it was.
func TestMendedTear(t *testing.T) {
	for _, packed := range []bool{false, true} {
		bad := []string{turnStart(0), "noise", turnStart(5)}
		good := []string{turnStart(0)}
		for i := range 50 {
			good = append(good, turnStart(i+1))
		}
		write := func(lines []string) reader.Source {
			if !packed {
				return rawLog(t, nil, lines...)
			}
			var frames []string
			for _, l := range lines {
				frames = append(frames, l+"\n")
			}
			return zstdLog(t, nil, frames...)
		}
		src, mended := write(bad), write(good)
		src.Header, _ = New().Identify(context.Background(), src.Root, src.Path)
		_, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
		if err != nil || len(tail.Skips) != 1 {
			t.Fatalf("skips %+v, %v", tail.Skips, err)
		}
		content, err := os.ReadFile(mended.Path)
		if err := errors.Join(err, os.WriteFile(src.Path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
		events, tail, err := readertest.ReadFrom(New(), src, tail.Position)
		if err != nil || len(events) != 50 || len(tail.Skips) > 0 {
			t.Errorf("packed %t: %d events, skips %+v, %v", packed, len(events), tail.Skips, err)
		}
	}
}

// However many frames are empty, they are passed over.
func TestEmptyFrames(t *testing.T) {
	empty := zstdFrame(t, "", zstd.WithZeroFrames(true))
	src := zstdLog(t, slices.Concat(slices.Repeat(empty, 20_000), zstdFrame(t, turnStart(1)+"\n")), turnStart(0)+"\n")
	events := mustRead(t, src)
	if len(events) != 2 {
		t.Fatalf("%d events", len(events))
	}
	raws := readWindow(t, src, session.Checkpoint{Seq: 1, Place: events[1].Place}, 1, 1)
	if len(raws) != 1 || string(raws[0].Native) != turnStart(1) {
		t.Errorf("the window holds %+v", raws)
	}
}
