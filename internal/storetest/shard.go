package storetest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

func testNothing(t *testing.T, s Store) {
	if view, err := s.Snapshot(t.Context(), home); view != nil || err != nil {
		t.Errorf("Snapshot = %v, %v", view, err)
	}
	if all, err := s.Peek(t.Context(), home, ingest.StoredLookup{}); len(all) != 0 || err != nil {
		t.Errorf("Peek = %v, %v", all, err)
	}
	if all, err := s.Workspaces(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("Workspaces = %v, %v", all, err)
	}
	if all, err := s.Headers(t.Context(), query.Lookup{}); len(all) != 0 || err != nil {
		t.Errorf("Headers = %v, %v", all, err)
	}
	if done, err := s.Purge(t.Context(), home); !done || err != nil {
		t.Errorf("Purge = %v, %v", done, err)
	}
}

func testStored(t *testing.T, s Store) {
	title := "A title, with \x00 and é"
	full := ingest.Stored{
		Source: "/logs/full",
		Header: session.Header{
			Agent: "dsh", ID: "full \x00 id", Version: 3, CreatedAt: session.MaxSafe, Cwd: home, ParentSession: "other",
			SeedLength: 7, Origin: session.OriginSubagent, DelegationDepth: 2, AgentPreset: "reviewer",
		},
		Position: reader.Position{
			Next: 90, Offset: 4096, Check: 1<<63 + 5, State: []byte(`{"open":[1,2]}`),
			Stamp: reader.Stamp{Device: 1<<63 + 1, Inode: 1<<64 - 1, Size: 4100, ModTime: 1_700_000_000_123_456_789},
		},
		Mapping: "1.2.3", Events: 92, Provisional: 2, Title: &title, TitleFail: fault.CorruptSession,
		Naming: ingest.Naming{
			Makeshift: true, Sought: 1, Claims: []ingest.Claim{{Leaf: "u \x00\n", Title: "é\""}, {Leaf: "v", Title: "w"}},
			Name: &ingest.Name{Title: "named", By: "other", CreatedAt: session.MaxSafe, Number: 3},
		},
		LastStep: 80, Prompted: true, Changed: 1_700_000_000_999,
		Calls: []ingest.Call{{ID: "a\n\x1f\"b", Tool: "Bash"}, {ID: "c", Tool: "é"}},
	}
	bare := ingest.Stored{
		Source: "/logs/bare", Header: header("bare"), LastStep: -1,
		Problem: &reader.Problem{Code: fault.Persistence, Path: "/logs/bare", Line: 3, Offset: 77, Reason: "no JSON"},
	}
	write(t, s, func(w ingest.Writer) error {
		return errors.Join(w.Put(t.Context(), &full), w.Put(t.Context(), &bare))
	})
	if full.Num <= 0 || bare.Num <= full.Num {
		t.Fatalf("numbers %d and %d do not ascend from 1", full.Num, bare.Num)
	}
	same(t, "Peek", must[[]ingest.Stored](t)(s.Peek(t.Context(), home, ingest.StoredLookup{})), []ingest.Stored{full, bare})

	full.Position.Next, full.Title, full.TitleFail, full.Position.State = 95, nil, "", nil
	write(t, s, func(w ingest.Writer) error {
		if err := w.Put(t.Context(), &full); err != nil {
			return err
		}
		all, err := w.Stored(t.Context(), ingest.StoredLookup{})
		same(t, "Stored in the transaction", all, []ingest.Stored{full, bare})
		return err
	})
	same(t, "Peek after Put", must[[]ingest.Stored](t)(s.Peek(t.Context(), home, ingest.StoredLookup{})), []ingest.Stored{full, bare})

	full.Root, bare.Root = "r", "r"
	write(t, s, func(w ingest.Writer) error {
		return errors.Join(w.Put(t.Context(), &full), w.Put(t.Context(), &bare))
	})
	for _, c := range []struct {
		which ingest.StoredLookup
		want  []ingest.Stored
	}{
		{ingest.StoredLookup{Most: 1}, []ingest.Stored{full}},
		{ingest.StoredLookup{After: full.Num, Most: 5}, []ingest.Stored{bare}},
		{ingest.StoredLookup{Root: "r", Most: 1}, []ingest.Stored{full}},
		{ingest.StoredLookup{Root: "r", After: full.Num}, []ingest.Stored{bare}},
		{ingest.StoredLookup{Root: "r", After: bare.Num, Most: 1}, nil},
		{ingest.StoredLookup{Root: "s", Most: 1}, nil},
		{ingest.StoredLookup{Unrelated: true}, nil},
	} {
		same(t, fmt.Sprintf("%+v", c.which), must[[]ingest.Stored](t)(s.Peek(t.Context(), home, c.which)), c.want)
	}

	view := snapshot(t, s)
	want := []query.Row{
		{
			Num: full.Num, Header: full.Header, Source: full.Source, Title: &full.Naming.Name.Title, Events: 92, Provisional: 2,
			LastStep: 80, Changed: full.Changed,
		},
		{
			Num: bare.Num, Header: bare.Header, Source: bare.Source, LastStep: -1,
			Problem: &query.Problem{Code: fault.Persistence, Line: 3, Offset: 77, Reason: "no JSON"},
		},
	}
	same(t, "Sessions", must[[]query.Row](t)(view.Sessions(t.Context())), want)
	same(t, "Sessions again", must[[]query.Row](t)(view.Sessions(t.Context())), want)
}

