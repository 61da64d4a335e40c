package identity

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yorehq/yore/session"
)

// lateCalls is a transcript that holds the call only after a while.
type lateCalls struct {
	from  time.Time
	looks int
}

func (l *lateCalls) FindCall(_ context.Context, _ string, call PendingCall) ([]session.Key, error) {
	l.looks++
	if call.ID != "toolu_1" || time.Now().Before(l.from) {
		return nil, nil
	}
	return []session.Key{{Agent: claude, ID: "me"}}, nil
}

type anyone struct{}

func (anyone) HasSession(context.Context, string, session.Key) (bool, error) { return true, nil }

func TestWaitsForTheTranscriptOnlyWhenTheOwnSessionIsAsked(t *testing.T) {
	for _, c := range []struct {
		name, tool, args string
		after            time.Duration
		want             bool
		most             time.Duration
	}{
		{"own, late", "session_event_search", `{"query":"x"}`, 900 * time.Millisecond, true, time.Second},
		{"own, never", "session_trace", `{}`, time.Hour, false, 1100 * time.Millisecond},
		{"own, at once", "session_trace", ``, 0, true, 0},
		{"another", "session_event_read", `{"session_id":"a","seq":1}`, 900 * time.Millisecond, false, 0},
		{"search over sessions", "session_search", `{"query":"x"}`, 900 * time.Millisecond, false, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := &lateCalls{from: time.Now().Add(c.after)}
			r, err := New(Options{Workspace: "/w", Finder: anyone{}, Calls: calls})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			got, err := r.Caller(t.Context(), Call{Client: "claude-code", Tool: c.tool, Args: json.RawMessage(c.args),
				Meta: map[string]any{"claudecode/toolUseId": "toolu_1"}})
			if err != nil || (got.Session != nil) != c.want {
				t.Errorf("%s: %+v, %v", c.name, got, err)
			}
			if took := time.Since(start); took > c.most {
				t.Errorf("%s: waited %v", c.name, took)
			}
		})
	}
}

// lateLogs hold a pending call of one agent after a while.
type lateLogs struct {
	from  time.Time
	agent session.Agent
}

func (l lateLogs) FindCall(_ context.Context, _ string, call PendingCall) ([]session.Key, error) {
	if call.Agent != l.agent || time.Now().Before(l.from) {
		return nil, nil
	}
	return []session.Key{{Agent: l.agent, ID: "me"}}, nil
}

// The logs of Kimi Code and Copilot CLI lag behind their calls; for an agent whose log does not, nobody
// waits.
func TestWaitsForALogThatLags(t *testing.T) {
	for _, c := range []struct {
		client, tool string
		agent        session.Agent
		want         bool
		most         time.Duration
	}{
		{"kimi-code", "session_trace", session.Kimi, true, time.Second},
		{"kimi-code", "session_search", session.Kimi, false, 0},
		{"copilot-cli", "session_trace", "copilot", true, time.Second},
		{"pi", "session_trace", session.Pi, false, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, err := New(Options{Workspace: "/w", Finder: anyone{}, Calls: lateLogs{time.Now().Add(300 * time.Millisecond), c.agent}})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			got, err := r.Caller(t.Context(), Call{Client: c.client, Tool: c.tool, Args: json.RawMessage(`{}`)})
			if took := time.Since(start); err != nil || (got.Session != nil) != c.want || took > c.most {
				t.Errorf("%s, %s: %+v, %v after %v", c.client, c.tool, got, err, took)
			}
		})
	}
}
