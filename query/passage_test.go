package query_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// script makes a log of n events by chance, and says by hand what its passages are.
func script(t *testing.T, r *rand.Rand, m *memory, h session.Header, n int64) []query.Passage {
	t.Helper()
	l := m.put(h)
	var want []query.Passage
	var surface []int64
	var calls []string
	at := map[int64]int{} // seq of a surface event → its passage
	for seq := range n {
		e := session.Event{Seq: seq, Time: 1_700_000_000_000 + seq*3_600_000}
		text := strings.Repeat(fmt.Sprint("word", seq, " "), 1+r.IntN(5)) + "end"
		p := query.Passage{Seq: seq, Time: e.Time, State: session.LogOnly, By: -1}
		joins := false
		switch k := r.IntN(10); {
		case k < 3:
			e.Type, e.Body.Speaker, p.Role, joins = session.UserMessage, session.Human, query.RoleUser, true
		case k < 5:
			e.Type, e.Body.Speaker, p.Role, joins = session.AssistantMessage, session.Assistant, query.RoleAssistant, true
			if r.IntN(2) == 0 {
				text = "" // of the surface, and without text
			}
		case k < 6:
			id := fmt.Sprint("call", seq)
			calls = append(calls, id)
			p.Tool = []string{"Bash", "Edit", "grep"}[r.IntN(3)]
			e.Type, e.Body.Speaker, e.Body.CallID, p.Role = session.ToolCall, session.Action, id, query.RoleCall
			e.Body.Blocks = []session.Block{{Kind: session.CallBlock, Name: p.Tool, Text: text}}
			text = p.Tool + "\n" + text
		case k < 7 && len(calls) > 0:
			e.Type, e.Body.Speaker, e.Body.CallID, p.Role, joins = session.ToolResult, session.Tool, calls[0], query.RoleResult, true
			for i := range want {
				if want[i].Type == session.ToolCall && calls[0] == fmt.Sprint("call", want[i].Seq) {
					p.Tool = want[i].Tool
				}
			}
			calls = calls[1:]
		case k < 8 && len(surface) > 3: // a compaction of the first three
			e.Type, e.Body.Speaker, p.Role = session.UserMessage, session.Summary, query.RoleContext
			e.Op = session.Op{Kind: session.OpReplace, Start: surface[0], End: surface[2]}
			e.Sources = append([]int64{}, surface[:3]...)
			for _, s := range surface[:3] {
				want[at[s]].State, want[at[s]].By = session.Shadowed, seq
			}
			surface = append([]int64{seq}, surface[3:]...)
			p.State = session.Current
		default:
			e.Type, text = session.AssistantChunk, "" // no passage at all
		}
		if joins {
			e.Op = session.Op{Kind: session.OpAppend}
			surface = append(surface, seq)
			p.State = session.Current
		}
		if e.Body.Blocks == nil && text != "" {
			e.Body.Blocks = []session.Block{{Text: text}}
		}
		p.Type, p.Text, p.Points = e.Type, text, int32(len(text))
		if text != "" || p.State != session.LogOnly {
			if p.Role == query.RoleUser && !anyRole(want, query.RoleFirstPrompt) {
				p.Role = query.RoleFirstPrompt
			}
			p.Ordinal = int64(len(want))
			at[seq] = len(want)
			want = append(want, p)
		}
		if err := l.Append(session.Raw{Event: e, Native: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	return want
}

func anyRole(list []query.Passage, role query.Role) bool {
	for _, p := range list {
		if p.Role == role {
			return true
		}
	}
	return false
}

func TestPassagesAreWhatWasSaidByHand(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 11))
		m := newMemory(t)
		want := script(t, r, m, header("s", "/w"), 200)
		e := engine(t, query.Config{Disk: m.Corpus})
		at := locate(t, e, "s")
		for range 20 {
			from, n := r.Int64N(int64(len(want))+5), 1+r.Int64N(90)
			list, err := e.Passages(t.Context(), at, false, from, n, -1)
			if err != nil {
				t.Fatal(err)
			}
			var expect []query.Passage
			if from < int64(len(want)) {
				expect = want[from:min(from+n, int64(len(want)))]
			}
			if diff := gocmp.Diff(expect, list.Passages); diff != "" || list.Total != int64(len(want)) {
				t.Fatalf("seed %d, %d from %d of %d (-want +got):\n%s", seed, n, from, list.Total, diff)
			}
		}
		for seq := range int64(200) {
			expect := int64(len(want)) - 1
			for i, p := range want {
				if p.Seq >= seq {
					expect = int64(i)
					break
				}
			}
			if _, got, err := e.OrdinalOf(t.Context(), at, false, seq); err != nil || got != expect {
				t.Fatalf("seed %d, event %d: ordinal %d, %v; want %d", seed, seq, got, err, expect)
			}
		}
		for _, seq := range []int64{-1, 200} {
			if _, _, err := e.OrdinalOf(t.Context(), at, false, seq); !errors.Is(err, fault.EventNotFound) {
				t.Errorf("event %d: %v", seq, err)
			}
		}
	}
}

