package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

func TestStatsText(t *testing.T) {
	s := query.Stats{
		Total: query.Count{Sessions: 3, Events: 90, Documents: 40}, First: 1772442000000, Last: 1772528400000,
		Agents: []query.Count{{Name: "dsh", Sessions: 2, Events: 80, Documents: 32}, {Name: "codex", Sessions: 1, Events: 10, Documents: 8}},
		Days:   []query.Count{{Name: "2026-03-01", Sessions: 1, Documents: 4}, {Name: "2026-03-02", Sessions: 1, Documents: 0}, {Name: "2026-03-03", Sessions: 2, Documents: 36}},
		Tools:  []query.Count{{Name: "a\x1b[31m\nb", Sessions: 1, Documents: 16}, {Name: "漢字", Sessions: 1, Documents: 1}},
	}
	want := `3 sessions, 90 events, 40 with text or a place in a context, from 2026-03-02 to 2026-03-03

AGENT                 SESSIONS  EVENTS
dsh                          2      32  ████████████████
codex                        1       8  ████

DAY                   SESSIONS  EVENTS
2026-03-02                   1       0
2026-03-03                   2      36  ████████████████
 … and 1 earlier

TOOL                  SESSIONS  EVENTS
"a\u001b[31m\u000ab"         1      16  ████████████████
漢字                         1       1  █
`
	if d := cmp.Diff(want, StatsText(s, 2, 56)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for width := range 90 {
		for _, l := range strings.Split(StatsText(s, 2, width), "\n") {
			if w := Width(l); width > 60 && w > width && !strings.HasPrefix(l, "3 sessions") {
				t.Errorf("in %d columns a line has %d: %q", width, w, l)
			}
		}
	}
}

func TestStatsJSON(t *testing.T) {
	s := query.Stats{
		Total: query.Count{Sessions: 1, Events: 9, Documents: 4}, Agents: []query.Count{{Name: "dsh", Sessions: 1, Events: 9, Documents: 4}},
		Activity: []query.Activity{{Day: "2026-03-02", Agent: session.DSH, Sessions: 1, Documents: 4}}, First: 1772442000000, Last: 1772442000000,
	}
	want := `{"total":{"sessions":1,"events":9,"documents":4},"first":"2026-03-02T09:00:00.000Z","last":"2026-03-02T09:00:00.000Z",` +
		`"agents":[{"name":"dsh","sessions":1,"events":9,"documents":4}],"workspaces":[],"days":[],"roles":[],"types":[],"tools":[],` +
		`"activity":[{"day":"2026-03-02","agent":"dsh","sessions":1,"documents":4}]}`
	if d := cmp.Diff(want, string(StatsJSON(s))); d != "" {
		t.Error(d)
	}
}