func testDocuments(t *testing.T, s Store) {
	num := begin(t, s, "one")
	appendBatch(t, s, num, ingest.Batch{Entries: []ingest.Entry{
		{Seq: 0, Time: 10, Type: session.UserMessage, Speaker: session.Human, First: true, Text: "Find the bug", Surface: true, Order: 0},
		{Seq: 3, Time: 9, Type: session.ToolCall, Tool: "grep", Speaker: session.Action, Text: "grep bug", Clipped: true},
		{Seq: 4, Time: 12, Type: session.ToolResult, Tool: "grep", Speaker: session.Tool, Surface: true, Order: 4 << 20, Sameness: 1<<63 + 9},
		{Seq: 9, Time: 13, Type: session.TurnEnd, Text: "…!", Provisional: true},
	}})
	want := []query.Document{
		{Doc: query.NewDocID(num, 0), Seq: 0, Time: 10, Points: 12, Tokens: 3, Type: session.UserMessage, Role: query.RoleFirstPrompt, Surface: true},
		{Doc: query.NewDocID(num, 1), Seq: 3, Time: 9, Points: 8, Tokens: 2, Type: session.ToolCall, Tool: "grep", Role: query.RoleCall, Clipped: true},
		{Doc: query.NewDocID(num, 2), Seq: 4, Time: 12, Type: session.ToolResult, Tool: "grep", Role: query.RoleResult, Surface: true},
		{Doc: query.NewDocID(num, 3), Seq: 9, Time: 13, Points: 2, Type: session.TurnEnd, Role: query.RoleOther, Provisional: true},
	}
	view := snapshot(t, s)
	ids := []query.DocID{want[0].Doc, want[1].Doc, want[2].Doc, want[3].Doc}
	same(t, "Documents", must[[]query.Document](t)(view.Documents(t.Context(), ids)), want)
	same(t, "some Documents", must[[]query.Document](t)(view.Documents(t.Context(), ids[1:2])), want[1:2])
	for _, c := range []struct {
		from, to int64
		want     []query.Document
	}{{0, 9, want}, {1, 4, want[1:3]}, {3, 3, want[1:2]}, {5, 8, nil}, {10, 99, nil}, {4, 3, nil}} {
		same(t, fmt.Sprint("Log.Documents ", c.from, c.to), must[[]query.Document](t)(view.Log(num).Documents(t.Context(), c.from, c.to)), c.want)
	}
	for i, text := range []string{"Find the bug", "grep bug", "", "…!"} {
		same(t, fmt.Sprint("text ", i), must[string](t)(view.Text(t.Context(), ids[i])), text)
	}
	same(t, "totals", must[query.Totals](t)(view.Totals(t.Context(), nil)), query.Totals{Documents: 2, Tokens: 5})
	same(t, "entries", must[[]query.Row](t)(view.Sessions(t.Context()))[0].Documents, int64(4))

	err := s.Write(t.Context(), home, func(w ingest.Writer) error {
		return w.Append(t.Context(), num, &ingest.Batch{Entries: []ingest.Entry{talk(9, "not behind")}})
	})
	if err == nil {
		t.Error("an entry that is not behind the last one was taken")
	}
}

