package archive_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/reader/readertest"
)

// marked is a frame with its mark.
func marked(frame []byte) []byte {
	out := []byte{0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0}
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(frame))), frame...)
}

// A frame that stands for far more text than its size allows, in a file and in a
// segment that somebody sends.
func TestBomb(t *testing.T) {
	sound := file(t, plainLine, `{"seq":0,"type":"user/message","time":1,"op":"append"}`+"\n"+`{"native":"x"}`+"\n")
	want, _, err := readertest.ReadFrom(archive.New(), at(t, sound), reader.Position{})
	if err != nil || len(want) != 1 {
		t.Fatal(len(want), err)
	}
	bomb := append(sound[:len(sound):len(sound)], marked(readertest.Bomb("", readertest.BombBlocks, 'x', "\n"))...)
	readertest.Inflated(t, archive.New(), at(t, bomb), want)
	readertest.Inflated(t, archive.New(), at(t, append(file(t, plainLine), marked(readertest.Bomb("", readertest.BombBlocks, 'x', "\n"))...)), nil)

	// No larger than a server takes them: 8 MiB, which stand for 256 GiB.
	sent := append(sound[:len(sound):len(sound)], marked(readertest.Bomb("", 2<<20, 'x', "\n"))...)
	begin, pieces := time.Now(), 0
	_, next, err := archive.Decode(context.Background(), sent, 0, 256<<20, func(archive.Piece) error { pieces++; return nil })
	if !errors.Is(err, fault.Persistence) || next != 1 || pieces != 1 {
		t.Errorf("a segment: %d pieces up to %d, %v", pieces, next, err)
	}
	if took := time.Since(begin); took > 30*time.Second { // without a bound, a minute and more
		t.Errorf("a segment took %v", took)
	}
}
