package sqlite

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
)

// rounds is how often the tests of damage and of kills try. A minute's worth is 500.
var rounds = flag.Int("rounds", 20, "how often to damage and to kill")

// flipSeed chooses what is damaged: each run the same, unless another is asked for.
var flipSeed = flag.Uint64("flipseed", 62, "what the tests of damage begin their choice with")

// flipped is an index that is copied, damaged in one bit, and asked.
type flipped struct {
	t       *testing.T
	dir     string // the sound one; nothing has it open
	phrases [][]string
	want    []string
	age     time.Duration // of the shard when it is asked: 0, or long enough to be at rest
}

func newFlipped(t *testing.T) *flipped {
	f := &flipped{t: t, dir: t.TempDir()}
	x, err := Open(t.Context(), Options{Dir: f.dir})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, x, 61)
	for i := range 30 {
		w.bulk = []int{0, 0, 800}[i%3]
		w.step(30)
	}
	// A merge that is under way, and lists that are long enough for pieces.
	for i := range 6 {
		var common, texts []string
		for j := range 400 {
			common = append(common, fmt.Sprintf("common %x a%d", j*i*7919, j%3))
		}
		for range 90 {
			w.bulk = 4000
			texts = append(texts, w.text()+w.filling())
		}
		put(t, x, fmt.Sprint("common", i), append(common, texts...)...)
	}
	if states, _ := w.segments(); states[segmentLive] < 3 {
		t.Fatalf("segments %v", states)
	}
	f.phrases = [][]string{{"common"}, {"common", "0"}, {"a1"}, {"a"}, {"b", "a"}, {"absent"}, {"0"}, {"zzzz"}, {"日", "本"}}
	for range 40 {
		if p := w.phrase(); len(p) > 0 {
			f.phrases = append(f.phrases, p)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if f.want, err = f.ask(f.dir); err != nil || len(f.want) < 1000 {
		t.Fatalf("%d lines, %v", len(f.want), err)
	}
	return f
}

// ask puts all questions to an index, and reads a part of its texts.
func (f *flipped) ask(dir string) (said []string, err error) {
	x, err := Open(f.t.Context(), Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	defer x.Close()
	return f.askIndex(x)
}

func (f *flipped) askIndex(x *Index) (said []string, err error) {
	view, err := x.Snapshot(f.t.Context(), workspace)
	if err != nil || view == nil {
		return nil, err
	}
	defer view.Close()
	for _, p := range f.phrases {
		n := 0
		err := view.Match(f.t.Context(), p, nil, nil, func(r *query.Run) error {
			for i := range r.Docs {
				d, err := r.At(i)
				if err != nil {
					return err
				}
				said = append(said, fmt.Sprint(p, r.Doc(i), r.Counts[i], d.Tokens, d.Role, d.Points, d.Time, d.Seq, d.Type))
				if n++; n%40 == 1 {
					text, err := view.Text(f.t.Context(), d.Doc)
					if err != nil {
						return err
					}
					said = append(said, fmt.Sprint(d.Doc, text))
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		totals, err := view.Totals(f.t.Context(), p[:1])
		if err != nil {
			return nil, err
		}
		said = append(said, fmt.Sprint(p[:1], totals))
	}
	slices.Sort(said)
	return said, nil
}

// copied gives the sound index a new folder.
func (f *flipped) copied() string {
	dir := f.t.TempDir()
	err := os.CopyFS(dir, os.DirFS(f.dir))
	if err == nil {
		err = os.Chmod((&Index{dir: dir}).shardOf(workspace).path, fileMode)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return dir
}

// judge asks a damaged copy: it fails and says so, or gives the right answer.
// Deep says whether a check of everything finds the damage.
func (f *flipped) judge(dir, what string) (noticed bool) {
	f.t.Helper()
	aged(f.t, (&Index{dir: dir}).shardOf(workspace).path, f.age)
	got, err := f.ask(dir)
	if err != nil {
		if !errors.Is(err, ingest.ErrDamaged) {
			f.t.Errorf("%s: %v", what, err)
		}
		return true
	}
	if got == nil {
		return true // found on opening, and removed
	}
	if diff := cmp.Diff(f.want, got); diff != "" {
		f.t.Errorf("%s is taken for an answer (-sound +damaged):\n%.2000s", what, diff)
	}
	return false
}

// deep reports whether a check of everything finds something wrong.
func (f *flipped) deep(dir string) bool {
	f.t.Helper()
	x, err := Open(f.t.Context(), Options{Dir: dir})
	if err != nil {
		return true
	}
	defer x.Close()
	health, err := x.Check(f.t.Context(), true)
	if err != nil {
		f.t.Fatal(err)
	}
	return len(health.Shards) == 0 || health.Shards[0].Problem != ""
}

// TestFlippedBitsInRows flips one bit of a value of the index at a time. What is
// in a checksum's reach is noticed or asked by nobody, and always found by a deep check.
func TestFlippedBitsInRows(t *testing.T) {
	f := newFlipped(t)
	t.Logf("-flipseed %d", *flipSeed)
	random := rand.New(rand.NewPCG(1, *flipSeed))
	if f.deep(f.copied()) {
		t.Fatal("the sound index has a problem")
	}
	columns := []struct{ table, column string }{
		{"pieces", "data"}, {"pieces", "id"}, {"columns", "data"}, {"columns", "id"}, {"texts", "data"}, {"texts", "first"},
		{"segments", "runs"}, {"segments", "docs"}, {"segments", "dead"}, {"segments", "id"}, {"segments", "state"},
		{"terms", "first"}, {"terms", "piece"}, {"terms", "segment"},
	}
	noticed, flips := 0, 0
	for i := range 2 * *rounds {
		f.age = time.Duration(i%2) * time.Minute
		c := columns[i%len(columns)]
		dir := f.copied()
		what := flipValue(t, (&Index{dir: dir}).shardOf(workspace).path, c.table, c.column, random)
		if what == "" {
			continue
		}
		flips++
		if f.judge(dir, what) {
			noticed++
		} else if (i%5 == 0 || c.table == "terms") && !f.deep(dir) {
			t.Errorf("%s: a deep check finds nothing", what)
		}
		os.RemoveAll(dir)
	}
	t.Logf("%d of %d noticed", noticed, flips)
	if noticed < flips/4 {
		t.Errorf("only %d of %d flips were noticed", noticed, flips)
	}
}

// flipValue flips a bit of a random row's value and says which; "" if the value
// that comes of it is taken by another row.
func flipValue(t *testing.T, path, table, column string, random *rand.Rand) string {
	t.Helper()
	db, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if table == "segments" {
		table += " WHERE state = 0"
	}
	// Tables are damaged in one row each. A row of terms has no number, but leads to a piece that no other does.
	key := map[string]string{"terms": "piece"}[table]
	if key == "" {
		key = "rowid"
	}
	s, _, err := db.Prepare(fmt.Sprintf(`SELECT %s, %s FROM %s ORDER BY 1 LIMIT 1 OFFSET abs(?1) %% (SELECT count(*) FROM %s)`, key, column, table, table))
	if err == nil {
		err = s.BindInt64(1, random.Int64())
	}
	if err != nil {
		t.Fatal(err)
	}
	if !s.Step() {
		t.Fatalf("%s is empty", table)
	}
	isBlob := s.ColumnType(1) == sqlite3.BLOB
	blob, number, id := s.ColumnBlob(1, nil), s.ColumnInt64(1), s.ColumnInt64(0)
	s.Close()
	bit := 0
	if isBlob {
		if len(blob) == 0 {
			return ""
		}
		bit = random.IntN(8 * len(blob))
		blob[bit/8] ^= 1 << (bit % 8)
	} else {
		bit = random.IntN(12)
		number ^= 1 << bit
	}
	name0, _, _ := strings.Cut(table, " ")
	u, _, err := db.Prepare(fmt.Sprintf(`UPDATE OR IGNORE %s SET %s = ?1 WHERE %s = ?2`, name0, column, key))
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if isBlob {
		err = u.BindBlob(1, blob)
	} else {
		err = u.BindInt64(1, number)
	}
	if err = errors.Join(err, u.BindInt64(2, id), u.Exec()); err != nil {
		t.Fatal(err)
	}
	if db.Changes() == 0 {
		return ""
	}
	return fmt.Sprintf("bit %d of %s.%s in row %d %.40q", bit, name0, column, id, blob)
}

// TestRowsOfTermsThatAreLost takes the first, a middle and the last row of a
// segment's terms away, or moves it before or behind the others: a word of the
// block that it leads to is not said to be absent, with SQLite or without.
func TestRowsOfTermsThatAreLost(t *testing.T) {
	f := newFlipped(t)
	of := func(dir string) string { return (&Index{dir: dir}).shardOf(workspace).path }
	db, err := sqlite3.Open(of(f.dir))
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := db.Prepare(`SELECT piece, first FROM terms WHERE segment = (SELECT segment FROM terms JOIN segments ON id = segment AND state = 0 GROUP BY segment ORDER BY count(*) DESC LIMIT 1) ORDER BY first`)
	if err != nil {
		t.Fatal(err)
	}
	var pieces []int64
	var firsts []string
	for s.Step() {
		pieces, firsts = append(pieces, s.ColumnInt64(0)), append(firsts, s.ColumnText(1))
	}
	if err := errors.Join(s.Err(), s.Close(), db.Close()); err != nil || len(pieces) < 3 {
		t.Fatal(len(pieces), err)
	}
	for _, row := range []int{0, len(pieces) / 2, len(pieces) - 1} {
		for _, sql := range []string{
			`DELETE FROM terms WHERE piece = ?`, `UPDATE terms SET first = x'01' WHERE piece = ?`, `UPDATE terms SET first = x'ffffff' WHERE piece = ?`,
			`UPDATE terms SET segment = (SELECT min(id) FROM segments WHERE state = 0) - 1 WHERE piece = ?`,
		} {
			for _, age := range []time.Duration{0, time.Minute} {
				what := fmt.Sprintf("%s with row %d, %q, aged %v", sql, row, firsts[row], age)
				dir := f.copied()
				db, err := sqlite3.Open(of(dir))
				if err != nil {
					t.Fatal(err)
				}
				u, _, err := db.Prepare(sql)
				if err == nil {
					err = errors.Join(u.BindInt64(1, pieces[row]), u.Exec(), u.Close())
				}
				if err = errors.Join(err, db.Close()); err != nil {
					t.Fatal(err)
				}
				aged(t, of(dir), age)
				x := openAt(t, dir)
				view, err := x.Snapshot(t.Context(), workspace)
				if err != nil {
					t.Fatal(err)
				}
				before := x.Work().Stills
				err = view.Match(t.Context(), []string{firsts[row]}, nil, nil, func(*query.Run) error { return nil })
				if !errors.Is(err, ingest.ErrDamaged) {
					t.Errorf("%s: %v", what, err)
				}
				if resting := x.Work().Stills > before; resting != (age > 0) {
					t.Errorf("%s: read at rest: %v", what, resting)
				}
				view.Close()
				if err := x.Close(); err != nil {
					t.Fatal(err)
				}
				os.RemoveAll(dir)
			}
		}
	}
}

// TestFlippedBitsInFiles flips one bit of a shard's file at a time.
func TestFlippedBitsInFiles(t *testing.T) {
	f := newFlipped(t)
	t.Logf("-flipseed %d", *flipSeed)
	random := rand.New(rand.NewPCG(2, *flipSeed))
	rel, err := filepath.Rel(f.dir, (&Index{dir: f.dir}).shardOf(workspace).path)
	if err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(filepath.Join(f.dir, rel))
	if err != nil {
		t.Fatal(err)
	}
	noticed := 0
	for i := range 2 * *rounds {
		f.age = time.Duration(i%2) * time.Minute
		dir := f.copied()
		at := random.IntN(len(sound))
		bit := random.IntN(8)
		damaged := slices.Clone(sound)
		damaged[at] ^= 1 << bit
		if err := os.WriteFile(filepath.Join(dir, rel), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if f.judge(dir, fmt.Sprintf("bit %d of byte %d (page %d)", bit, at, at/pageSize+1)) {
			noticed++
		}
		os.RemoveAll(dir)
	}
	t.Logf("%d noticed", noticed)
}