func testTexts(t *testing.T, s Store) {
	texts := []string{"", "a", "\n\t ", "…", strings.Repeat("word ", 3000), "naïve \u0301 結合 ﬁ", strings.Repeat("x", 70_000), "short",
		strings.Repeat("0123456789abcdef ", 200_000), "\ufffd", strings.Repeat("、", 30_000), "the end"}
	num, other := begin(t, s, "one"), begin(t, s, "two")
	var want query.Totals
	for i, text := range texts {
		appendBatch(t, s, num, ingest.Batch{Entries: []ingest.Entry{talk(int64(i), text)}})
		appendBatch(t, s, other, ingest.Batch{Entries: []ingest.Entry{talk(int64(i), text+" other")}})
		for _, written := range []string{text, text + " other"} {
			want.Documents++
			_, tokens := document.AppendFolded(nil, written)
			want.Tokens += int64(tokens)
			if tokens == 0 {
				want.Documents--
			}
		}
	}
	view := snapshot(t, s)
	for _, i := range []int{0, 11, 1, 2, 3, 10, 9, 8, 8, 7, 4, 5, 6} {
		if got := must[string](t)(view.Text(t.Context(), query.NewDocID(num, int64(i)))); got != texts[i] {
			t.Errorf("text %d: %d bytes came back of %d", i, len(got), len(texts[i]))
		}
		if got := must[string](t)(view.Text(t.Context(), query.NewDocID(other, int64(i)))); got != texts[i]+" other" {
			t.Errorf("text %d of the other session: %d bytes came back of %d", i, len(got), len(texts[i])+6)
		}
	}
	same(t, "totals", must[query.Totals](t)(view.Totals(t.Context(), nil)), want)
}

// testManyBatches crosses the borders of whatever blocks a store keeps.
func testManyBatches(t *testing.T, s Store) {
	num := begin(t, s, "one")
	seq, step := int64(0), 1
	var want []query.Document
	for len(want) < 300 {
		var b ingest.Batch
		for range step {
			n := int64(len(want))
			b.Entries = append(b.Entries, talk(seq, fmt.Sprintf("number%d of many", n)))
			want = append(want, query.Document{
				Doc: query.NewDocID(num, n), Seq: seq, Time: 1_700_000_000_000 + seq, Type: session.AssistantMessage, Role: query.RoleAssistant,
				Surface: true, Tokens: 3, Points: int32(len(b.Entries[len(b.Entries)-1].Text)),
			})
			seq += 1 + n%3
		}
		appendBatch(t, s, num, b)
		step = step%70*2 + 1
	}
	view := snapshot(t, s)
	same(t, "documents", must[[]query.Document](t)(view.Log(num).Documents(t.Context(), 0, seq)), want)
	for n, d := range want {
		same(t, "one document", must[[]query.Document](t)(view.Log(num).Documents(t.Context(), d.Seq, d.Seq)), want[n:n+1])
		found := must[[]query.Posting](t)(query.Collect(t.Context(), view, []string{fmt.Sprintf("number%d", n)}, nil))
		same(t, "its posting", found, []query.Posting{{Doc: d.Doc, Count: 1}})
	}
	same(t, "entries", must[[]query.Row](t)(view.Sessions(t.Context()))[0].Documents, int64(len(want)))
}

