package attack

import (
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/toolset"
)

// How much is tried: a little by every test run, more by the pipeline, the whole of
// it by `make authority`. A failure names the seed of its world, with which -seed
// begins.
var (
	calls = flag.Int("calls", 200, "how many calls are tried on the tools and on the library each; a hundredth of it on other surfaces")
	seed  = flag.Uint64("seed", 1, "the first world")
)

// perWorld is how many calls are made in one world.
const perWorld = 300

// twins are what is left of a world when all is taken away that a caller may not see.
type twins struct {
	t     *testing.T
	world *world
	open  map[string]*yore.History
}

func (w *twins) of(c authz.Caller) *yore.History {
	w.t.Helper()
	name := c.Workspace
	if name == "" && c.Session != nil {
		name = "\x00" + c.Session.String()
	}
	h := w.open[name]
	if h == nil {
		h = w.world.open(w.t, filepath.Join(w.t.TempDir(), fmt.Sprint(len(w.open))), func(head session.Header) bool { return visible(c, head) })
		w.open[name] = h
	}
	return h
}

func (w *twins) close() {
	for _, h := range w.open {
		if err := h.Close(); err != nil {
			w.t.Error(err)
		}
	}
}

// inWorlds runs some calls in each of as many worlds as they need.
func inWorlds(t *testing.T, calls int, ask func(t *testing.T, a *asker, h *yore.History, w *twins)) {
	for n := uint64(0); int(n)*perWorld < calls; n++ {
		at := *seed + n
		t.Run(fmt.Sprint("seed ", at), func(t *testing.T) {
			world := newWorld(at)
			h := world.open(t, t.TempDir(), nil)
			w := &twins{t, world, map[string]*yore.History{}}
			a := newAsker(world, 1)
			for range min(perWorld, calls) {
				if ask(t, a, h, w); t.Failed() {
					break
				}
			}
			w.close()
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAuthorityOfTools makes random calls as random callers and compares each
// answer with the one that the same call has where all that the caller may not see
// does not exist: but for the markers of invisible descendants there is no
// difference in a byte. Besides, no word of a foreign session is in it.
func TestAuthorityOfTools(t *testing.T) {
	answered, found := 0, 0
	inWorlds(t, *calls, func(t *testing.T, a *asker, h *yore.History, w *twins) {
		c := a.caller()
		tool, args := a.call()
		call := toolset.Call{Caller: c, Tool: tool, Args: args, InlineBytes: pick(a.Rand, 0, 0, 0, 600)}
		got, want := h.Tools().Call(t.Context(), call), w.of(c).Tools().Call(t.Context(), call)
		text := whole(got)
		if word := leaked(text, a.world.foreign(c, string(args)+c.Workspace, false)); word != "" {
			t.Errorf("%s %s as %s gives %q away:\n%s", tool, args, who(c), word, text)
		}
		value := facts(t, got.Value)
		if word := leaked(value, a.world.foreign(c, string(args)+c.Workspace, true)); word != "" {
			t.Errorf("the value of %s %s as %s gives %q away:\n%s", tool, args, who(c), word, value)
		}
		if mine, theirs := unmarked(text), unmarked(whole(want)); mine != theirs {
			t.Errorf("%s %s as %s:\n%s\nand where nothing else exists:\n%s", tool, args, who(c), mine, theirs)
		}
		if got.Err == nil {
			answered++
			found += strings.Count(text, "qz")
		}
	})
	t.Logf("%d of %d calls were answered, with %d words", answered, *calls, found)
	if answered < *calls/6 || found < *calls/4 {
		t.Errorf("%d of %d calls were answered, with %d words: ask better ones", answered, *calls, found)
	}
}

func whole(o toolset.Outcome) string {
	if o.Err != nil {
		return "failed: " + o.Err.Error()
	}
	return o.Text
}

func who(c authz.Caller) string {
	if c.Session == nil {
		return fmt.Sprintf("%q", c.Workspace)
	}
	return fmt.Sprintf("%q in %q", c.Session, c.Workspace)
}

// facts prints every field of a value.
func facts(t *testing.T, value any) string {
	t.Helper()
	if s, ok := value.(*toolset.SessionsResult); ok && s != nil {
		value = []any{s.Hits, s.Capped, s.Shared, s.Workspaces, s.Coverage} // without its function
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}