func TestPassagesAreCutBetweenGraphemes(t *testing.T) {
	m := newMemory(t)
	m.put(header("s", "/w"), "ae\u0301\u0302b👩‍👩‍👧z", "short")
	e := engine(t, query.Config{Disk: m.Corpus})
	at := locate(t, e, "s")
	for points, want := range map[int]string{
		-1: "ae\u0301\u0302b👩‍👩‍👧z", 0: "", 1: "a", 2: "a", 3: "a", 4: "ae\u0301\u0302", 5: "ae\u0301\u0302b", 9: "ae\u0301\u0302b",
		10: "ae\u0301\u0302b👩‍👩‍👧", 11: "ae\u0301\u0302b👩‍👩‍👧z", 500: "ae\u0301\u0302b👩‍👩‍👧z",
	} {
		list, err := e.Passages(t.Context(), at, false, 0, 10, points)
		if err != nil {
			t.Fatal(err)
		}
		if p := list.Passages[0]; p.Text != want || p.Cut != (points >= 0 && points < 11) || p.Points != 11 {
			t.Errorf("%d code points: %q, cut %v, of %d", points, p.Text, p.Cut, p.Points)
		}
	}
}

func TestPassagesOfAnOpenSessionHaveNoClosingRecords(t *testing.T) {
	h := header("s", "/w")
	corpus := stored(t, h)
	seqs := func(own bool) (out []int64) {
		t.Helper()
		e := engine(t, query.Config{Disk: corpus})
		list, err := e.Passages(t.Context(), locate(t, e, "s"), own, 0, 10, 10)
		if err != nil || list.Total != int64(len(list.Passages)) {
			t.Fatal(list, err)
		}
		for _, p := range list.Passages {
			out = append(out, p.Seq)
		}
		return out
	}
	if diff := gocmp.Diff([]int64{0, 1}, seqs(false)); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff([]int64{0}, seqs(true)); diff != "" {
		t.Error(diff)
	}
	corpus.Outside = registry{running: map[session.Key]bool{h.Key(): true}}
	if diff := gocmp.Diff([]int64{0}, seqs(false)); diff != "" {
		t.Error(diff)
	}
}

func TestPassagesRefuse(t *testing.T) {
	m := newMemory(t)
	m.put(header("s", "/w"), "one")
	m.put(header("none", "/w"))
	e := engine(t, query.Config{Disk: m.Corpus})
	at := locate(t, e, "s")
	for _, c := range []struct {
		from, n int64
		code    fault.Code
	}{{0, 0, fault.InvalidLimit}, {0, query.MaxLimit + 1, fault.InvalidLimit}, {-1, 1, fault.InvalidWindow}} {
		if _, err := e.Passages(t.Context(), at, false, c.from, c.n, 10); !errors.Is(err, c.code) {
			t.Errorf("%d from %d: %v", c.n, c.from, err)
		}
	}
	list, err := e.Passages(t.Context(), locate(t, e, "none"), false, 0, 5, 5)
	if err != nil || list.Total != 0 || list.Passages != nil {
		t.Errorf("an empty session: %+v, %v", list, err)
	}
}

// recordCounter counts the records that a snapshot is asked for.
type recordCounter struct {
	query.Store
	records, texts *int
}

type recordSnapshot struct {
	query.Snapshot
	of recordCounter
}

func (c recordCounter) Snapshot(ctx context.Context, workspace string) (query.Snapshot, error) {
	s, err := c.Store.Snapshot(ctx, workspace)
	if s == nil || err != nil {
		return s, err
	}
	return recordSnapshot{s, c}, nil
}

func (s recordSnapshot) Documents(ctx context.Context, ids []query.DocID) ([]query.Document, error) {
	*s.of.records += len(ids)
	return s.Snapshot.Documents(ctx, ids)
}

func (s recordSnapshot) Text(ctx context.Context, id query.DocID) (string, error) {
	*s.of.texts++
	return s.Snapshot.Text(ctx, id)
}

// TestAPageOfPassagesCostsItsLength: a page in the midst of a log reads its own
// records, those of a search by halves, and its own texts.
func TestAPageOfPassagesCostsItsLength(t *testing.T) {
	m := newMemory(t)
	texts := make([]string, 3000)
	for i := range texts {
		texts[i] = fmt.Sprint("text ", i)
	}
	m.put(header("s", "/w"), texts...)
	records, read := 0, 0
	corpus := m.Corpus
	corpus.Store = recordCounter{m.Corpus.Store, &records, &read}
	e := engine(t, query.Config{Disk: corpus})
	at := locate(t, e, "s")
	list, err := e.Passages(t.Context(), at, false, 1500, 20, 100)
	if err != nil || len(list.Passages) != 20 || list.Passages[0].Text != "text 1500" {
		t.Fatal(list, err)
	}
	if records > 20+13 || read != 20 {
		t.Errorf("%d records and %d texts were read for 20 passages", records, read)
	}
	records = 0
	if _, _, err := e.OrdinalOf(t.Context(), at, false, 2100); err != nil || records > 26 {
		t.Errorf("%d records were read for an ordinal, %v", records, err)
	}
}
