package claude

import (
	"context"
	"testing"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// BenchmarkRead reads a log of some 50 MB at once.
func BenchmarkRead(b *testing.B) {
	text := talk(20000)
	src := project(b, text)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		events := 0
		_, err := New().Read(context.Background(), src, reader.Position{}, func(session.Event) error { events++; return nil })
		if err != nil || events == 0 {
			b.Fatal(events, err)
		}
	}
}

// BenchmarkWindowFromMark reads the last event of the same log exactly, from the
// checkpoint before it.
func BenchmarkWindowFromMark(b *testing.B) {
	src := project(b, talk(20000))
	at := readertest.Checkpoints(b, New(), src)(119999)
	for b.Loop() {
		found := 0
		_, err := New().Window(context.Background(), src, at, 119999, 119999, session.Every(), func(session.Raw) error { found++; return nil })
		if err != nil || found != 1 {
			b.Fatal(found, err)
		}
	}
}

// BenchmarkWindow reads the last event of the same log exactly, from its start.
func BenchmarkWindow(b *testing.B) {
	text := talk(20000)
	src := project(b, text)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		found := 0
		_, err := New().Window(context.Background(), src, session.Checkpoint{}, 119999, 119999, session.Every(), func(session.Raw) error { found++; return nil })
		if err != nil || found != 1 {
			b.Fatal(found, err)
		}
	}
}
