package sqlite

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
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
	return []any{string(h.Agent), string(h.ID), h.Cwd, string(h.ParentSession), packHeader(h)}
}

const headerWidth = 5

// header reads the packed one alone: a column costs as much as all of it.
func (r row) header(at int) session.Header {
	return unpackHeader(r.raw(at + headerWidth - 1))
}

// packHeader is a header as texts, each behind its length, and numbers.
func packHeader(h session.Header) []byte {
	var b []byte
	for _, text := range [...]string{string(h.Agent), string(h.ID), h.Cwd, string(h.ParentSession), h.Origin, h.AgentPreset} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	for _, n := range [...]int64{h.Version, h.CreatedAt, h.SeedLength, h.DelegationDepth} {
		b = binary.AppendVarint(b, n)
	}
	return b
}

// unpackHeader undoes packHeader. What is no packed header gives the zero one,
// which no log states, so that whoever compares it reads the log again.
func unpackHeader(b []byte) session.Header {
	var texts [6]string
	var numbers [4]int64
	for i := range texts {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return session.Header{}
		}
		texts[i], b = string(b[size:size+int(n)]), b[size+int(n):]
	}
	for i := range numbers {
		n, size := binary.Varint(b)
		if size <= 0 {
			return session.Header{}
		}
		numbers[i], b = n, b[size:]
	}
	return session.Header{
		Agent: session.Agent(texts[0]), ID: session.ID(texts[1]), Cwd: texts[2], ParentSession: session.ID(texts[3]), Origin: texts[4], AgentPreset: texts[5],
		Version: numbers[0], CreatedAt: numbers[1], SeedLength: numbers[2], DelegationDepth: numbers[3],
	}
}

func bindFork(f ingest.Fork) []any { return []any{string(f.Parent), f.Seed, f.CreatedAt} }

const forkWidth = 3

