package query_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// TestStatsAgreeWithACountByHand counts the passages that a script says by hand.
func TestStatsAgreeWithACountByHand(t *testing.T) {
	zone := time.FixedZone("here", 5*3600+30*60)
	r := rand.New(rand.NewPCG(4, 4))
	m := newMemory(t)
	type tally struct{ sessions, documents map[string]int64 }
	want := map[string]tally{}
	add := func(kind, name string, seen map[string]bool) {
		c, ok := want[kind]
		if !ok {
			c = tally{map[string]int64{}, map[string]int64{}}
			want[kind] = c
		}
		c.documents[name]++
		if !seen[kind+"\x00"+name] {
			seen[kind+"\x00"+name] = true
			c.sessions[name]++
		}
	}
	var documents, events int64
	agents := []session.Agent{session.DSH, session.Claude, session.Codex}
	for i := range 7 {
		h := header(fmt.Sprint("s", i), []string{"/w", "/v"}[i%2])
		h.Agent = agents[i%3]
		n := 20 + r.Int64N(60)
		if i == 3 {
			h.SeedLength, h.ParentSession = 10, "s1"
		}
		seen := map[string]bool{}
		events += n - h.SeedLength
		for _, p := range script(t, r, m, h, n) {
			if p.Seq < h.SeedLength {
				continue
			}
			documents++
			day := time.UnixMilli(p.Time).In(zone).Format("2006-01-02")
			add("agent", string(h.Agent), seen)
			add("workspace", h.Cwd, seen)
			add("type", p.Type, seen)
			add("role", p.Role.String(), seen)
			add("day", day, seen)
			add("activity", day+" "+string(h.Agent), seen)
			if p.Tool != "" {
				add("tool", p.Tool, seen)
			}
		}
	}
	e := engine(t, query.Config{Disk: m.Corpus})
	got, err := e.Stats(t.Context(), query.SessionFilter{Scope: session.Scope{All: true}}, zone)
	if err != nil {
		t.Fatal(err)
	}
	if got.Total != (query.Count{Sessions: 7, Events: events, Documents: documents}) {
		t.Errorf("total %+v, want %d events and %d documents", got.Total, events, documents)
	}
	for kind, list := range map[string][]query.Count{
		"agent": got.Agents, "workspace": got.Workspaces, "type": got.Types, "role": got.Roles, "tool": got.Tools, "day": got.Days,
	} {
		c := tally{map[string]int64{}, map[string]int64{}}
		for _, one := range list {
			c.documents[one.Name], c.sessions[one.Name] = one.Documents, one.Sessions
		}
		if diff := gocmp.Diff(want[kind].documents, c.documents); diff != "" {
			t.Errorf("documents by %s (-want +got):\n%s", kind, diff)
		}
		if diff := gocmp.Diff(want[kind].sessions, c.sessions); diff != "" {
			t.Errorf("sessions by %s (-want +got):\n%s", kind, diff)
		}
		if kind == "day" {
			if !slices.IsSortedFunc(list, func(a, b query.Count) int { return strings.Compare(a.Name, b.Name) }) {
				t.Errorf("days out of order: %v", list)
			}
		} else if !slices.IsSortedFunc(list, func(a, b query.Count) int { return int(b.Documents - a.Documents) }) {
			t.Errorf("%s out of order: %v", kind, list)
		}
	}
	activity := map[string]int64{}
	for _, a := range got.Activity {
		activity[a.Day+" "+string(a.Agent)] = a.Documents
	}
	if diff := gocmp.Diff(want["activity"].documents, activity); diff != "" {
		t.Errorf("activity (-want +got):\n%s", diff)
	}
	if len(got.Days) < 3 || got.Days[0].Name != time.UnixMilli(got.First).In(zone).Format(time.DateOnly) {
		t.Errorf("first %d, days %v", got.First, got.Days)
	}
	only, err := e.Stats(t.Context(), query.SessionFilter{Scope: session.Scope{All: true}, Agents: []session.Agent{session.Codex}}, nil)
	if err != nil || len(only.Agents) != 1 || only.Total.Documents != want["agent"].documents["codex"] || only.Total.Sessions != 2 {
		t.Errorf("of one agent: %+v, %v", only.Total, err)
	}
}

// TestStatsReadNoTexts: a filter without a text touches no text.
func TestStatsReadNoTexts(t *testing.T) {
	m := newMemory(t)
	m.put(header("s", "/w"), "one zephyr", "two", "three")
	m.put(header("t", "/w"), "four")
	records, texts := 0, 0
	corpus := m.Corpus
	corpus.Store = recordCounter{m.Corpus.Store, &records, &texts}
	e := engine(t, query.Config{Disk: corpus})
	got, err := e.Stats(t.Context(), workspaces("/w"), nil)
	if err != nil || got.Total.Documents != 4 || texts != 0 {
		t.Errorf("%+v with %d texts read, %v", got.Total, texts, err)
	}
	filter := workspaces("/w")
	filter.Text = "zephyr"
	if got, err = e.Stats(t.Context(), filter, nil); err != nil || got.Total.Documents != 3 || got.Total.Sessions != 1 {
		t.Errorf("with a text: %+v, %v", got.Total, err)
	}
}