func testWithdraw(t *testing.T, s Store) {
	num := begin(t, s, "one")
	for round := range int64(70) {
		first := round * 2
		closing := talk(first+1, "closing early")
		closing.Provisional = true
		end := ingest.Entry{Seq: first + 2, Type: session.TurnEnd, Text: "interrupted", Provisional: true}
		appendBatch(t, s, num, ingest.Batch{
			Entries:   []ingest.Entry{talk(first, fmt.Sprint("kept ", round)), closing, end},
			Citations: []ingest.Citation{{By: first + 1, Sources: []int64{first}}},
		})
		if round%9 == 0 {
			looking(t, s, func(view query.Snapshot) {
				surface := must[[]int64](t)(view.Log(num).Surface(t.Context()))
				same(t, "surface with its closing record", surface[len(surface)-1], first+1)
				same(t, "derived", must[[]int64](t)(view.Log(num).Derived(t.Context(), first)), []int64{first + 1})
			})
		}
		write(t, s, func(w ingest.Writer) error {
			for _, n := range must[[]session.Node](t)(w.Current(t.Context(), num, 0, math.MaxInt64)) {
				if n.Seq == first+1 {
					t.Error("Current holds a closing record")
				}
			}
			same(t, "a closing record by its seq", len(must[[]session.Node](t)(w.Nodes(t.Context(), num, []int64{first + 1}))), 0)
			if err := w.Withdraw(t.Context(), num); err != nil {
				return err
			}
			return w.Append(t.Context(), num, &ingest.Batch{Entries: []ingest.Entry{talk(first+1, "went on")}})
		})
	}
	view := snapshot(t, s)
	same(t, "withdrawn", must[[]query.Posting](t)(query.Collect(t.Context(), view, []string{"interrupted"}, nil)), []query.Posting(nil))
	same(t, "withdrawn too", must[[]query.Posting](t)(query.Collect(t.Context(), view, []string{"closing", "early"}, nil)), []query.Posting(nil))
	same(t, "kept", len(must[[]query.Posting](t)(query.Collect(t.Context(), view, []string{"went", "on"}, nil))), 70)
	same(t, "text", must[string](t)(view.Text(t.Context(), query.NewDocID(num, 139))), "went on")
	same(t, "last text", must[string](t)(view.Text(t.Context(), query.NewDocID(num, 138))), "kept 69")
	same(t, "beyond", must[string](t)(view.Text(t.Context(), query.NewDocID(num, 140))), "")
	same(t, "totals", must[query.Totals](t)(view.Totals(t.Context(), nil)), query.Totals{Documents: 140, Tokens: 280})
	same(t, "derived", must[[]int64](t)(view.Log(num).Derived(t.Context(), 138)), []int64(nil))
	same(t, "surface", len(must[[]int64](t)(view.Log(num).Surface(t.Context()))), 140)
}

// Events are found by their seqs, however unevenly these ascend, and those that
// have no entry are not.
func testSeqs(t *testing.T, s Store) {
	num := begin(t, s, "one")
	random := rand.New(rand.NewPCG(5, 8))
	var entries []ingest.Entry
	has := map[int64]bool{}
	seq := int64(3)
	for len(entries) < 3000 {
		entries = append(entries, talk(seq, fmt.Sprint("event ", seq)))
		has[seq] = true
		switch n := len(entries); {
		case n%700 == 0:
			seq += 1_000_000
		case n/500%2 == 0:
			seq++
		default:
			seq += 1 + random.Int64N(40)
		}
	}
	for part := range slices.Chunk(entries, 450) {
		appendBatch(t, s, num, ingest.Batch{Entries: part})
	}
	looking(t, s, func(view query.Snapshot) {
		log := view.Log(num)
		for _, e := range entries {
			for _, at := range []int64{e.Seq - 1, e.Seq, e.Seq + 1} {
				docs := must[[]query.Document](t)(log.Documents(t.Context(), at, at))
				if len(docs) == 1 != has[at] || len(docs) == 1 && docs[0].Seq != at {
					t.Fatalf("at %d: %+v", at, docs)
				}
			}
		}
		last := entries[len(entries)-1].Seq
		same(t, "behind the end", len(must[[]query.Document](t)(log.Documents(t.Context(), last+1, last+1<<40))), 0)
		same(t, "all", len(must[[]query.Document](t)(log.Documents(t.Context(), 0, last))), len(entries))
	})
}

