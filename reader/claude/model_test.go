package claude

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// entry is one record of a generated transcript, as the model sees it.
type entry struct {
	id, parent string // parent "": a root
	kind       string // user, assistant, result, attachment, boundary, summary
	msg        string
	calls      []string
	answers    string
	kept       []string // of a boundary
	withdrawn  []string // by a fallback
	missing    bool     // its parent was never written
	at         int
	end        string // then: the live end when it was written
}

func (e *entry) talks() bool {
	return e.kind != "attachment" && e.kind != "boundary" && e.kind != "fallback"
}

func (e *entry) record() rec {
	switch e.kind {
	case "assistant":
		var list []object
		for _, c := range e.calls {
			list = append(list, callBlock(c, "Bash", object{"command": c}))
		}
		if list == nil {
			list = append(list, textBlock("text of "+e.id))
		}
		return answer(e.id, e.parent, e.msg, list...)
	case "result":
		return result(e.id, e.parent, e.answers, "output of "+e.answers)
	case "attachment":
		return rec{"attachment", e.id, e.parent, object{"attachment": object{"type": "file", "content": e.id}}}
	case "fallback":
		return rec{"system", e.id, e.parent, object{"subtype": "model_refusal_fallback", "retractedMessageUuids": e.withdrawn}}
	case "boundary":
		m := object{"trigger": "auto"}
		if e.kept != nil {
			m["preservedMessages"] = object{"uuids": e.kept}
		}
		return compactBoundary(e.id, m)
	case "summary":
		return compactSummary(e.id, e.parent, "summary "+e.id)
	}
	return user(e.id, e.parent, "prompt "+e.id)
}

// live is the slow model: the whole file is looked at again for every answer.
// It finds the latest record that talks (results of live calls do not count: they
// move nothing and hang on what was the end), follows the parents to a root, adds what is live without a
// parent, and returns the ids in order.
func (g *grower) live(n int) []string {
	if list, ok := g.known[n]; ok {
		return list
	}
	list := g.walk(g.all[:n])
	g.known[n] = list
	return list
}

func (g *grower) walk(all []*entry) []string {
	byID := map[string]*entry{}
	parent := map[string]string{}
	keptBy := map[string]string{}
	keeps := map[string][]string{} // by summary
	var leaf *entry
	for i, e := range all {
		byID[e.id] = e
		parent[e.id] = e.parent
		if e.missing {
			parent[e.id] = e.end
		}
		if e.kind == "summary" {
			b := byID[e.parent]
			was := g.live(b.at)
			at := e.id
			for _, k := range b.kept {
				if slices.Contains(was, k) {
					parent[k], keptBy[k] = at, e.id
					keeps[e.id] = append(keeps[e.id], k)
					at = k
				}
			}
		}
		if was := g.live(i); e.kind == "result" && answersLive(all, was, e) {
			parent[e.id] = was[len(was)-1]
		} else if e.talks() {
			leaf = all[i]
		}
	}
	if leaf == nil {
		return nil
	}
	var walk []string
	for id := leaf.id; id != "" && byID[id] != nil && !slices.Contains(walk, id); id = parent[id] {
		walk = append(walk, id)
	}
	slices.Reverse(walk)
	var list []string
	for i, id := range walk {
		list = append(list, id)
		if i+1 < len(walk) && keptBy[walk[i+1]] == id {
			continue
		}
		for _, k := range keeps[id] {
			if keptBy[id] == "" && keptBy[k] == id && !slices.Contains(walk, k) {
				list = append(list, k)
			}
		}
	}
	insert := func(e *entry) { // behind what is older, or was kept
		at := len(list)
		for at > 0 && byID[list[at-1]].at > e.at && keptBy[list[at-1]] == "" {
			at--
		}
		list = slices.Insert(list, at, e.id)
	}
	// What is live without a parent.
	attracts := func(id string) bool { return slices.Contains(list, id) && keptBy[id] == "" }
	for _, e := range all {
		if slices.Contains(list, e.id) {
			continue
		}
		attached := slices.ContainsFunc(all, func(o *entry) bool {
			return attracts(o.id) && (e.msg != "" && e.msg == o.msg || e.answers != "" && slices.Contains(o.calls, e.answers))
		})
		if !attached {
			continue
		}
		insert(e)
	}
	for _, e := range all[leaf.at+1:] {
		attachment := !e.talks() && e.kind != "boundary" && slices.Contains(list, parent[e.id])
		if !slices.Contains(list, e.id) && (attachment || e.kind == "result" && answersLive(all, list, e)) {
			insert(e)
		}
	}
	return list
}

func answersLive(all []*entry, list []string, r *entry) bool {
	return slices.ContainsFunc(all, func(o *entry) bool {
		return slices.Contains(o.calls, r.answers) && slices.Contains(list, o.id)
	})
}

// grower makes a random transcript, record by record.
type grower struct {
	random *rand.Rand
	all    []*entry
	open   []*entry // results that are still to be written
	count  int
	known  map[int][]string // answers of the model, by length
	tied   bool             // every record but the first hangs on an earlier one
}

