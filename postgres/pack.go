package postgres

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// A session's state stands in two packed columns: row is what the engine lists
// sessions by, rest what ingest goes on from. Each begins with the version of its
// layout. A new layout gets a new version, and old ones are read for ever: the
// logs that they came from are not here.
const layout = 1

// packer appends values, texts behind their lengths.
type packer struct{ b []byte }

func (p *packer) text(s string) {
	p.b = append(binary.AppendUvarint(p.b, uint64(len(s))), s...)
}

func (p *packer) num(n int64) { p.b = binary.AppendVarint(p.b, n) }

func (p *packer) bits(all ...bool) {
	n := int64(0)
	for i, set := range all {
		if set {
			n |= 1 << i
		}
	}
	p.num(n)
}

// optional packs a text that may be missing.
func (p *packer) optional(s *string) {
	p.bits(s != nil)
	if s != nil {
		p.text(*s)
	}
}

func (p *packer) header(h session.Header) {
	for _, s := range [...]string{string(h.Agent), string(h.ID), h.Cwd, string(h.ParentSession), h.Origin, h.AgentPreset} {
		p.text(s)
	}
	for _, n := range [...]int64{h.Version, h.CreatedAt, h.SeedLength, h.DelegationDepth} {
		p.num(n)
	}
}

func (p *packer) problem(of *reader.Problem) {
	p.bits(of != nil)
	if of != nil {
		p.text(string(of.Code))
		p.text(of.Path)
		p.num(of.Line)
		p.num(of.Offset)
		p.text(of.Reason)
	}
}

// unpacker reads what a packer wrote. What does not fit makes bad, and zero values.
type unpacker struct {
	b   []byte
	bad bool
}

func (u *unpacker) text() string {
	n, size := binary.Uvarint(u.b)
	if u.bad || size <= 0 || n > uint64(len(u.b)-size) {
		u.bad = true
		return ""
	}
	s := string(u.b[size : size+int(n)])
	u.b = u.b[size+int(n):]
	return s
}

func (u *unpacker) num() int64 {
	n, size := binary.Varint(u.b)
	if u.bad || size <= 0 {
		u.bad = true
		return 0
	}
	u.b = u.b[size:]
	return n
}

// bit reads the flags of one bits call and returns whether some is set.
func (u *unpacker) bits(into ...*bool) {
	n := u.num()
	for i, p := range into {
		*p = n&(1<<i) != 0
	}
}

func (u *unpacker) optional() *string {
	var is bool
	if u.bits(&is); !is {
		return nil
	}
	s := u.text()
	return &s
}

func (u *unpacker) header() session.Header {
	var texts [6]string
	var numbers [4]int64
	for i := range texts {
		texts[i] = u.text()
	}
	for i := range numbers {
		numbers[i] = u.num()
	}
	return session.Header{
		Agent: session.Agent(texts[0]), ID: session.ID(texts[1]), Cwd: texts[2], ParentSession: session.ID(texts[3]), Origin: texts[4], AgentPreset: texts[5],
		Version: numbers[0], CreatedAt: numbers[1], SeedLength: numbers[2], DelegationDepth: numbers[3],
	}
}

func (u *unpacker) problem() *reader.Problem {
	var is bool
	if u.bits(&is); !is {
		return nil
	}
	return &reader.Problem{Code: fault.Code(u.text()), Path: u.text(), Line: u.num(), Offset: u.num(), Reason: u.text()}
}

// done fails if something did not fit.
func (u *unpacker) done(what string) error {
	if u.bad {
		return fmt.Errorf("%w: a session's %s cannot be understood", fault.IndexFailed, what)
	}
	return nil
}

// packRow packs what the engine and a look need of a session.
func packRow(s *ingest.Stored) []byte {
	g := s.Glance()
	p := packer{[]byte{layout}}
	p.text(s.Source)
	p.header(s.Header)
	p.text(string(s.Fork.Parent))
	p.num(s.Fork.Seed)
	p.num(s.Fork.CreatedAt)
	p.num(s.Events)
	p.num(s.Provisional)
	p.optional(s.ShownTitle())
	p.text(string(s.TitleFail))
	p.num(s.LastStep)
	p.num(s.Changed)
	p.problem(s.Problem)
	p.num(s.Clipped)
	p.bits(g.Damaged, g.Alone, g.Divided, g.Unnamed)
	for _, n := range [...]int64{int64(g.Stamp.Device), int64(g.Stamp.Inode), g.Stamp.Size, g.Stamp.ModTime, int64(g.Sum)} {
		p.num(n)
	}
	return p.b
}

// rowFacts are the two views of a packed row.
type rowFacts struct {
	row    query.Row
	glance ingest.Glance
}

func unpackRow(num int64, entries int32, data []byte) (f rowFacts, err error) {
	u, err := opened(data, "row")
	if err != nil {
		return f, err
	}
	r, g := &f.row, &f.glance
	r.Num, r.Documents = num, int64(entries)
	r.Source = u.text()
	h := u.header()
	g.Fork = ingest.Fork{Parent: session.ID(u.text()), Seed: u.num(), CreatedAt: u.num()}
	r.Header = g.Fork.Apply(h)
	r.Events, r.Provisional = u.num(), u.num()
	r.Title, r.TitleFail = u.optional(), fault.Code(u.text())
	r.LastStep, r.Changed = u.num(), u.num()
	if p := u.problem(); p != nil {
		r.Problem, g.Unsound = &query.Problem{Code: p.Code, Line: p.Line, Offset: p.Offset, Reason: p.Reason}, true
	}
	r.Clipped = u.num()
	u.bits(&r.Damaged, &g.Alone, &g.Divided, &g.Unnamed)
	g.Stamp = reader.Stamp{Device: uint64(u.num()), Inode: uint64(u.num()), Size: u.num(), ModTime: u.num()}
	g.Sum = uint64(u.num())
	g.Num, g.Source, g.Damaged, g.Clipped = num, r.Source, r.Damaged, r.Clipped
	return f, u.done("row")
}

