package storetest

import (
	"fmt"
	"testing"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

func testGeneration(t *testing.T, s Store) {
	num := begin(t, s, "one")
	seen := map[uint64]string{}
	step := func(what string, change func()) {
		t.Helper()
		if change != nil {
			change()
		}
		looking(t, s, func(view query.Snapshot) {
			if earlier, ok := seen[view.Generation()]; ok {
				t.Errorf("the generation after %q is that after %q", what, earlier)
			}
			seen[view.Generation()] = what
		})
	}
	step("begin", nil)
	step("append", func() { appendBatch(t, s, num, ingest.Batch{Entries: []ingest.Entry{talk(0, "x")}}) })
	step("put", func() { begin(t, s, "two") })
	step("clear", func() { write(t, s, func(w ingest.Writer) error { return w.Clear(t.Context(), num) }) })
	step("delete", func() { write(t, s, func(w ingest.Writer) error { return w.Delete(t.Context(), num) }) })
	a, b := snapshot(t, s), snapshot(t, s)
	same(t, "two looks", a.Generation(), b.Generation())
	write(t, s, func(ingest.Writer) error { return nil })
	same(t, "after a transaction that changed nothing", snapshot(t, s).Generation(), a.Generation())
}

func testSnapshotStays(t *testing.T, s Store) {
	num := begin(t, s, "one")
	appendBatch(t, s, num, ingest.Batch{Entries: []ingest.Entry{talk(0, "early bird"), talk(1, "early worm")}})
	view := snapshot(t, s)
	generation := view.Generation()
	appendBatch(t, s, num, ingest.Batch{Entries: []ingest.Entry{talk(2, "early sum")}, Removals: []ingest.Removal{{By: 2, Seqs: []int64{0}}}})
	begin(t, s, "two")
	same(t, "surface", must[[]int64](t)(view.Log(num).Surface(t.Context())), []int64{0, 1})
	write(t, s, func(w ingest.Writer) error { return w.Delete(t.Context(), num) })
	same(t, "generation", view.Generation(), generation)
	same(t, "matches", len(must[[]query.Posting](t)(query.Collect(t.Context(), view, []string{"early"}, nil))), 2)
	same(t, "states", must[[]query.Shadow](t)(view.Log(num).States(t.Context())), []query.Shadow(nil))
	same(t, "sessions", len(must[[]query.Row](t)(view.Sessions(t.Context()))), 1)
	same(t, "text", must[string](t)(view.Text(t.Context(), query.NewDocID(num, 1))), "early worm")
	same(t, "documents", len(must[[]query.Document](t)(view.Documents(t.Context(), []query.DocID{query.NewDocID(num, 0)}))), 1)
	same(t, "later", len(must[[]query.Row](t)(snapshot(t, s).Sessions(t.Context()))), 1)
}

func testWorkspaces(t *testing.T, s Store) {
	names := []string{home, "", "/", home + "/", "/odd \x00 name", `C:\work`}
	for i, w := range names {
		h := header("same id")
		h.Cwd = w
		err := s.Write(t.Context(), w, func(tx ingest.Writer) error {
			st := ingest.Stored{Source: fmt.Sprint(i), Header: h}
			if err := tx.Put(t.Context(), &st); err != nil {
				return err
			}
			return tx.Append(t.Context(), st.Num, &ingest.Batch{Entries: []ingest.Entry{talk(0, "word")}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	same(t, "workspaces", must[[]string](t)(s.Workspaces(t.Context())), []string{"", "/", home, home + "/", "/odd \x00 name", `C:\work`})
	for i, w := range names {
		all := must[[]ingest.Stored](t)(s.Peek(t.Context(), w, ingest.StoredLookup{}))
		if len(all) != 1 || all[0].Source != fmt.Sprint(i) || all[0].Header.Cwd != w {
			t.Errorf("workspace %q holds %v", w, all)
		}
		view := must[query.Snapshot](t)(s.Snapshot(t.Context(), w))
		same(t, "matches", len(must[[]query.Posting](t)(query.Collect(t.Context(), view, []string{"word"}, nil))), 1)
		view.Close()
	}
}

// testHolders asks for records by their own ids among sessions of more than one
// block, cleared ones included.
func testHolders(t *testing.T, s Store) {
	var nums []int64
	for i := range 4 {
		num := begin(t, s, fmt.Sprintf("s%d", i))
		nums = append(nums, num)
		var b ingest.Batch
		for seq := range int64(150) {
			e := ingest.Entry{Seq: seq, Type: session.UserMessage, Text: "word", Native: uint64(1000*i) + uint64(seq) + 1}
			if seq == 140 {
				e.Native = 77_777 // all have it
			}
			if seq == 120 {
				e.Sameness = 55_555 // takes the place of its Native
			}
			b.Entries = append(b.Entries, e)
		}
		appendBatch(t, s, num, b)
	}
	write(t, s, func(w ingest.Writer) error {
		if err := w.Clear(t.Context(), nums[1]); err != nil {
			return err
		}
		got, err := w.Holders(t.Context(), []uint64{1, 77_777, 2021, 1021, 3121, 999_999, 55_555})
		same(t, "Holders", got, []ingest.Holder{
			{Num: nums[0], Native: 1}, {Num: nums[0], Native: 77_777}, {Num: nums[2], Native: 2021}, {Num: nums[2], Native: 77_777},
			{Num: nums[3], Native: 77_777},
		})
		return err
	})
	write(t, s, func(w ingest.Writer) error {
		got, err := w.Holders(t.Context(), nil)
		if len(got) != 0 {
			t.Errorf("no natives have the holders %v", got)
		}
		return err
	})
}
