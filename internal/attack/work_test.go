package attack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/toolset"
)

// work is what an answer cost.
type work struct {
	statements []string // as SQL, without what is bound to them
	reads      string   // calls and bytes, as the system counts them; "" where it does not
}

func (w work) same(o work) bool {
	return w.reads == o.reads && slices.Equal(w.statements, o.statements)
}

// neighbour is a word that stands beside another one in every index.
func neighbour(word string, by int) string {
	return word[:len(word)-1] + string(rune(int(word[len(word)-1])+by))
}

// watch has the database driver tell of every statement that any connection runs
// from now on, and returns what takes the statements since it was last called.
func watch() func() []string {
	var seen atomic.Pointer[[]string]
	seen.Store(new([]string))
	sqlite3.AutoExtension(func(c *sqlite3.Conn) error {
		return c.Trace(sqlite3.TRACE_STMT, func(_ sqlite3.TraceEvent, _, sql any) error {
			list := append(slices.Clone(*seen.Load()), fmt.Sprint(sql))
			seen.Store(&list)
			return nil
		})
	})
	return func() []string { return *seen.Swap(new([]string)) }
}

// reads returns how often and how much this process has read from files.
func reads() (calls, bytes int64) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, 0
	}
	fmt.Sscanf(string(text), "rchar: %d", &bytes)
	if _, rest, ok := strings.Cut(string(text), "syscr: "); ok {
		fmt.Sscanf(rest, "%d", &calls)
	}
	return calls, bytes
}

// TestMissingAndForbiddenCostTheSame names sessions that exist elsewhere, and ones
// that exist nowhere and are called alike: answers are the same bytes, after the
// same statements and as many reads of files.
func TestMissingAndForbiddenCostTheSame(t *testing.T) {
	statements := watch()
	compared := 0
	for n := uint64(0); n < uint64(max(1, min(*calls/1500, 40))); n++ {
		world := newWorld(*seed + n)
		dir := t.TempDir()
		h := world.open(t, filepath.Join(dir, "all"), nil)
		a := newAsker(world, 6)
		for _, workspace := range a.workspaces() {
			c := authz.Caller{Workspace: workspace}
			// Afterwards nothing is left that only the first question does.
			h.Tools().Call(t.Context(), toolset.Call{Caller: c, Tool: "session_search", Args: json.RawMessage(`{"query":"zephyr"}`)})
			specs := slices.Clone(world.specs)
			if *calls < 1000 {
				a.Shuffle(len(specs), func(i, j int) { specs[i], specs[j] = specs[j], specs[i] })
				specs = specs[:min(len(specs), 5)]
			}
			for _, s := range specs {
				id := string(s.header.ID)
				if a.IntN(3) == 0 {
					id = s.header.Key().String()
				}
				if slices.ContainsFunc(world.specs, func(o *spec) bool {
					_, bare, _ := strings.Cut(id, ":")
					return visible(c, o.header) && (string(o.header.ID) == id || string(o.header.ID) == bare)
				}) {
					continue
				}
				words := markers(id)
				last := words[len(words)-1]
				before, behind := strings.ReplaceAll(id, last, neighbour(last, -1)), strings.ReplaceAll(id, last, neighbour(last, 1))
				for tool, args := range map[string]string{
					"session_trace": `{"session_id":%s}`, "session_event_read": `{"session_id":%s,"seq":1}`, "session_event_trace": `{"session_id":%s,"seq":1}`,
					"session_event_search": `{"session_id":%s,"query":"zephyr"}`,
					"session_search":       pick(a.Rand, `{"query":"zephyr","parent_session_ids":[%s]}`, `{"query":"zephyr","session_ids":[%s]}`, `{"query":"zephyr","parent_session_ids":[%s],"include_root_sessions":true}`),
				} {
					ask := func(id string) (string, work) {
						call := toolset.Call{Caller: c, Tool: tool, Args: json.RawMessage(fmt.Sprintf(args, quote(id)))}
						h.Tools().Call(t.Context(), call)
						statements()
						calls, bytes := reads()
						o := h.Tools().Call(t.Context(), call)
						calls2, bytes2 := reads()
						return whole(o), work{statements(), fmt.Sprint(calls2-calls, " reads, ", (bytes2-bytes)/256, " times 256 bytes")}
					}
					forbidden, cost := ask(id)
					missing, costs := ask(before)
					// Now and then a look at the logs is due, whoever asks; and where an
					// index's page ends, what stands before costs another than what
					// stands behind.
					for try := 0; try < 8 && !cost.same(costs); try++ {
						_, cost = ask(id)
						_, costs = ask(pick(a.Rand, before, behind))
					}
					if forbidden != missing {
						t.Errorf("seed %d: %s of %q in %q answers\n%s\nand of the missing %q\n%s", world.seed, tool, id, workspace, forbidden, before, missing)
					}
					if a, b := strings.Join(cost.statements, "\n"), strings.Join(costs.statements, "\n"); a != b {
						t.Errorf("seed %d: %s of %q in %q runs\n%s\nand of the missing %q\n%s", world.seed, tool, id, workspace, a, before, b)
					}
					if cost.reads != costs.reads {
						t.Errorf("seed %d: %s of %q in %q takes %s, of a missing one %s", world.seed, tool, id, workspace, cost.reads, costs.reads)
					}
					if len(cost.statements) == 0 {
						t.Errorf("%s runs no statement: the test watches nothing", tool)
					}
					compared++
				}
			}
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d pairs of answers compared", compared)
	if compared < 20 {
		t.Errorf("%d pairs of answers compared: make more worlds", compared)
	}
}
