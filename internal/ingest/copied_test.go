package ingest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/claude"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// copyist makes sessions that go on, are forked with marks up to some record, or
// copied as they are.
type copyist struct {
	random *rand.Rand
	rows   [][]copied // by session
	notes  []string   // what a session begins with
	minute int
}

// copied is a record; from is the session that its mark names.
type copied struct {
	id     string
	minute int
	from   string
}

func (c *copyist) step() {
	c.minute++
	one := func() copied { return copied{id: fmt.Sprintf("r%d", c.minute), minute: c.minute} }
	if len(c.rows) == 0 {
		c.rows, c.notes = [][]copied{{one()}}, []string{""}
		return
	}
	i := c.random.IntN(len(c.rows))
	switch n := c.random.IntN(10); {
	case n < 6 || len(c.rows) > 5:
		c.rows[i] = append(c.rows[i], one())
	case n < 8: // a marked fork from some record on, which goes on at once
		part := slices.Clone(c.rows[i][:1+c.random.IntN(len(c.rows[i]))])
		for j := range part {
			part[j].from = fmt.Sprintf("s%d", i)
		}
		c.rows, c.notes = append(c.rows, append(part, one())), append(c.notes, "")
	default: // a copy without marks of its own
		note := ""
		if c.random.IntN(2) == 0 {
			note = fmt.Sprintf(`{"type":"mode","timestamp":"2026-11-01T10:%02d:00.000Z"}`+"\n", c.minute)
		}
		c.rows, c.notes = append(c.rows, slices.Clone(c.rows[i])), append(c.notes, note)
	}
}

func (c *copyist) text(f *family, i int) string {
	id := fmt.Sprintf("s%d", i)
	var b strings.Builder
	b.WriteString(c.notes[i])
	parent := ""
	for _, r := range c.rows[i] {
		extra := ""
		if r.from != "" {
			extra = fmt.Sprintf(`,"forkedFrom":{"sessionId":%q,"messageUuid":%q}`, r.from, r.id)
		}
		b.WriteString(f.row(id, r.id, parent, r.minute, extra))
		parent = r.id
	}
	return b.String()
}

// owners returns, by record, the sessions whose own it is, and checks that the
// parent of any other one has it too.
func owners(t *testing.T, f *family) map[string][]string {
	t.Helper()
	known, err := f.index.Headers(t.Context(), query.Lookup{})
	if err != nil {
		t.Fatal(err)
	}
	own, has := map[string][]string{}, map[session.ID]map[string]bool{}
	inherited := map[session.ID][]string{}
	parents := map[session.ID]session.ID{}
	for _, k := range known {
		src := reader.Source{Agent: session.Claude, Root: f.roots[0], Path: k.Path, Header: k.Header}
		events, _, err := readertest.ReadFrom(claude.New(), src, reader.Position{})
		if err != nil {
			t.Fatal(err)
		}
		id := k.Header.ID
		parents[id], has[id] = k.Header.ParentSession, map[string]bool{}
		for _, e := range events {
			switch {
			case e.NativeID == "" || len(e.Body.Blocks) == 0:
			case k.Header.Inherited(e.Seq):
				inherited[id] = append(inherited[id], e.NativeID)
			default:
				own[e.NativeID] = append(own[e.NativeID], string(id))
			}
			if e.NativeID != "" {
				has[id][e.NativeID] = true
			}
		}
	}
	for id, list := range inherited {
		for _, native := range list {
			if !has[parents[id]][native] {
				t.Errorf("%s inherits %s of %s, which does not have it", id, native, parents[id])
			}
		}
	}
	return own
}

// Every record is one session's own, however it was copied and in whatever order
// the copies were seen.
func TestCopiedRecordsAreOwnOnce(t *testing.T) {
	for seed := range uint64(16) {
		c := &copyist{random: rand.New(rand.NewPCG(seed, 13))}
		f := newFamily(t, 1)
		for range 22 {
			c.step()
			if c.random.IntN(4) == 0 {
				i := c.random.IntN(len(c.rows))
				f.put(0, fmt.Sprintf("s%d", i), c.text(f, i))
				f.refresh()
			}
		}
		for _, i := range c.random.Perm(len(c.rows)) {
			f.put(0, fmt.Sprintf("s%d", i), c.text(f, i))
			if c.random.IntN(2) == 0 {
				f.refresh()
			}
		}
		f.refresh()
		for id, list := range owners(t, f) {
			if len(list) != 1 {
				var all strings.Builder
				for i := range c.rows {
					fmt.Fprintf(&all, "s%d %q %v\n", i, c.notes[i], c.rows[i])
				}
				t.Fatalf("seed %d: %s is %v's own; %v\n%s", seed, id, list, f.parents(), all.String())
			}
		}
	}
}

// A copy of a session takes its inline subagents along.
func TestCopiedSubagentsAreOwnOnce(t *testing.T) {
	f := newFamily(t, 1)
	text := func(id string) string {
		return f.row(id, "r0", "", 0, "") + f.inline(id, "a0", "", 1) + f.inline(id, "a1", "a0", 2)
	}
	f.put(0, "s", text("s")+f.row("s", "r1", "r0", 3, ""))
	f.put(0, "t", text("t")+f.row("t", "q1", "r0", 5, "")+f.inline("t", "a2", "a1", 6))
	f.refresh()
	for id, list := range owners(t, f) {
		if len(list) != 1 {
			t.Errorf("%s is %v's own: %v", id, list, f.parents())
		}
	}
	if h := f.parents()["t/agent-a0"]; h != "s/agent-a0 2" {
		t.Errorf("the copied subagent is %q", h)
	}
}
