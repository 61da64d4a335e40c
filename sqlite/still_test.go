package sqlite

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
)

// aged sets how long ago a shard seems to have been written to. What was written
// just now, or will be, is not at rest.
func aged(t *testing.T, path string, age time.Duration) {
	t.Helper()
	at := time.Now().Add(-age)
	if age == 0 {
		at = at.Add(time.Hour) // however slow the test is
	}
	if err := os.Chtimes(path, at, at); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// The layouts that rows are read by without SQLite are the tables' own.
func TestLayoutsAreOfTheSchema(t *testing.T) {
	x := openAt(t, t.TempDir())
	put(t, x, "one", "zephyr")
	c, err := x.acquire(t.Context(), x.shardOf(workspace), false)
	if err != nil {
		t.Fatal(err)
	}
	defer x.release(c)
	tables := 0
	for table, layout := range shardTables {
		var want, got []string
		rowid := ""
		err := c.rowsOf(t.Context(), `SELECT name, pk, type, (SELECT wr FROM pragma_table_list(?1)), (SELECT sum(pk > 0) FROM pragma_table_info(?1)) FROM pragma_table_info(?1) ORDER BY cid`, func(r row) error {
			want = append(want, r.text(0))
			if r.int(1) == 1 && r.text(2) == "INTEGER" && !r.bool(3) && r.int(4) == 1 {
				rowid = r.text(0)
			}
			return nil
		}, table)
		if err != nil {
			t.Fatal(err)
		}
		for i := range layout.count {
			for name, field := range layout.columns {
				if field == i || field < 0 && len(want) > i && want[i] == name {
					got = append(got, name)
				}
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: (-SQLite +here)\n%s", table, d)
		}
		if rowid != "" && layout.columns[rowid] != -1 {
			t.Errorf("%s: %s is the row's number", table, rowid)
		}
		tables++
	}
	if tables < 10 || shardTables["sessions"].count < 40 {
		t.Errorf("%d tables, %+v", tables, shardTables["sessions"])
	}
}

// asked is everything that a search may ask of a shard.
func asked(t *testing.T, x *Index, f *flipped) (said []string) {
	t.Helper()
	said, err := f.askIndex(x)
	if err != nil {
		t.Fatal(err)
	}
	glances, err := x.Glances(t.Context(), workspace, nil)
	if err != nil {
		t.Fatal(err)
	}
	view, err := x.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	rows, err := view.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rows {
		states, err := view.Log(r.Num).States(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		title := "none"
		if r.Title != nil {
			title = *r.Title
		}
		r.Title = nil
		said = append(said, fmt.Sprintf("%+v %s %+v %v", r, title, glances[i], states))
	}
	words, err := view.(*snapshot).Complete(t.Context(), "r")
	if err != nil || len(words) < 10 {
		t.Fatal(len(words), err)
	}
	return append(said, fmt.Sprint(view.Generation(), words))
}

// A shard at rest is answered from without a connection to it, and as SQLite
// answers; one that is not at rest, or has something in its log, by SQLite.
func TestAShardAtRestIsReadWithoutSQLiteAndAlike(t *testing.T) {
	f := newFlipped(t)
	// Sessions some of whose events replaced others.
	maker := openAt(t, f.dir)
	for i := range int64(40) {
		num := put(t, maker, fmt.Sprint("replacing", i), "zephyr", "b", "c", "d", "e")
		err := maker.Write(t.Context(), workspace, func(w ingest.Writer) error {
			b := batch(5, "summary")
			b.Removals = []ingest.Removal{{By: 5, Seqs: []int64{1 + i%2, 3}}}
			return w.Append(t.Context(), num, b)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := maker.Close(); err != nil {
		t.Fatal(err)
	}
	var said [2][]string
	for i, age := range []time.Duration{0, time.Minute} {
		dir := f.copied()
		aged(t, (&Index{dir: dir}).shardOf(workspace).path, age)
		x := openAt(t, dir)
		before := x.Work()
		said[i] = asked(t, x, f)
		w := x.Work()
		if resting := w.Connections == before.Connections && w.Statements == before.Statements; resting != (age > 0) {
			t.Errorf("aged %v: %d connections, %d statements", age, w.Connections-before.Connections, w.Statements-before.Statements)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(said[0], said[1]); d != "" {
		t.Errorf("(-by SQLite +at rest)\n%s", d)
	}
	if !slices.ContainsFunc(said[1], func(s string) bool {
		return strings.HasSuffix(s, "[{2 2 5} {3 3 5}]") || strings.HasSuffix(s, "[{2 3 5}]")
	}) {
		t.Error("no session has events that were replaced")
	}
	dir := f.copied()
	path := (&Index{dir: dir}).shardOf(workspace).path
	aged(t, path, time.Minute)
	if err := os.WriteFile(path+"-wal", []byte("something"), 0o600); err != nil {
		t.Fatal(err)
	}
	aged(t, path+"-wal", time.Minute)
	x := openAt(t, dir)
	before := x.Work()
	if view, err := x.Snapshot(t.Context(), workspace); err != nil {
		t.Error(err)
	} else {
		view.Close()
	}
	if x.Work().Connections == before.Connections {
		t.Error("a log with something in it was not looked into")
	}
}

// A write in the midst of reading a shard at rest is noticed: what is read then
// is what was there before, or the view says that it moved.
func TestAWriteWhileAShardAtRestIsRead(t *testing.T) {
	for _, when := range []string{"before the dictionary", "within a list"} {
		t.Run(when, func(t *testing.T) {
			dir := t.TempDir()
			x := openAt(t, dir)
			var texts []string
			for i := range 3000 {
				texts = append(texts, fmt.Sprintf("zephyr %d", i))
			}
			put(t, x, "one", texts...)
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			aged(t, (&Index{dir: dir}).shardOf(workspace).path, time.Minute)
			y := openAt(t, dir)
			view, err := y.Snapshot(t.Context(), workspace)
			if err != nil {
				t.Fatal(err)
			}
			defer view.Close()
			if y.Work().Stills == 0 {
				t.Fatal("the shard is not at rest")
			}
			write := func() {
				z, err := Open(t.Context(), Options{Dir: dir})
				if err != nil {
					t.Fatal(err)
				}
				for i := range 20 { // merges move and remove what was there
					put(t, z, fmt.Sprint("two", i), texts[:300]...)
				}
				if _, err := z.Purge(t.Context(), workspace); err != nil {
					t.Fatal(err)
				}
				if err := z.Close(); err != nil { // the log goes into the file
					t.Fatal(err)
				}
			}
			if when == "before the dictionary" {
				write()
			}
			found, wrote := map[query.DocID]bool{}, false
			err = view.Match(t.Context(), []string{"zephyr"}, nil, nil, func(r *query.Run) error {
				for i := range r.Docs {
					found[r.Doc(i)] = true
				}
				if !wrote && when == "within a list" {
					wrote = true
					write()
				}
				return nil
			})
			switch {
			case errors.Is(err, query.ErrMoved):
			case err != nil:
				t.Error(err)
			case len(found) != len(texts):
				t.Errorf("%d documents, want %d or word that the shard moved", len(found), len(texts))
			}
			text, err := view.Text(t.Context(), query.NewDocID(1, 17))
			if !errors.Is(err, query.ErrMoved) && (err != nil || text != texts[17]) {
				t.Error(text, err)
			}
		})
	}
}
