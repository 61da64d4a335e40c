package claude

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// inline marks records as an inline subagent's; agent "" is one without an id.
func inline(agent string, list ...rec) []rec {
	for i := range list {
		list[i] = with(list[i], []object{{"isSidechain": true}})
		if agent != "" {
			list[i] = with(list[i], []object{{"agentId": agent}})
		}
	}
	return list
}

// partsOf reads a file's own session and returns its parts.
func partsOf(t *testing.T, src reader.Source) []reader.Source {
	t.Helper()
	return readertest.Parts(t, New(), src)
}

func TestInlineSubagentsAreSessions(t *testing.T) {
	hello := user("u1", "", "hello")
	call := answer("a1", "u1", "m1", callBlock("c1", "Task", object{"prompt": "look"}), callBlock("c2", "Task", object{"prompt": "dig"}))
	look := inline("", user("l1", "", "look", object{"timestamp": "2026-11-01T10:00:01.000Z"}),
		answer("l2", "l1", "ml", textBlock("looking"), callBlock("cl", "Read", object{"file": "x"})),
		result("l3", "l2", "cl", "found"), user("l4", "l3", "again"))
	dig := inline("", user("d1", "", "dig", object{"timestamp": "2026-11-01T10:00:02.000Z"}), answer("d2", "d1", "md", textBlock("dug")))
	// The third rewinds the first one's run.
	src := project(t, lines(hello, call, look[0], dig[0], look[1], result("r2", "a1", "c2", "dug"), dig[1], look[2], look[3],
		inline("", user("l5", "l3", "otherwise"))[0], result("r1", "a1", "c1", "found")))
	parts := partsOf(t, src)
	if len(parts) != 2 {
		t.Fatalf("%d parts", len(parts))
	}
	want := []session.Header{
		{Agent: session.Claude, ID: "s/agent-l1", CreatedAt: 1793527201000, Cwd: "/w", ParentSession: "s", Origin: session.OriginSubagent, DelegationDepth: 1},
		{Agent: session.Claude, ID: "s/agent-d1", CreatedAt: 1793527202000, Cwd: "/w", ParentSession: "s", Origin: session.OriginSubagent, DelegationDepth: 1},
	}
	if diff := cmp.Diff(want, []session.Header{parts[0].Header, parts[1].Header}); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	events, fold, _ := readAll(t, parts[0])
	wantEvents := []string{
		`user/message append title="look" injected: look`, "assistant/message append step assistant: looking",
		`tool/call action: Read {"file":"x"}`, "tool/result append of [2] tool: found", "user/message append injected: again",
		"claude/rewind select 3 []", "user/message append injected: otherwise",
	}
	got := described(events)
	for i := range got {
		got[i] = strings.Replace(got[i], "append tool", "append of [2] tool", 1)
	}
	if diff := cmp.Diff(wantEvents, got); diff != "" {
		t.Errorf("the first one's events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"l1", "l2", "l3:cl", "l5"}, names(events, fold.Surface())); diff != "" {
		t.Errorf("its surface (-want +got):\n%s", diff)
	}
	own, _, _ := readAll(t, src)
	for _, line := range described(own) {
		if strings.Contains(line, "sidechain") && strings.Contains(line, ":") {
			t.Errorf("the session tells it too: %s", line)
		}
	}
}

// team makes a transcript in which a session's records and those of its inline
// subagents stand in any order. Each member's records make a transcript of their
// own, which is what its session has to be.
type team struct {
	random  *rand.Rand
	members []*grower // the first is the session
	agents  []string  // their agent ids; "" is none
	told    []int     // how many records of each are in the file
	text    string
	apart   []string // each member's records alone
}

func newTeam(seed uint64) *team {
	return &team{random: rand.New(rand.NewPCG(seed, 9))}
}

func (tm *team) join(agent string) {
	tm.members = append(tm.members, &grower{random: tm.random, known: map[int][]string{}, tied: agent == "" && len(tm.members) > 0})
	tm.agents, tm.told, tm.apart = append(tm.agents, agent), append(tm.told, 0), append(tm.apart, "")
}

// step lets a member, or a new one, write some records.
func (tm *team) step() {
	if len(tm.members) == 0 {
		tm.join("")
	}
	if len(tm.members) < 5 && tm.random.IntN(6) == 0 {
		tm.join([]string{"", fmt.Sprintf("a%d", len(tm.members))}[tm.random.IntN(2)])
	}
	i := tm.random.IntN(len(tm.members))
	g := tm.members[i]
	g.step()
	for _, e := range g.all[tm.told[i]:] {
		tm.write(i, e.record())
	}
	tm.told[i] = len(g.all)
}

func (tm *team) write(i int, r rec) {
	// Members share no ids, but for a parent that was never written.
	own := func(id string) string {
		if id == "" || id == "-" || id == "nowhere" {
			return id
		}
		return fmt.Sprintf("%c-%s", 'p'+i, id)
	}
	r.id, r.parent = own(r.id), own(r.parent)
	boundary, _ := r.extra["compactMetadata"].(object)
	if kept, ok := boundary["preservedMessages"].(object); ok {
		var ids []string
		for _, id := range kept["uuids"].([]string) {
			ids = append(ids, own(id))
		}
		kept["uuids"] = ids
	}
	if list, ok := r.extra["retractedMessageUuids"].([]string); ok {
		var ids []string
		for _, id := range list {
			ids = append(ids, own(id))
		}
		r.extra["retractedMessageUuids"] = ids
	}
	if i > 0 {
		r = inline(tm.agents[i], r)[0]
	}
	text := strings.NewReplacer(`"msg`, fmt.Sprintf(`"msg-%d-`, i), `"call-`, fmt.Sprintf(`"call-%d-`, i)).Replace(r.String()) + "\n"
	tm.text += text
	tm.apart[i] += text
}

// stripped takes out where events stand.
func stripped(events []session.Event) []session.Event {
	out := append([]session.Event{}, events...)
	for i := range out {
		out[i].Place = session.Place{Inner: out[i].Place.Inner}
	}
	return out
}

// A part is what the subagent's transcript would be if it had a file, and the
// session is what it would be without them, whatever a position remembers and
// wherever the file was cut.
func TestPartsAreWhatFilesWouldBe(t *testing.T) {
	for seed := range uint64(24) {
		tm := newTeam(seed)
		src := project(t, "")
		most := room{whole: []int{0, 900, 1 << 20}[seed%3], tail: 1 + tm.random.IntN(6)}
		type progress struct {
			src    reader.Source
			at     reader.Position
			events []session.Event
		}
		take := func(p *progress) {
			tail, err := read(t.Context(), p.src, p.at, most, func(e session.Event) error { p.events = append(p.events, e); return nil })
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, p.src.Path, err)
			}
			p.at = tail.Position
		}
		own, parts := &progress{src: src}, map[string]*progress{}
		written := 0
		for range 30 {
			for range 1 + tm.random.IntN(4) {
				tm.step()
			}
			cut := written + tm.random.IntN(len(tm.text)-written+1)
			appendTo(t, src.Path, tm.text[written:cut])
			written = cut
			h, err := New().Identify(t.Context(), src.Root, src.Path)
			if err != nil {
				continue
			}
			own.src.Header = h
			take(own)
			for _, part := range New().Parts(own.src, own.at.State) {
				p := parts[part.Path]
				if p == nil {
					p = &progress{}
					parts[part.Path] = p
				}
				p.src = part
				if tm.random.IntN(3) == 0 {
					p.src.End = 0 // as for whoever does not know it
				}
				take(p)
			}
		}
		appendTo(t, src.Path, tm.text[written:])
		take(own)
		got := map[string]*progress{}
		for _, part := range New().Parts(own.src, own.at.State) {
			p := parts[part.Path]
			if p == nil {
				p = &progress{src: part}
			}
			p.src = part
			take(p)
			got[string(part.Header.ID)] = p
		}
		for i, text := range tm.apart[1:] {
			name := tm.agents[i+1]
			if name == "" {
				name = fmt.Sprintf("%c-%s", 'p'+i+1, tm.members[i+1].all[0].id)
			}
			alone := place(t, t.TempDir(), filepath.Join("-w", "s", "subagents", "agent-"+name+".jsonl"), text)
			want, _, _ := readAll(t, alone)
			p := got["s/agent-"+name]
			if p == nil {
				t.Fatalf("seed %d: no part of %s among %d", seed, name, len(got))
			}
			if diff := cmp.Diff(stripped(want), stripped(p.events)); diff != "" {
				t.Fatalf("seed %d, %s (-alone +part):\n%s\n%s", seed, name, diff, tm.text)
			}
		}
		if len(got) != len(tm.apart)-1 {
			t.Errorf("seed %d: %d parts of %d subagents", seed, len(got), len(tm.apart)-1)
		}
		want, wantFold, _ := readAll(t, place(t, t.TempDir(), filepath.Join("-w", "s.jsonl"), tm.apart[0]))
		gotFold := folded(t, own.events)
		if diff := cmp.Diff(names(want, wantFold.Surface()), names(own.events, gotFold.Surface())); diff != "" {
			t.Errorf("seed %d: the session's surface (-alone +with them):\n%s", seed, diff)
		}
	}
}

