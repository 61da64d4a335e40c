package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/query"
)

// fullText is SQLite's own full-text index over the same documents: a second
// opinion on what holds a phrase, and how often.
type fullText struct {
	t     testing.TB
	db    *sqlite3.Conn
	found []query.Posting
	size  int // tokens of the phrase that is asked for
}

func newFullText(t testing.TB) *fullText {
	t.Helper()
	db, err := sqlite3.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	f := &fullText{t: t, db: db}
	t.Cleanup(func() { db.Close() })
	err = fts5.RegisterCustom(db, func(a *fts5.API) error { return a.CreateFunction("collect", f.collect) })
	if err == nil {
		err = db.Exec(`CREATE VIRTUAL TABLE f USING fts5(t, content='', contentless_delete=1, detail=full, tokenize='ascii')`)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// collect notes a row with its spans: instances that overlap are one.
func (f *fullText) collect(fts fts5.Context, ctx sqlite3.Context, _ ...sqlite3.Value) {
	n, err := fts.InstCount()
	var starts []int
	for i := 0; i < n && err == nil; i++ {
		var at int
		_, _, at, err = fts.Inst(i)
		starts = append(starts, at)
	}
	if err != nil {
		ctx.ResultError(err)
		return
	}
	slices.Sort(starts)
	count, end := int32(0), 0
	for _, at := range starts {
		if at >= end {
			count++
		}
		end = at + f.size
	}
	f.found = append(f.found, query.Posting{Doc: query.DocID(fts.RowID()), Count: count})
	ctx.ResultNull()
}

func (f *fullText) exec(sql string, args ...any) {
	f.t.Helper()
	s, _, err := f.db.Prepare(sql)
	if err != nil {
		f.t.Fatal(err)
	}
	for i, a := range args {
		if err := bind(s, i+1, a); err != nil {
			f.t.Fatal(err)
		}
	}
	for s.Step() {
	}
	if err := s.Close(); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fullText) add(id query.DocID, text string) {
	f.t.Helper()
	if folded, n := document.AppendFolded(nil, text); n > 0 {
		f.exec(`INSERT INTO f (rowid, t) VALUES (?, ?)`, int64(id), string(folded))
	}
}

// cut removes documents of a session from one on.
func (f *fullText) cut(from query.DocID) {
	f.t.Helper()
	f.exec(`DELETE FROM f WHERE rowid BETWEEN ? AND ?`, int64(from), int64(query.SpanOf(from.Session()).To))
}

// match returns the documents that hold a phrase within spans (nil: everywhere), ascending.
func (f *fullText) match(phrase []string, within []query.Span) []query.Posting {
	f.t.Helper()
	f.found, f.size = nil, len(phrase)
	f.exec(`SELECT 1 FROM f WHERE f MATCH ? AND collect(f)`, `"`+strings.Join(phrase, " ")+`"`)
	found := slices.DeleteFunc(f.found, func(p query.Posting) bool {
		return within != nil && !slices.ContainsFunc(within, func(s query.Span) bool { return s.From <= p.Doc && p.Doc <= s.To })
	})
	slices.SortFunc(found, func(a, b query.Posting) int { return int(a.Doc - b.Doc) })
	return found
}

// TestFullTextItself holds the second opinion against counts by hand.
func TestFullTextItself(t *testing.T) {
	f := newFullText(t)
	for i, text := range []string{"a a a a", "c d c c d c d c", "全文検索の索引", "Foo_bar"} {
		f.add(query.NewDocID(1, int64(i)), text)
	}
	for phrase, want := range map[string]string{"a a": "[{16777216 1}]", "a": "[{16777216 4}]", "c d c": "[{16777217 2}]", "索引": "[{16777218 1}]", "foo bar": "[{16777219 1}]", "b": "[]"} {
		if got := fmt.Sprint(f.match(document.Terms(phrase), nil)); got != want {
			t.Errorf("%q: %s, want %s", phrase, got, want)
		}
	}
}
