package tui

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/serve/servetest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// teamed is a stage with one session of this machine's, beside a team's server.
func teamed(t *testing.T, timeout time.Duration) (*servetest.Team, *stage) {
	t.Helper()
	team, s := servetest.New(t), newStage(t)
	team.Put("far", "app", "The ledger", "first walnut", "second walnut", strings.Repeat("long ", 2000)+"end")
	team.Say("far", session.Event{
		Type: session.AssistantMessage, Op: session.Op{Kind: session.OpReplace, Start: 0, End: 1}, Sources: []int64{0, 1},
		Body: session.Body{Speaker: session.Assistant, Blocks: []session.Block{{Text: "a summary"}}},
	})
	team.Put("elsewhere", "lib", "Another one", "a hazelnut")
	s.put(header("near"), "Mine", "a walnut of mine")
	return team, s
}

// This machine's sessions come first, the team's behind them, headed; one of them
// is previewed, opened, traced and paged through like any other.
func TestTeamInTheList(t *testing.T) {
	team, s := teamed(t, time.Minute)
	s.open(func(o *Options) {
		o.Team, o.All = team.History(time.Minute), true
		o.Resume = func(session.Header) string { return "resume it" }
	})
	s.size(130, 34)
	s.wantTitles("Mine", "Another one", "The ledger") // newest first within each part
	s.sees("── team history, from "+strings.TrimPrefix(team.URL, "http://")[:9], "1 session, 2 of the team")

	s.write("walnut")
	s.wantTitles("Mine", "The ledger")
	s.sees("team:far", "1 session, 1 of the team")
	s.keys("down")
	s.sees("first walnut") // the preview asks the team
	s.keys("enter")
	s.sees("The ledger", "dsh app team:far", "5 events", "#0", "by #4", "second walnut", "hit 1 of 2")
	s.keys("n")
	s.sees("hit 2 of 2")
	s.keys("r")
	s.sees("Event #1 of The ledger", "replaced by, and that by: 1", "a summary")
	s.keys("esc", "t")
	s.sees("Where it comes from", "◂ this one")
	s.keys("esc", "R")
	s.sees("no command that resumes")
	s.keys("c")
	s.sees("team:far")

	// The whole text goes to the pager.
	var out bytes.Buffer
	target := query.Target{Key: session.Key{Agent: session.DSH, ID: "team:far"}, Workspace: "app"}
	if err := transcript(t.Context(), s.m, target, &out); err != nil || !strings.Contains(out.String(), "long end") {
		t.Errorf("the pager gets %v:\n%.300s", err, out.String())
	}
}

// A filter narrows both; one that the server does not have is said.
func TestTeamIsFiltered(t *testing.T) {
	team, s := teamed(t, time.Minute)
	s.put(session.Header{Agent: session.DSH, ID: "lib1", Cwd: "/w/lib", CreatedAt: noon}, "In lib", "text")
	s.open(func(o *Options) { o.Team, o.Workspace = team.History(time.Minute), "/w/lib" })
	s.size(130, 34)
	s.wantTitles("In lib", "Another one")
	s.keys("tab", "a")
	s.wantTitles("In lib")
	s.sees("the team is not asked: it cannot filter by agent")
	s.keys("a", "a")
	s.wantTitles("In lib", "Another one")
	s.lacks("not asked")
}

// The list is there while the server does not answer, and says then what is missing.
func TestTeamIsSlowOrGone(t *testing.T) {
	team, s := teamed(t, 100*time.Millisecond)
	release := team.Hold()
	s.open(func(o *Options) { o.Team, o.All = team.History(100*time.Millisecond), true })
	s.size(130, 34)
	s.wantTitles("Mine")
	s.sees("team history: missing. the team's server did not answer within 100ms")
	release()
	s.press("w") // typed; this machine answers before the team is asked
	for len(s.due) > 0 && !s.m.results.ready {
		cmd := s.due[0]
		s.due = s.due[1:]
		if cmd != nil && !isTick(cmd) {
			s.deliver(cmd())
		}
	}
	s.sees("team …")
	s.settle()
	s.lacks("missing")
	team.Close()
	s.write("alnut")
	s.wantTitles("Mine")
	s.sees("team history: missing. the team's server cannot be reached")
}