// Of checkpoints that lie close to each other a store may leave some out, but none
// that is dear.
func testDearCheckpoints(t *testing.T, s Store) {
	num := begin(t, s, "one")
	at := func(seq int64) session.Checkpoint {
		return session.Checkpoint{Seq: seq, Place: session.Place{Offset: 10 + seq}}
	}
	dear := at(2)
	dear.Dear = true
	appendBatch(t, s, num, ingest.Batch{Checkpoints: []session.Checkpoint{at(0), at(1), dear, at(3)}})
	looking(t, s, func(view query.Snapshot) {
		same(t, "at it", must[session.Checkpoint](t)(view.Log(num).Checkpoint(t.Context(), 2)), at(2))
		if got := must[session.Checkpoint](t)(view.Log(num).Checkpoint(t.Context(), 3)); got != at(2) && got != at(3) {
			t.Errorf("behind it: %+v", got)
		}
		same(t, "before it", must[session.Checkpoint](t)(view.Log(num).Checkpoint(t.Context(), 0)), at(0))
	})
}

func testClearDelete(t *testing.T, s Store) {
	first, second := begin(t, s, "one"), begin(t, s, "two")
	fill := ingest.Batch{
		Entries:     []ingest.Entry{talk(0, "alpha beta"), talk(1, "alpha gamma"), {Seq: 2, Type: session.UserMessage, Text: "sum", Surface: true, Order: 0}},
		Removals:    []ingest.Removal{{By: 2, Seqs: []int64{0, 1}}},
		Citations:   []ingest.Citation{{By: 2, Sources: []int64{0, 1}}},
		Checkpoints: []session.Checkpoint{{Seq: 0, Place: session.Place{Offset: 10}}},
	}
	appendBatch(t, s, first, fill)
	appendBatch(t, s, second, fill)
	before := must[[]ingest.Stored](t)(s.Peek(t.Context(), home, ingest.StoredLookup{}))
	write(t, s, func(w ingest.Writer) error { return w.Clear(t.Context(), first) })
	same(t, "state after Clear", must[[]ingest.Stored](t)(s.Peek(t.Context(), home, ingest.StoredLookup{})), before)
	looking(t, s, func(view query.Snapshot) {
		empty(t, view, first)
		same(t, "alpha", must[[]query.Posting](t)(query.Collect(t.Context(), view, []string{"alpha"}, nil)),
			[]query.Posting{{Doc: query.NewDocID(second, 0), Count: 1}, {Doc: query.NewDocID(second, 1), Count: 1}})
		same(t, "totals", must[query.Totals](t)(view.Totals(t.Context(), nil)), query.Totals{Documents: 3, Tokens: 5})
	})
	appendBatch(t, s, first, ingest.Batch{Entries: []ingest.Entry{talk(0, "anew")}})
	looking(t, s, func(view query.Snapshot) {
		same(t, "anew", must[[]query.Posting](t)(query.Collect(t.Context(), view, []string{"anew"}, nil)), []query.Posting{{Doc: query.NewDocID(first, 0), Count: 1}})
		same(t, "old text", must[string](t)(view.Text(t.Context(), query.NewDocID(first, 0))), "anew")
	})
	write(t, s, func(w ingest.Writer) error { return w.Delete(t.Context(), second) })
	write(t, s, func(w ingest.Writer) error { return w.Delete(t.Context(), first) })
	looking(t, s, func(view query.Snapshot) {
		empty(t, view, second)
		same(t, "sessions", len(must[[]query.Row](t)(view.Sessions(t.Context()))), 0)
		same(t, "totals", must[query.Totals](t)(view.Totals(t.Context(), nil)), query.Totals{})
	})
	if done, err := s.Purge(t.Context(), home); !done || err != nil {
		t.Errorf("Purge = %v, %v", done, err)
	}
	third := begin(t, s, "three")
	if third <= second {
		t.Errorf("number %d was used before", third)
	}
	appendBatch(t, s, third, fill)
	looking(t, s, func(view query.Snapshot) {
		same(t, "after the purge", len(must[[]query.Posting](t)(query.Collect(t.Context(), view, []string{"alpha"}, nil))), 2)
	})
	err := s.Write(t.Context(), home, func(w ingest.Writer) error { return w.Append(t.Context(), second, &fill) })
	if err == nil {
		t.Error("a deleted session took a batch")
	}
}

