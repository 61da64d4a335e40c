package sqlite

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// The groups of columns that several tables share, as arguments and back. Each
// reader of a group takes the place of its first column.

func bindHeader(h session.Header) []any {
	return []any{string(h.Agent), string(h.ID), h.Version, h.CreatedAt, h.Cwd, string(h.ParentSession),
		h.SeedLength, h.Origin, h.DelegationDepth, h.AgentPreset}
}

const headerWidth = 10

func (r row) header(at int) session.Header {
	return session.Header{
		Agent: session.Agent(r.text(at)), ID: session.ID(r.text(at + 1)), Version: r.int(at + 2), CreatedAt: r.int(at + 3),
		Cwd: r.text(at + 4), ParentSession: session.ID(r.text(at + 5)), SeedLength: r.int(at + 6), Origin: r.text(at + 7),
		DelegationDepth: r.int(at + 8), AgentPreset: r.text(at + 9),
	}
}

func bindFork(f ingest.Fork) []any { return []any{string(f.Parent), f.Seed, f.CreatedAt} }

const forkWidth = 3

func (r row) fork(at int) ingest.Fork {
	return ingest.Fork{Parent: session.ID(r.text(at)), Seed: r.int(at + 1), CreatedAt: r.int(at + 2)}
}

func bindStamp(s reader.Stamp) []any {
	return []any{int64(s.Device), int64(s.Inode), s.Size, s.ModTime}
}

const stampWidth = 4

func (r row) stamp(at int) reader.Stamp {
	return reader.Stamp{Device: r.uint64(at), Inode: r.uint64(at + 1), Size: r.int(at + 2), ModTime: r.int(at + 3)}
}

func bindProblem(p *reader.Problem) []any {
	if p == nil {
		return []any{nil, nil, nil, nil, nil}
	}
	return []any{string(p.Code), p.Path, p.Line, p.Offset, p.Reason}
}

const problemWidth = 5

func (r row) problem(at int) *reader.Problem {
	if r.null(at) {
		return nil
	}
	return &reader.Problem{Code: fault.Code(r.text(at)), Path: r.text(at + 1), Line: r.int(at + 2), Offset: r.int(at + 3), Reason: r.text(at + 4)}
}

func publicProblem(p *reader.Problem) *query.Problem {
	if p == nil {
		return nil
	}
	return &query.Problem{Code: p.Code, Line: p.Line, Offset: p.Offset, Reason: p.Reason}
}

// storedColumns are what storedRow reads, putColumns what bindStored gives.
const storedColumns = `num, entries, ` + putColumns

const putColumns = `source, ` + headerColumns + `, ` + forkColumns + `, p_next, p_read, p_check, ` + stampColumns + `, state, mapping, ` +
	problemColumns + `, events, provisional, title, title_fail, naming, step, prompted, changed, root, settled, footprints, calls, clipped, skip`

// bindStored gives the arguments for putColumns.
func bindStored(s *ingest.Stored) []any {
	args := append([]any{s.Source}, bindHeader(s.Header)...)
	args = append(args, bindFork(s.Fork)...)
	args = append(args, s.Position.Next, s.Position.Offset, int64(s.Position.Check))
	args = append(args, bindStamp(s.Position.Stamp)...)
	if s.Position.State == nil {
		args = append(args, nil)
	} else {
		args = append(args, []byte(s.Position.State))
	}
	args = append(args, s.Mapping)
	args = append(args, bindProblem(s.Problem)...)
	return append(args, s.Events, s.Provisional, s.Title, string(s.TitleFail), bindNaming(&s.Naming), s.LastStep, s.Prompted, s.Changed,
		s.Root, s.Settled, strings.Join(s.Footprints, "\n"), bindCalls(s.Calls), s.Clipped, bindSkip(s.Skip))
}

// bindSkip gives a skip as JSON; "" is none.
func bindSkip(s *reader.Skip) string {
	if s == nil {
		return ""
	}
	text, err := json.Marshal(s)
	if err != nil {
		return "" // it holds numbers and text only
	}
	return string(text)
}

func (r row) skip(at int) *reader.Skip {
	var s reader.Skip
	if text := r.text(at); text == "" || json.Unmarshal([]byte(text), &s) != nil {
		return nil
	}
	return &s
}

// bindNaming gives titles from and for other sessions as JSON; "" is none.
func bindNaming(n *ingest.Naming) string {
	if n.Empty() {
		return ""
	}
	text, err := json.Marshal(n)
	if err != nil {
		return "" // it holds text and numbers only
	}
	return string(text)
}

func (r row) naming(at int) ingest.Naming {
	var n ingest.Naming
	if text := r.text(at); text == "" || json.Unmarshal([]byte(text), &n) != nil {
		return ingest.Naming{}
	}
	return n
}

// bindCalls gives open calls as JSON; "" is none.
func bindCalls(calls []ingest.Call) string {
	if len(calls) == 0 {
		return ""
	}
	text, err := json.Marshal(calls)
	if err != nil {
		return "" // it holds text only
	}
	return string(text)
}

func (r row) calls(at int) []ingest.Call {
	var calls []ingest.Call
	if text := r.text(at); text == "" || json.Unmarshal([]byte(text), &calls) != nil {
		return nil
	}
	return calls
}

// storedRow reads a session and how many entries it has.
func (r row) storedRow() (s ingest.Stored, entries int64) {
	at := 0
	next := func(width int) int {
		at += width
		return at - width
	}
	s.Num, entries = r.int(next(1)), r.int(next(1))
	s.Source = r.text(next(1))
	s.Header, s.Fork = r.header(next(headerWidth)), r.fork(next(forkWidth))
	s.Position.Next, s.Position.Offset, s.Position.Check = r.int(next(1)), r.int(next(1)), r.uint64(next(1))
	s.Position.Stamp = r.stamp(next(stampWidth))
	if state := next(1); !r.null(state) {
		s.Position.State = r.blob(state)
	}
	s.Mapping = r.text(next(1))
	s.Problem = r.problem(next(problemWidth))
	s.Events, s.Provisional = r.int(next(1)), r.int(next(1))
	if title := next(1); !r.null(title) {
		t := r.text(title)
		s.Title = &t
	}
	s.TitleFail = fault.Code(r.text(next(1)))
	s.Naming = r.naming(next(1))
	s.LastStep, s.Prompted, s.Changed = r.int(next(1)), r.bool(next(1)), r.int(next(1))
	s.Root, s.Settled = r.text(next(1)), r.bool(next(1))
	if ids := r.text(next(1)); ids != "" {
		s.Footprints = strings.Split(ids, "\n")
	}
	s.Calls = r.calls(next(1))
	s.Clipped, s.Skip = r.int(next(1)), r.skip(next(1))
	return s, entries
}

func (c *conn) stored(ctx context.Context) ([]ingest.Stored, []int64, error) {
	var all []ingest.Stored
	var entries []int64
	err := c.rowsOf(ctx, `SELECT `+storedColumns+` FROM sessions ORDER BY num`, func(r row) error {
		s, n := r.storedRow()
		all, entries = append(all, s), append(entries, n)
		return nil
	})
	return all, entries, err
}