func (g *grower) add(e *entry) *entry {
	g.count++
	e.id, e.at = fmt.Sprintf("%s%d", e.kind[:1], g.count), len(g.all)
	g.all = append(g.all, e)
	return e
}

func (g *grower) end() string {
	if list := g.live(len(g.all)); len(list) > 0 {
		return list[len(list)-1]
	}
	return ""
}

// respond writes a response of one to three records; calls are answered in any
// order, hanging on their calls or, as old releases wrote them, in a chain.
func (g *grower) respond(parent string, late bool) {
	g.count++
	msg := fmt.Sprintf("msg%d", g.count)
	var results []*entry
	for range 1 + g.random.IntN(3) {
		e := g.add(&entry{kind: "assistant", parent: parent, msg: msg})
		parent = e.id
		if g.random.IntN(2) == 0 {
			e.calls = []string{"call-" + e.id}
			results = append(results, &entry{kind: "result", parent: e.id, answers: e.calls[0]})
		}
	}
	g.random.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
	chained := g.random.IntN(4) == 0
	for _, r := range results {
		if late && g.random.IntN(3) == 0 {
			g.open = append(g.open, r)
			continue
		}
		if chained {
			r.parent = parent
		}
		parent = g.add(r).id
	}
}

func (g *grower) step() {
	list := g.live(len(g.all))
	end := g.end()
	pick := func(from []string) string { return from[g.random.IntN(len(from))] }
	n := g.random.IntN(21)
	if g.tied && n >= 13 && n < 18 {
		n = 19
	}
	switch {
	case n < 8 || len(list) == 0:
		g.respond(g.add(&entry{kind: "user", parent: end}).id, n == 0)
	case n < 10:
		g.add(&entry{kind: "attachment", parent: end})
	case n < 12: // rewind
		g.add(&entry{kind: "user", parent: pick(list)})
	case n < 13: // back to anything ever written
		e := g.all[g.random.IntN(len(g.all))]
		g.add(&entry{kind: "user", parent: e.id})
	case n < 14 && len(g.open) > 0: // a result that comes late
		r := g.open[0]
		g.open = g.open[1:]
		g.add(r)
	case n < 15: // clear
		g.add(&entry{kind: "user"})
	case n < 16:
		g.add(&entry{kind: "user", parent: "nowhere", missing: true, end: end})
	case n < 18:
		var kept []string
		for i, id := range list {
			if id[0] == 'b' {
				continue
			}
			switch g.random.IntN(2) + n - 16 {
			case 0:
			case 1: // a suffix
				if i > len(list)-3 {
					kept = append(kept, id)
				}
			default: // scattered
				if g.random.IntN(4) == 0 {
					kept = append(kept, id)
				}
			}
		}
		b := g.add(&entry{kind: "boundary", kept: kept})
		g.add(&entry{kind: "summary", parent: b.id})
	case n == 20: // another model answers in the place of some messages
		var withdrawn []string
		for _, id := range list {
			if g.random.IntN(4) == 0 {
				withdrawn = append(withdrawn, id)
			}
		}
		g.add(&entry{kind: "fallback", parent: end, withdrawn: withdrawn})
	default:
		g.respond(end, false)
	}
}

// visible takes out of the model's list what is not on the surface.
func (g *grower) visible(list []string) []string {
	out := []string{}
	for _, id := range list {
		if slices.ContainsFunc(g.all, func(e *entry) bool { return slices.Contains(e.withdrawn, id) }) {
			continue
		}
		i := slices.IndexFunc(g.all, func(e *entry) bool { return e.id == id })
		switch e := g.all[i]; e.kind {
		case "boundary", "fallback":
		case "result":
			out = append(out, id+":"+e.answers)
		default:
			out = append(out, id)
		}
	}
	return out
}

// The surface of a growing transcript is what the slow model finds by walking
// from the latest leaf to the root, whatever a position remembers, and the
// events are those of one reading.
func TestSurfaceIsTheWalkFromTheLeaf(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 7))
		g := &grower{random: random, known: map[int][]string{}}
		src := project(t, "")
		var at reader.Position
		var events []session.Event
		most := room{whole: []int{0, 600, 1 << 20}[seed%3], tail: 1 + random.IntN(6)}
		written := 0
		for range 25 {
			for range 1 + random.IntN(3) {
				g.step()
			}
			var text string
			for _, e := range g.all[written:] {
				text += e.record().String() + "\n"
			}
			written = len(g.all)
			appendTo(t, src.Path, text)
			tail, err := read(context.Background(), src, at, most, func(e session.Event) error {
				events = append(events, e)
				return nil
			})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			at = tail.Position
			got := names(events, folded(t, events).Surface())
			if diff := cmp.Diff(g.visible(g.live(len(g.all))), got); diff != "" {
				content, _ := os.ReadFile(src.Path)
				t.Fatalf("seed %d, after %d records (-model +reader):\n%s\n%s", seed, len(g.all), diff, content)
			}
		}
		whole, _, _ := readAll(t, src)
		if diff := cmp.Diff(whole, events); diff != "" {
			t.Fatalf("seed %d (-at once +in pieces):\n%s", seed, diff)
		}
	}
}

func appendTo(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
