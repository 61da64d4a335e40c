package readertest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Bomb returns a zstd frame that holds a text, one character 131,072 times for each
// of so many blocks of four bytes (RFC 8878, 3.1.1.2: RLE blocks), and another text.
func Bomb(before string, blocks int, of byte, after string) []byte {
	frame := []byte{0x28, 0xB5, 0x2F, 0xFD, 0, 0x50} // no checksum, no size; a window of 1 MiB
	raw := func(text string, last byte) {
		frame = append(frame, byte(len(text)<<3)|last, byte(len(text)>>5), byte(len(text)>>13))
		frame = append(frame, text...)
	}
	raw(before, 0)
	for range blocks {
		frame = append(frame, 1<<1, 0, 0x10, of) // 131,072 << 3
	}
	raw(after, 1)
	return frame
}

// BombBlocks are enough of them for more text than logs of any size may hold.
const BombBlocks = 2_300

// Inflated checks what a reader makes of a compressed log behind whose events
// there is far more text than there can be: they are served, in bounded memory, and
// what is wrong is said.
func Inflated(t *testing.T, r reader.Reader, src reader.Source, want []session.Event) {
	t.Helper()
	var got []session.Event
	var tail reader.Tail
	err := soon(t, "a bomb", room, func(ctx context.Context) (err error) {
		_, _ = r.Identify(ctx, src.Root, src.Path)
		tail, err = r.Read(ctx, src, reader.Position{}, func(e session.Event) error {
			e.Resume, e.Breaks = "", false
			got = append(got, e)
			return nil
		})
		return err
	})
	if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" {
		t.Errorf("before the bomb (-want +got):\n%s", diff)
	}
	var p *reader.Problem
	said := errors.As(err, &p) && p.Reason == reader.ErrInflated.Error() ||
		slices.ContainsFunc(tail.Skips, func(s reader.Skip) bool { return s.Reason == reader.ErrInflated.Error() })
	if !said {
		t.Errorf("nobody says what is wrong: %v, %+v", err, tail.Skips)
	}
}
