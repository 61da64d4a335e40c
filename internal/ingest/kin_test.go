package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/session"
)

// at is a record said at some second; rows of many sessions need more than an hour.
func (f *family) at(id, uuid, parent string, second int) string {
	p := "null"
	if parent != "" {
		p = fmt.Sprintf("%q", parent)
	}
	when := time.Date(2026, 11, 1, 10, 0, second, 0, time.UTC).Format("2006-01-02T15:04:05.000Z")
	return fmt.Sprintf(`{"type":"user","uuid":%q,"parentUuid":%s,"isSidechain":false,"sessionId":%q,"timestamp":%q,"cwd":%q,"version":"2.1.332","message":{"role":"user","content":"words of %s zephyr"}}`+"\n",
		uuid, p, id, when, workspace, uuid)
}

// begun is a log that begins like all others of a large family; one of its own
// records comes last unless it has none.
func (f *family) begun(id string, second int, own bool) string {
	text := f.at(id, "r0", "", 0) + f.at(id, "r1", "r0", 1)
	if own {
		text += f.at(id, "own-"+id, "r1", second)
	}
	return text
}

// TestManyLogsOfOneRecord: what a look at logs that all begin alike costs grows
// with their number, whether they have something of their own or not; logs that
// have nothing in common cost less still.
func TestManyLogsOfOneRecord(t *testing.T) {
	cost := func(n int, log func(f *family, i int) string) (compared, statements, rows int64) {
		f := newFamily(t, 1)
		for i := range n {
			f.put(0, fmt.Sprintf("s%03d", i), log(f, i))
		}
		f.refresh()
		w := f.index.Work()
		return f.in.Work().Compared, w.Statements, w.Rows
	}
	for name, log := range map[string]func(f *family, i int) string{
		"the same":           func(f *family, i int) string { return f.at(fmt.Sprintf("s%03d", i), "r0", "", 0) },
		"the same beginning": func(f *family, i int) string { return f.begun(fmt.Sprintf("s%03d", i), 10+i, true) },
		"nothing alike":      func(f *family, i int) string { return f.at(fmt.Sprintf("s%03d", i), fmt.Sprint("r", i), "", i) },
	} {
		compared, statements, rows := cost(100, log)
		compared4, statements4, rows4 := cost(400, log)
		t.Logf("%s: of 100 and 400 logs %d and %d are compared, %d and %d statements run, %d and %d rows written",
			name, compared, compared4, statements, statements4, rows, rows4)
		// The first few of a family are compared with each other at once, and 64 logs
		// are looked at before the rest is.
		if compared4-compared > 300+64 || statements4 > 4*statements+400 || rows4 > 4*rows+400 {
			t.Errorf("%s: it grows faster than the number of logs", name)
		}
	}
}

// TestALargeFamily has a session that is forked more often than is related at
// once: however its logs arrive, who was first is the parent of all.
func TestALargeFamily(t *testing.T) {
	const forks = 80
	want := map[string]string{"origin": " 0"}
	for i := range forks {
		want[fmt.Sprintf("f%02d", i)] = "origin 2"
	}
	for name, every := range map[string]int{"at once": 0, "in parts": 25} {
		t.Run(name, func(t *testing.T) {
			f := newFamily(t, 1)
			for i := range forks {
				f.put(0, fmt.Sprintf("f%02d", i), f.begun(fmt.Sprintf("f%02d", i), 100+i, true))
				if every > 0 && i%every == every-1 {
					f.refresh()
				}
				if i == 40 {
					f.put(0, "origin", f.begun("origin", 10, true))
				}
			}
			if diff := cmp.Diff(want, f.parents()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for id, list := range owners(t, f) {
				if len(list) != 1 {
					t.Errorf("%s is %v's own", id, list)
				}
			}
			// Another look has nothing to compare.
			compared := f.in.Work().Compared
			f.refresh()
			if n := f.in.Work().Compared - compared; n != 0 {
				t.Errorf("a look at what is unchanged compares %d logs", n)
			}
			// The origin goes: the earliest of the others is the one that all come from.
			if err := os.Remove(filepath.Join(f.roots[0], "-w-one", "origin.jsonl")); err != nil {
				t.Fatal(err)
			}
			left := map[string]string{"f00": " 0"}
			for i := range forks - 1 {
				left[fmt.Sprintf("f%02d", i+1)] = "f00 2"
			}
			if diff := cmp.Diff(left, f.parents()); diff != "" {
				t.Errorf("without its origin (-want +got):\n%s", diff)
			}
		})
	}
}

// blunt fails the writing of a shard from some transaction on.
type blunt struct {
	ingest.Shards
	left int
}

var errBlunt = errors.New("killed")

func (b *blunt) Write(ctx context.Context, workspace string, work func(ingest.Writer) error) error {
	if b.left--; b.left < 0 {
		return errBlunt
	}
	return b.Shards.Write(ctx, workspace, work)
}

// TestALargeFamilyIsInterrupted ends a look between any two transactions: the
// next one makes of the family what a new index would.
func TestALargeFamilyIsInterrupted(t *testing.T) {
	f := newFamily(t, 1)
	f.put(0, "origin", f.begun("origin", 10, true))
	for i := range 60 {
		f.put(0, fmt.Sprintf("f%02d", i), f.begun(fmt.Sprintf("f%02d", i), 100+i, i%3 > 0))
	}
	want := f.fresh()
	whole := f.in
	for n := range 8 {
		f.put(0, fmt.Sprintf("g%d", n), f.begun(fmt.Sprintf("g%d", n), 200+n, true))
		want[fmt.Sprintf("g%d", n)] = "origin 2"
		o := whole.Options
		o.Shards = &blunt{f.index, n}
		f.in = ingest.New(o)
		_, err := f.in.Refresh(t.Context(), session.Scope{Workspaces: []string{workspace}}, nil)
		if err != nil && !errors.Is(err, errBlunt) {
			t.Fatal(err)
		}
		f.in = whole
		if diff := cmp.Diff(want, f.parents()); diff != "" {
			t.Fatalf("ended after %d transactions (%v) (-want +got):\n%s", n, err, diff)
		}
	}
}