func (r row) fork(at int) ingest.Fork {
	if r.text(at) == "" {
		return ingest.Fork{}
	}
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

// storedColumns are what storedRow reads, putColumns what bindStored gives. What
// most looks need comes first: a row's rest may lie on other pages.
const storedColumns = `num, entries, ` + putColumns

const putColumns = `source, ` + stampColumns + `, sum, marks, clipped, ` + headerColumns + `, ` + forkColumns +
	`, events, provisional, shown, title, title_fail, step, changed, ` + problemColumns +
	`, p_next, p_read, p_check, mapping, prompted, root, settled, skip, footprints, calls, naming, state`

// bindStored gives the arguments for putColumns.
func bindStored(s *ingest.Stored) []any {
	g := s.Glance()
	args := append([]any{s.Source}, bindStamp(s.Position.Stamp)...)
	args = append(args, int64(g.Sum), marksOf(s), g.Clipped)
	args = append(append(args, bindHeader(s.Header)...), bindFork(s.Fork)...)
	args = append(args, s.Events, s.Provisional, s.ShownTitle(), s.Title, string(s.TitleFail), s.LastStep, s.Changed)
	args = append(args, bindProblem(s.Problem)...)
	args = append(args, s.Position.Next, s.Position.Offset, int64(s.Position.Check), s.Mapping, s.Prompted,
		s.Root, s.Settled, bindSkip(s.Skip), strings.Join(s.Footprints, "\n"), bindCalls(s.Calls), bindNaming(&s.Naming))
	if s.Position.State == nil {
		return append(args, nil)
	}
	return append(args, []byte(s.Position.State))
}

// What a glance says beside numbers, in the column marks.
const (
	markAlone = 1 << iota
	markUnsound
	markDamaged
	markDivided
	markUnnamed
	markNaming // it has titles for others, or one from another
	markUnrelated
)

func marksOf(s *ingest.Stored) (set int64) {
	g := s.Glance()
	for _, m := range [...]struct {
		is   bool
		mark int64
	}{
		{g.Alone, markAlone}, {g.Unsound, markUnsound}, {g.Damaged, markDamaged}, {g.Divided, markDivided}, {g.Unnamed, markUnnamed}, {g.Unrelated, markUnrelated},
		{len(s.Naming.Claims) > 0 || s.Naming.Name != nil, markNaming},
	} {
		if m.is {
			set |= m.mark
		}
	}
	return set
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

// places gives the places of groups of columns, one after the other.
type places int

func (c *places) next(width int) int {
	*c += places(width)
	return int(*c) - width
}

// storedRow reads a session.
func (r row) storedRow() (s ingest.Stored) {
	var at places
	s.Num = r.int(at.next(1))
	at.next(1) // entries
	s.Source, s.Position.Stamp = r.text(at.next(1)), r.stamp(at.next(stampWidth))
	at.next(1) // sum
	set := r.int(at.next(1))
	s.Alone, s.Divided, s.Unrelated = set&markAlone != 0, set&markDivided != 0, set&markUnrelated != 0
	s.Clipped = r.int(at.next(1))
	s.Header, s.Fork = r.header(at.next(headerWidth)), r.fork(at.next(forkWidth))
	s.Events, s.Provisional = r.int(at.next(1)), r.int(at.next(1))
	at.next(1) // shown
	s.Title, s.TitleFail = r.optional(at.next(1)), fault.Code(r.text(at.next(1)))
	s.LastStep, s.Changed = r.int(at.next(1)), r.int(at.next(1))
	s.Problem = r.problem(at.next(problemWidth))
	s.Position.Next, s.Position.Offset, s.Position.Check = r.int(at.next(1)), r.int(at.next(1)), r.uint64(at.next(1))
	s.Mapping, s.Prompted = r.text(at.next(1)), r.bool(at.next(1))
	s.Root, s.Settled, s.Skip = r.text(at.next(1)), r.bool(at.next(1)), r.skip(at.next(1))
	if ids := r.text(at.next(1)); ids != "" {
		s.Footprints = strings.Split(ids, "\n")
	}
	s.Calls, s.Naming = r.calls(at.next(1)), r.naming(at.next(1))
	if state := at.next(1); !r.null(state) {
		s.Position.State = r.blob(state)
	}
	return s
}

func (r row) optional(at int) *string {
	if r.null(at) {
		return nil
	}
	text := r.text(at)
	return &text
}

// mostSources is how many sources one statement asks for.
const mostSources = 256

func (c *conn) stored(ctx context.Context, which ingest.StoredLookup) ([]ingest.Stored, error) {
	var all []ingest.Stored
	ask := func(where string, args ...any) error {
		rest := ` ORDER BY num`
		if which.After > 0 || which.Most > 0 {
			rest, args = ` AND num > ? ORDER BY num LIMIT ?`, append(args, which.After, cmp.Or(which.Most, -1))
		}
		return c.rowsOf(ctx, `SELECT `+storedColumns+` FROM sessions`+where+rest, func(r row) error {
			all = append(all, r.storedRow())
			return nil
		}, args...)
	}
	var err error
	switch {
	case which.Root != "":
		err = ask(` WHERE root = ? AND root <> ''`, which.Root)
	case which.PartsOf != "":
		low := reader.PartPath(which.PartsOf, "")
		err = ask(` WHERE source >= ? AND source < ?`, low, low[:len(low)-1]+"0") // "0" comes after "/"
	case which.Naming:
		err = ask(` WHERE marks & 32 <> 0`)
	case which.Unrelated:
		err = ask(` WHERE marks & 64 <> 0`)
	case which.Sources == nil:
		err = ask(` WHERE true`)
	default:
		for some := range slices.Chunk(which.Sources, mostSources) {
			var q conditions
			anyOf(&q, `source`, some)
			if err = ask(q.where(), q.args...); err != nil {
				break
			}
		}
		slices.SortFunc(all, func(a, b ingest.Stored) int { return cmp.Compare(a.Num, b.Num) })
	}
	return all, err
}

func (c *conn) glances(ctx context.Context, only *session.Key) ([]ingest.Glance, error) {
	var all []ingest.Glance
	var q conditions
	if only != nil {
		q.add(`id = ?`, string(only.ID))
		q.add(`agent = ?`, string(only.Agent))
	}
	err := c.rowsOf(ctx, `SELECT `+glanceColumns+` FROM sessions`+q.where()+` ORDER BY num`, func(r row) error {
		all = append(all, r.glance())
		return nil
	}, q.args...)
	return all, err
}

// glanceColumns are what glance reads.
const glanceColumns = `num, source, ` + stampColumns + `, sum, marks, clipped, ` + forkColumns

// glance reads what tells whether a session is up to date.
func (r row) glance() ingest.Glance {
	var at places
	g := ingest.Glance{Num: r.int(at.next(1)), Source: r.text(at.next(1)), Stamp: r.stamp(at.next(stampWidth)), Sum: r.uint64(at.next(1))}
	set := r.int(at.next(1))
	g.Alone, g.Divided = set&markAlone != 0, set&markDivided != 0
	g.Unnamed, g.Unrelated = set&markUnnamed != 0, set&markUnrelated != 0
	g.Unsound, g.Damaged = set&markUnsound != 0, set&markDamaged != 0
	g.Clipped = r.int(at.next(1))
	g.Fork = r.fork(at.next(forkWidth))
	return g
}

// rowColumns are what sessionRow reads.
const rowColumns = `num, entries, source, marks, clipped, ` + headerColumns + `, ` + forkColumns +
	`, events, provisional, shown, title_fail, step, changed, ` + problemColumns

// sessionRow reads what the engine needs of a session.
func (r row) sessionRow() query.Row {
	var at places
	out := query.Row{Num: r.int(at.next(1)), Documents: r.int(at.next(1)), Source: r.text(at.next(1))}
	out.Damaged, out.Clipped = r.int(at.next(1))&markDamaged != 0, r.int(at.next(1))
	h := r.header(at.next(headerWidth))
	out.Header = r.fork(at.next(forkWidth)).Apply(h)
	out.Events, out.Provisional = r.int(at.next(1)), r.int(at.next(1))
	out.Title, out.TitleFail = r.optional(at.next(1)), fault.Code(r.text(at.next(1)))
	out.LastStep, out.Changed = r.int(at.next(1)), r.int(at.next(1))
	out.Problem = publicProblem(r.problem(at.next(problemWidth)))
	return out
}