func TestConformanceOfParts(t *testing.T) {
	tm := newTeam(4)
	for len(tm.members) < 4 || len(tm.text) < 20_000 {
		tm.step()
	}
	src := project(t, tm.text)
	readertest.Run(t, New(), src.Root)
}

// Runs that come one after the other are read once together, not once each.
func TestPartsDoNotMultiplyTheFile(t *testing.T) {
	var text strings.Builder
	text.WriteString(lines(user("u1", "", "hello")))
	const agents = 50
	for i := range agents {
		root := fmt.Sprintf("x%d", i)
		text.WriteString(lines(inline("", user(root, "", "task "+root), answer(root+"a", root, "m"+root, textBlock(strings.Repeat("word ", 200))))...))
	}
	src := project(t, text.String())
	var bytes int64
	parts := partsOf(t, src)
	for _, part := range parts {
		_, tail, err := readertest.ReadFrom(New(), part, reader.Position{})
		if err != nil {
			t.Fatal(err)
		}
		bytes += tail.Bytes
	}
	if len(parts) != agents || bytes > int64(text.Len()) {
		t.Errorf("%d parts took %d bytes of %d", len(parts), bytes, text.Len())
	}
}

func TestHostileNamesOfParts(t *testing.T) {
	for _, agent := range []string{"../../x", "a//b", "a@7", "a/b", strings.Repeat("n", 5000), "\x00", "é", " "} {
		for _, by := range []string{"agent", "uuid"} {
			root := user("x1", "", "task")
			if by == "uuid" {
				root = user(agent, "", "task")
			}
			list := inline("", root)
			if by == "agent" {
				list = inline(agent, root)
			}
			src := project(t, lines(user("u1", "", "hello"), list[0]))
			parts := partsOf(t, src)
			if len(parts) != 1 {
				t.Fatalf("%q as %s: %d parts", agent, by, len(parts))
			}
			id := strings.TrimPrefix(string(parts[0].Header.ID), "s/agent-")
			if clean(id) != id || reader.FileOf(parts[0].Path) != src.Path || len(id) > maxName {
				t.Errorf("%q as %s: id %q at %q", agent, by, id, parts[0].Path)
			}
			if h, err := New().Identify(t.Context(), src.Root, parts[0].Path); err != nil || h != parts[0].Header {
				t.Errorf("%q as %s: identified as %+v, %v", agent, by, h, err)
			}
			if events, _, err := readertest.ReadFrom(New(), parts[0], reader.Position{}); err != nil || len(events) != 1 {
				t.Errorf("%q as %s: %d events, %v", agent, by, len(events), err)
			}
		}
	}
}

