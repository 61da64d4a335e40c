package sqlite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// holding names the files of an index that hold a byte sequence.
func holding(t *testing.T, dir, needle string) (names []string) {
	t.Helper()
	for name, info := range files(t, dir) {
		if !info.Mode().IsRegular() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(needle)) {
			names = append(names, name)
		}
	}
	return names
}

// secret adds a session whose title, header and texts hold words of their own.
// The first text is too short to be packed, so it would be readable as it is.
func secret(t *testing.T, x *Index) int64 {
	t.Helper()
	title := "zztitle of it"
	st := ingest.Stored{Source: "/logs/zzsource", Header: session.Header{ID: "zzheader"}, Title: &title}
	err := x.Write(t.Context(), workspace, func(w ingest.Writer) error {
		if err := w.Put(t.Context(), &st); err != nil {
			return err
		}
		return w.Append(t.Context(), st.Num, batch(0, "zztoken1", "zztoken2 "+strings.Repeat("zzmore ", 300)))
	})
	if err != nil {
		t.Fatal(err)
	}
	return st.Num
}

var words = []string{"zzt", "zzmore", "zzheader", "zzsource"}

func TestPurgeLeavesNothing(t *testing.T) {
	for _, others := range []int{0, 1, 40} {
		t.Run(fmt.Sprint(others, " others"), func(t *testing.T) {
			x := openAt(t, t.TempDir())
			for i := range others {
				put(t, x, fmt.Sprint("other", i), strings.Repeat(fmt.Sprintf("words%d of %d others ", i, i*7), 200))
			}
			num := secret(t, x)
			for i := range others / 2 {
				put(t, x, fmt.Sprint("later", i), strings.Repeat(fmt.Sprintf("later%d ", i), 200))
			}
			for _, word := range words[:1] {
				if holding(t, x.dir, word) == nil {
					t.Fatalf("%q is nowhere to begin with", word)
				}
			}
			remove := func(w ingest.Writer) error { return w.Delete(t.Context(), num) }
			if err := x.Write(t.Context(), workspace, remove); err != nil {
				t.Fatal(err)
			}
			if health, err := x.Check(t.Context(), false); err != nil || !health.Shards[0].PurgeDue {
				t.Errorf("Check = %+v, %v", health, err)
			}
			if done, err := x.Purge(t.Context(), workspace); !done || err != nil {
				t.Fatalf("Purge = %v, %v", done, err)
			}
			for _, word := range words {
				if names := holding(t, x.dir, word); names != nil {
					t.Errorf("%q is left in %v", word, names)
				}
			}
			if got := hits(t, x, "others"); got != others {
				t.Errorf("%d others found, want %d", got, others)
			}
			health, err := x.Check(t.Context(), true)
			if err != nil || health.Shards[0].PurgeDue || health.Shards[0].Problem != "" {
				t.Errorf("Check = %+v, %v", health, err)
			}
			before := x.Work().Rows
			if done, err := x.Purge(t.Context(), workspace); !done || err != nil || x.Work().Rows != before {
				t.Errorf("the second Purge = %v, %v", done, err)
			}
		})
	}
}

