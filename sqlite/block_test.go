package sqlite

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// TestRecordLayout holds the bytes of version 5: files on disk have them.
func TestRecordLayout(t *testing.T) {
	r := record{
		seq: 0x0102030405, time: 0x1112131415, sameness: 0xfffefdfcfbfaf9f8, points: 0x21222324, tokens: 0x31323334, kind: 0x41424344, tool: 0x5152,
		role: query.RoleCall, flags: flagSurface | flagClipped,
	}
	want := []byte("\x05\x04\x03\x02\x01\x00\x00\x00" + "\x15\x14\x13\x12\x11\x00\x00\x00" + "\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xff" +
		"\x24\x23\x22\x21" + "\x34\x33\x32\x31" + "\x44\x43\x42\x41" + "\x04" + "\x05" + "\x52\x51")
	if got := r.append(nil); !bytes.Equal(got, want) {
		t.Errorf("% x\nwant\n% x", got, want)
	}
	got, err := decodeRecord(append(make([]byte, recordSize), want...), 1)
	if err != nil || got != r {
		t.Errorf("decoded %+v, %v", got, err)
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte("short"), int64(0))
	f.Add(make([]byte, 2*recordSize), int64(1))
	f.Add(make([]byte, 2*recordSize), int64(-1))
	f.Fuzz(func(t *testing.T, block []byte, at int64) {
		at %= 1 << 20
		r, err := decodeRecord(block, at)
		if inside := at >= 0 && (at+1)*recordSize <= int64(len(block)); inside != (err == nil) {
			t.Fatalf("record %d of %d bytes: %v", at, len(block), err)
		}
		if err != nil {
			return
		}
		written := block[at*recordSize:][:recordSize-2]
		if !bytes.Equal(r.append(nil)[:recordSize-2], written) {
			t.Errorf("% x is not written as it was read", written)
		}
	})
}

func TestTextBlock(t *testing.T) {
	first := query.NewDocID(3, 5)
	b := textBlock{first: first}
	texts := map[query.DocID]string{first: "one", first + 1: "x\x00y", first + 200: "far", first + 201: string(bytes.Repeat([]byte("long"), 9000))}
	for _, id := range []query.DocID{first, first + 1, first + 200, first + 201} {
		b.add(id, texts[id])
	}
	if !b.full(1) {
		t.Error("a block of 36 KB is not full")
	}
	for id := first - 1; id < first+210; id++ {
		if got, err := b.text(id); got != texts[id] || err != nil {
			t.Errorf("text %d = %.20q, %v", id, got, err)
		}
	}
	if err := b.cut(first + 150); err != nil {
		t.Fatal(err)
	}
	long := textBlock{first: first}
	long.add(first, string(make([]byte, blockBytes)))
	if !long.full(1) {
		t.Error("a block of 32 KB is not full")
	}
	want := textBlock{first: first}
	want.add(first, "one")
	want.add(first+1, "x\x00y")
	if diff := cmp.Diff(want.raw, b.raw); diff != "" {
		t.Error(diff)
	}
	if b.full(1) || b.full(60_000) || !b.full(70_000) {
		t.Error("a short block is full when a text makes it twice its size, and not before")
	}
}

func FuzzTextBlock(f *testing.F) {
	b := textBlock{first: query.NewDocID(1, 0)}
	b.add(b.first, "one")
	b.add(b.first+9, "two")
	f.Add(b.raw, uint8(9), false)
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, uint8(0), false)
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0}, uint8(0), true)
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<20))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte, at uint8, packed bool) {
		block := textBlock{first: query.NewDocID(1, 0), raw: raw}
		if packed {
			if block, err = unpack(dec, block.first, seal(int64(block.first), raw)); err != nil {
				return
			}
		}
		text, err := block.text(block.first + query.DocID(at))
		if err == nil && len(text) > len(block.raw) {
			t.Error("a text longer than its block")
		}
		before := len(block.raw)
		if err := block.cut(block.first + query.DocID(at)); err == nil && len(block.raw) > before {
			t.Error("a cut made the block longer")
		}
	})
}

// TestToolsBeyondTheLimitHaveNoName: a record holds a tool's number in two bytes.
func TestToolsBeyondTheLimitHaveNoName(t *testing.T) {
	x, err := OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	const limit = 65535
	err = x.Write(t.Context(), "/w", func(w ingest.Writer) error {
		s := &ingest.Stored{Source: "/log", Header: session.Header{Agent: session.DSH, ID: "s", Cwd: "/w"}, LastStep: -1}
		if err := w.Put(t.Context(), s); err != nil {
			return err
		}
		var b ingest.Batch
		for i := range int64(limit + 2) {
			b.Entries = append(b.Entries, ingest.Entry{Seq: i, Type: session.ToolCall, Tool: fmt.Sprint("tool", i)})
		}
		if err := w.Append(t.Context(), s.Num, &b); err != nil {
			return err
		}
		again := ingest.Batch{Entries: []ingest.Entry{
			{Seq: limit + 2, Type: session.ToolCall, Tool: "another"}, {Seq: limit + 3, Type: session.ToolCall, Tool: "tool7"}, {Seq: limit + 4, Type: session.UserMessage},
		}}
		return w.Append(t.Context(), s.Num, &again)
	})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := x.Snapshot(t.Context(), "/w")
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	for n, want := range map[int64]string{
		0: "tool0", limit - 1: fmt.Sprint("tool", limit-1), limit: "", limit + 1: "", limit + 2: "", limit + 3: "tool7", limit + 4: "",
	} {
		docs, err := snap.Documents(t.Context(), []query.DocID{query.NewDocID(1, n)})
		if err != nil || docs[0].Tool != want || docs[0].Type == "" {
			t.Errorf("document %d: %+v, %v; want %q", n, docs, err, want)
		}
	}
}
