package ingest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/session"
)

// batches keeps what it is handed.
type batches struct {
	Writer
	dear []int64
}

func (w *batches) Append(_ context.Context, _ int64, b *Batch) error {
	for _, c := range b.Checkpoints {
		if c.Dear {
			w.dear = append(w.dear, c.Seq)
		}
	}
	return nil
}

// Behind an event that turns the surface over, a checkpoint is dear; a result that
// takes another's place turns nothing over.
func TestDearCheckpoints(t *testing.T) {
	said := session.Op{Kind: session.OpAppend}
	w := &batches{}
	b := newBuilder(t.Context(), w, &Stored{Num: 1})
	for seq, e := range []session.Event{
		{Type: session.UserMessage, Op: said},
		{Type: session.ToolResult, Op: said, Body: session.Body{CallID: "c"}},
		{Type: session.ToolResult, Op: session.Op{Kind: session.OpReplace, Start: 1, End: 1}, Sources: []int64{1}, Body: session.Body{CallID: "c"}},
		{Type: session.UserMessage, Op: session.Op{Kind: session.OpReplace, Start: 0, End: 2}, Sources: []int64{0, 2}},
		{Type: "x/behind a compaction"},
		{Type: "x/rewind", Op: session.Op{Kind: session.OpSelect, Keep: -1, Nodes: []int64{0}}},
		{Type: session.UserMessage, Op: said},
		{Type: session.UserMessage, Op: said},
	} {
		e.Seq = int64(seq)
		if err := b.add(e); err != nil {
			t.Fatalf("event %d: %v", seq, err)
		}
	}
	if err := b.flush(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{4, 6}, w.dear); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