func TestTooManyRunsStayTheSessions(t *testing.T) {
	list := []rec{user("u1", "", "hello")}
	for i := range maxRuns + 3 {
		list = append(list, inline("", user(fmt.Sprintf("x%d", i), "", fmt.Sprintf("task %d", i)))[0])
	}
	src := project(t, lines(list...))
	events, _, _ := readAll(t, src)
	told := described(events)
	if len(partsOf(t, src)) != maxRuns || !strings.Contains(told[len(told)-1], fmt.Sprintf("task %d", maxRuns+2)) {
		t.Errorf("%d parts; last is %s", len(partsOf(t, src)), told[len(told)-1])
	}
}

func TestAPartThatIsNotThere(t *testing.T) {
	src := project(t, lines(user("u1", "", "hello"), inline("", user("x1", "", "task"))[0]))
	part := partsOf(t, src)[0]
	if err := os.WriteFile(src.Path, []byte(lines(user("u1", "", "hello!!"), user("u2", "u1", strings.Repeat("more ", 200)))), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New().Identify(t.Context(), src.Root, part.Path); err == nil {
		t.Error("a part is identified that is not there")
	}
}

func TestFindCallOfAnInlineSubagent(t *testing.T) {
	far := strings.Repeat("far ", tailBytes/4)
	for _, test := range []struct {
		name, text string
		want       session.ID
	}{
		{"by its root", lines(append([]rec{user("u1", "", "hello")}, inline("", user("x1", "", "task"), answer("x2", "x1", "m", callBlock("call", "T", object{})))...)...), "s/agent-x1"},
		{"by its id", lines(append([]rec{user("u1", "", "hello")}, inline("ab", answer("x2", "x1", "m", callBlock("call", "T", object{})))...)...), "s/agent-ab"},
		{"too far from its root", lines(append([]rec{user("u1", "", "hello")}, inline("", user("x1", "", "task"), user("x3", "x1", far), answer("x2", "x3", "m", callBlock("call", "T", object{})))...)...), "s"},
		{"the session's own", lines(user("u1", "", "hello"), answer("a1", "u1", "m", callBlock("call", "T", object{}))), "s"},
	} {
		src := project(t, test.text)
		id, ok, err := New().FindCall(t.Context(), src.Root, "/w", "call")
		if err != nil || !ok || id != test.want {
			t.Errorf("%s: %q, %t, %v; want %q", test.name, id, ok, err, test.want)
		}
	}
}

// An identity that two runs have belongs to the one that had it first, however
// the file was read and however little a position holds.
func TestAnIdentityInTwoRuns(t *testing.T) {
	text := lines(user("u1", "", "hello"), inline("", user("a0", "", "one"))[0], inline("", user("b0", "", "two"))[0],
		inline("", user("x", "b0", "of two"))[0], inline("", user("x", "a0", "of one"))[0])
	child := lines(inline("", user("y", "x", "whose"))[0])
	src := project(t, text+child)
	want := partsOf(t, src)
	if len(want) != 2 || want[1].End != int64(len(text+child)) {
		t.Fatalf("the child is not the first one's: %+v", want)
	}
	for _, most := range []room{{whole: 1 << 20}, {tail: 1}} {
		if err := os.WriteFile(src.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ignore := func(session.Event) error { return nil }
		tail, err := read(t.Context(), src, reader.Position{}, most, ignore)
		if err != nil {
			t.Fatal(err)
		}
		appendTo(t, src.Path, child)
		if tail, err = read(t.Context(), src, tail.Position, most, ignore); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, New().Parts(src, tail.Position.State)); diff != "" {
			t.Errorf("%+v (-at once +in pieces):\n%s", most, diff)
		}
	}
}