// empty checks that a view holds nothing of a session's events.
func empty(t *testing.T, view query.Snapshot, num int64) {
	t.Helper()
	log := view.Log(num)
	same(t, "documents", must[[]query.Document](t)(log.Documents(t.Context(), 0, 99)), []query.Document(nil))
	same(t, "states", must[[]query.Shadow](t)(log.States(t.Context())), []query.Shadow(nil))
	same(t, "surface", must[[]int64](t)(log.Surface(t.Context())), []int64(nil))
	same(t, "removed", must[[]int64](t)(log.Removed(t.Context(), 2)), []int64(nil))
	same(t, "derived", must[[]int64](t)(log.Derived(t.Context(), 0)), []int64(nil))
	same(t, "checkpoint", must[session.Checkpoint](t)(log.Checkpoint(t.Context(), 50)), session.Checkpoint{})
	same(t, "text", must[string](t)(view.Text(t.Context(), query.NewDocID(num, 0))), "")
	same(t, "matches", must[[]query.Posting](t)(query.Collect(t.Context(), view, []string{"alpha"}, []query.Span{query.SpanOf(num)})), []query.Posting(nil))
}

func testRollback(t *testing.T, s Store) {
	num := begin(t, s, "one")
	appendBatch(t, s, num, ingest.Batch{Entries: []ingest.Entry{talk(0, "stays")}})
	before := snapshot(t, s)
	err := s.Write(t.Context(), home, func(w ingest.Writer) error {
		st := ingest.Stored{Source: "/logs/two", Header: header("two")}
		err := errors.Join(
			w.Append(t.Context(), num, &ingest.Batch{Entries: []ingest.Entry{talk(1, "goes")}}),
			w.Put(t.Context(), &st), w.Clear(t.Context(), num))
		if err != nil {
			t.Error(err)
		}
		return errOnPurpose
	})
	if !errors.Is(err, errOnPurpose) {
		t.Errorf("Write = %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a panic of work was swallowed")
			}
		}()
		s.Write(t.Context(), home, func(w ingest.Writer) error {
			w.Clear(t.Context(), num)
			panic("on purpose")
		})
	}()
	view := snapshot(t, s)
	same(t, "generation", view.Generation(), before.Generation())
	same(t, "totals", must[query.Totals](t)(view.Totals(t.Context(), nil)), query.Totals{Documents: 1, Tokens: 1})
	same(t, "sessions", len(must[[]query.Row](t)(view.Sessions(t.Context()))), 1)
	same(t, "text", must[string](t)(view.Text(t.Context(), query.NewDocID(num, 0))), "stays")
	appendBatch(t, s, num, ingest.Batch{Entries: []ingest.Entry{talk(1, "goes on")}})
}