func opened(data []byte, what string) (*unpacker, error) {
	if len(data) == 0 || data[0] != layout {
		return nil, fmt.Errorf("%w: a session's %s has a layout that is not known", fault.IndexFailed, what)
	}
	return &unpacker{b: data[1:]}, nil
}

// packRest packs the whole state.
func packRest(s *ingest.Stored) ([]byte, error) {
	p := packer{[]byte{layout}}
	p.text(s.Source)
	p.header(s.Header)
	p.text(string(s.Fork.Parent))
	p.num(s.Fork.Seed)
	p.num(s.Fork.CreatedAt)
	p.bits(s.Settled, s.Alone, s.Divided, s.Prompted, s.Position.State != nil, s.Skip != nil, s.Footprints != nil, s.Calls != nil)
	at := s.Position
	for _, n := range [...]int64{
		at.Next, at.Offset, int64(at.Check), int64(at.Stamp.Device), int64(at.Stamp.Inode), at.Stamp.Size, at.Stamp.ModTime,
		s.Events, s.Provisional, s.LastStep, s.Clipped, s.Changed,
	} {
		p.num(n)
	}
	p.text(string(at.State))
	p.text(s.Mapping)
	p.text(s.Root)
	p.problem(s.Problem)
	p.optional(s.Title)
	p.text(string(s.TitleFail))
	if s.Skip != nil {
		text, err := json.Marshal(s.Skip)
		if err != nil {
			return nil, err
		}
		p.text(string(text))
	}
	p.num(int64(len(s.Footprints)))
	for _, id := range s.Footprints {
		p.text(id)
	}
	p.num(int64(len(s.Calls)))
	for _, c := range s.Calls {
		p.text(c.ID)
		p.text(c.Tool)
	}
	p.naming(&s.Naming)
	return p.b, nil
}

func (p *packer) naming(n *ingest.Naming) {
	p.bits(n.Makeshift, n.Name != nil)
	if n.Name != nil {
		p.text(n.Name.Title)
		p.text(string(n.Name.By))
		p.num(n.Name.CreatedAt)
		p.num(int64(n.Name.Number))
	}
	p.num(int64(n.Sought))
	p.num(int64(len(n.Claims)))
	for _, c := range n.Claims {
		p.text(c.Leaf)
		p.text(c.Title)
	}
}

func (u *unpacker) naming() (n ingest.Naming) {
	var named bool
	if u.bits(&n.Makeshift, &named); named {
		n.Name = &ingest.Name{Title: u.text(), By: session.ID(u.text()), CreatedAt: u.num(), Number: int(u.num())}
	}
	n.Sought = int(u.num())
	for range u.count() {
		n.Claims = append(n.Claims, ingest.Claim{Leaf: u.text(), Title: u.text()})
	}
	return n
}

// count reads how many follow: never more than there are bytes.
func (u *unpacker) count() int64 {
	n := u.num()
	if n < 0 || n > int64(len(u.b)) {
		u.bad = true
		return 0
	}
	return n
}

func unpackRest(num int64, data []byte) (s ingest.Stored, err error) {
	u, err := opened(data, "state")
	if err != nil {
		return s, err
	}
	s.Num, s.Source, s.Header = num, u.text(), u.header()
	s.Fork = ingest.Fork{Parent: session.ID(u.text()), Seed: u.num(), CreatedAt: u.num()}
	var state, skip, footprints, calls bool
	u.bits(&s.Settled, &s.Alone, &s.Divided, &s.Prompted, &state, &skip, &footprints, &calls)
	at := &s.Position
	var check, device, inode int64
	for _, p := range [...]*int64{
		&at.Next, &at.Offset, &check, &device, &inode, &at.Stamp.Size, &at.Stamp.ModTime,
		&s.Events, &s.Provisional, &s.LastStep, &s.Clipped, &s.Changed,
	} {
		*p = u.num()
	}
	at.Check, at.Stamp.Device, at.Stamp.Inode = uint64(check), uint64(device), uint64(inode)
	if text := u.text(); state {
		at.State = json.RawMessage(text)
	}
	s.Mapping, s.Root = u.text(), u.text()
	s.Problem = u.problem()
	s.Title, s.TitleFail = u.optional(), fault.Code(u.text())
	if skip {
		s.Skip = &reader.Skip{}
		if err := json.Unmarshal([]byte(u.text()), s.Skip); err != nil {
			u.bad = true
		}
	}
	if n := u.count(); footprints {
		s.Footprints = make([]string, 0, n)
		for range n {
			s.Footprints = append(s.Footprints, u.text())
		}
	}
	if n := u.count(); calls {
		s.Calls = make([]ingest.Call, 0, n)
		for range n {
			s.Calls = append(s.Calls, ingest.Call{ID: u.text(), Tool: u.text()})
		}
	}
	s.Naming = u.naming()
	s.Footprints, s.Calls = slices.Clip(s.Footprints), slices.Clip(s.Calls)
	return s, u.done("state")
}