func TestPurgeUnderAReader(t *testing.T) {
	x := openAt(t, t.TempDir())
	y, err := Open(t.Context(), Options{Dir: x.dir, BusyTimeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	num := secret(t, x)
	put(t, x, "other", "stays")
	view, err := x.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	if err := y.Write(t.Context(), workspace, func(w ingest.Writer) error { return w.Delete(t.Context(), num) }); err != nil {
		t.Fatal(err)
	}
	if done, err := y.Purge(t.Context(), workspace); done || err != nil {
		t.Errorf("Purge = %v, %v, with a snapshot that still needs the text", done, err)
	}
	if text, err := view.Text(t.Context(), query.NewDocID(num, 0)); text != "zztoken1" || err != nil {
		t.Errorf("the snapshot's text = %q, %v", text, err)
	}
	view.Close()
	if done, err := y.Purge(t.Context(), workspace); !done || err != nil {
		t.Errorf("Purge = %v, %v", done, err)
	}
	for _, word := range words {
		if names := holding(t, x.dir, word); names != nil {
			t.Errorf("%q is left in %v", word, names)
		}
	}
}

// TestWorkOfAnAppend holds the promise that an append writes for what is new
// and not for what is there.
func TestWorkOfAnAppend(t *testing.T) {
	x := openAt(t, t.TempDir())
	const long = 100_000
	texts := make([]string, long)
	for i := range texts {
		texts[i] = fmt.Sprint("word", i%97, " x")
	}
	num := put(t, x, "long", texts...)
	var rows, statements []int64
	for i := range int64(50) {
		before := x.Work()
		b := batch(long+3*i, "one more", "and another", "sum of it")
		b.Entries[2].Order = defaultOrder(5 * i)
		b.Removals = []ingest.Removal{{By: long + 3*i + 2, Seqs: []int64{5 * i, 5*i + 1, 5*i + 2}}}
		b.Citations = []ingest.Citation{{By: long + 3*i + 2, Sources: []int64{5 * i, 5*i + 1, 5*i + 2}}}
		b.Checkpoints = []session.Checkpoint{{Seq: long + 3*i, Place: session.Place{Offset: 100 * i}}}
		err := x.Write(t.Context(), workspace, func(w ingest.Writer) error {
			if err := w.Append(t.Context(), num, b); err != nil {
				return err
			}
			return w.Put(t.Context(), &ingest.Stored{Num: num, Source: "s", Events: long + 3*i + 3})
		})
		if err != nil {
			t.Fatal(err)
		}
		after := x.Work()
		rows = append(rows, after.Rows-before.Rows)
		statements = append(statements, after.Statements-before.Statements)
	}
	// Now and then the full-text index merges segments, a bounded piece at a time.
	slices.Sort(rows)
	slices.Sort(statements)
	t.Logf("rows %v, statements %v", rows, statements)
	if rows[len(rows)/2] > 40 || rows[len(rows)*9/10] > 120 || rows[len(rows)-1] > 1000 || statements[len(statements)-1] > 160 {
		t.Errorf("appends of three documents to %d wrote %d rows, with %d statements", long, rows, statements)
	}
	if got := hits(t, x, "sum"); got != 50 {
		t.Errorf("%d hits", got)
	}
}

// TestOneFlush holds that the documents of a transaction are gathered into one
// segment, whatever is written between them.
func TestOneFlush(t *testing.T) {
	x := openAt(t, t.TempDir())
	put(t, x, "first", "text")
	before := x.Work()
	const sessions = 50
	err := x.Write(t.Context(), workspace, func(w ingest.Writer) error {
		for i := range int64(sessions) {
			st := ingest.Stored{Source: fmt.Sprint(i)}
			if err := w.Put(t.Context(), &st); err != nil {
				return err
			}
			b := batch(0, fmt.Sprint("alpha", i), "beta", "gamma")
			b.Entries[2].Order = 0
			b.Removals = []ingest.Removal{{By: 2, Seqs: []int64{0, 1}}}
			b.Citations = []ingest.Citation{{By: 2, Sources: []int64{0, 1}}}
			b.Checkpoints = []session.Checkpoint{{Seq: 0, Place: session.Place{Offset: 1}}}
			if err := w.Append(t.Context(), st.Num, b); err != nil {
				return err
			}
			st.Events = 3
			if err := w.Put(t.Context(), &st); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// Each session is put twice, counted once and given a number; it has a row in
	// records, texts, orders, removed, shadow, citations and checkpoints. The
	// documents of all are one segment.
	const own = 4 + 7
	if rows := x.Work().Rows - before.Rows; rows < own*sessions || rows > own*sessions+50 {
		t.Errorf("%d rows for %d sessions, want %d and a few", rows, sessions, own*sessions)
	}
}
