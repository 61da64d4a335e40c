package claude

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// tangle makes records out of bytes, four for each, over so few identities that
// everything refers to everything: repeated, cyclic, crossed, in any order.
func tangle(in []byte) string {
	var records []rec
	for ; len(in) >= 4; in = in[4:] {
		name := func(b byte) string { return fmt.Sprintf("x%d", b%31) }
		id, parent := name(in[1]), name(in[2])
		switch in[2] % 11 {
		case 8:
			parent = ""
		case 9:
			parent = "-"
		case 10:
			parent = "nowhere"
		}
		call := fmt.Sprintf("c%d", in[3]%4)
		msg := fmt.Sprintf("m%d", in[3]/4%4)
		extra := object{}
		if in[3] > 225 && in[3] < 241 || in[3] > 250 {
			extra["isSidechain"] = true
		}
		if in[3] > 238 && in[3] < 242 {
			extra["agentId"] = call
		}
		if in[3] > 240 {
			extra["isVirtual"] = true
		}
		var r rec
		switch in[0] % 15 {
		case 14:
			r = rec{"system", id, parent, object{"subtype": "model_refusal_fallback", "retractedMessageUuids": []string{name(in[3]), name(in[3] >> 3)}}}
		case 0, 1:
			r = user(id, parent, "prompt "+call)
		case 2:
			r = answer(id, parent, msg, textBlock("text "+call))
		case 3:
			r = answer(id, parent, msg, textBlock("text c0"), callBlock(call, "T", object{}))
		case 4:
			r = answer(id, parent, msg, callBlock(call, "T", object{}), callBlock("c0", "T", object{}))
		case 5:
			r = result(id, parent, call, "out "+msg)
		case 6:
			r = blocks(id, parent, "user", resultBlock(call, "one"), resultBlock("c1", "two"), textBlock("and"))
		case 7:
			r = rec{"attachment", id, parent, object{"attachment": object{"type": "file", "content": msg}}}
		case 8:
			r = rec{"progress", id, parent, object{}}
		case 9:
			r = compactBoundary(id, object{"preservedMessages": object{"uuids": []string{name(in[2]), name(in[3]), name(in[3] >> 3)}}})
		case 10:
			r = compactSummary(id, parent, "sum")
		case 11:
			r = meta("last-prompt", object{"leafUuid": name(in[1]), "rewound": true})
		case 12:
			r = rec{"system", id, parent, object{"subtype": "microcompact_boundary", "microcompactMetadata": object{"compactedToolIds": []string{call, "c0"}}}}
		case 13:
			r = meta("summary", object{"summary": "title", "leafUuid": name(in[1])})
		}
		if r.kind != "last-prompt" && r.kind != "summary" {
			r = with(r, []object{extra})
		}
		records = append(records, r)
	}
	return lines(records...)
}

// checkTangle checks that a tangle makes a sound session, the same in pieces as
// at once, however little a position holds.
func checkTangle(t *testing.T, in []byte) {
	t.Helper()
	text := tangle(in)
	src := project(t, text)
	events, _, err := readertest.ReadFrom(New(), src, reader.Position{})
	if err != nil {
		t.Fatal(err)
	}
	folded(t, events)
	type grown struct {
		at     reader.Position
		events []session.Event
	}
	for _, most := range []room{{whole: 1 << 20}, {tail: 1}, {tail: 3}, {tail: 100}} {
		if err := os.Truncate(src.Path, 0); err != nil {
			t.Fatal(err)
		}
		var got []session.Event
		var at reader.Position
		parts := map[string]*grown{}
		for written, n := 0, 0; written < len(text); written += n {
			n = min(len(text)-written, 700)
			appendTo(t, src.Path, text[written:written+n])
			tail, err := read(t.Context(), src, at, most, func(e session.Event) error { got = append(got, e); return nil })
			if err != nil {
				t.Fatal(err)
			}
			at = tail.Position
			for _, part := range New().Parts(src, at.State) {
				if parts[part.Path] == nil {
					parts[part.Path] = &grown{}
				}
				p := parts[part.Path]
				tail, err := read(t.Context(), part, p.at, most, func(e session.Event) error { p.events = append(p.events, e); return nil })
				if err != nil {
					t.Fatal(err)
				}
				p.at = tail.Position
			}
		}
		for path, p := range parts {
			part := src
			part.Path = path
			whole, _, _ := readAll(t, part)
			if diff := cmp.Diff(whole, p.events); diff != "" || len(whole) == 0 {
				t.Fatalf("%+v, %s: (-at once +in pieces):\n%s\n%s", most, path, diff, text)
			}
		}
		if diff := cmp.Diff(events, got); diff != "" {
			t.Fatalf("%+v: (-at once +in pieces):\n%s\n%s", most, diff, text)
		}
	}
}

func TestTangles(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 3))
		in := make([]byte, 4*(2+random.IntN(40)))
		for i := range in {
			in[i] = byte(random.Uint32())
		}
		checkTangle(t, in)
	}
}

func FuzzTangle(f *testing.F) {
	f.Add([]byte{0, 1, 8, 0, 3, 2, 1, 1, 5, 3, 2, 1, 9, 4, 2, 3, 10, 5, 4, 0, 0, 6, 3, 0})
	f.Fuzz(checkTangle)
}
