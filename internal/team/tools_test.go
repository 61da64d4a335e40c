package team_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/toolset"
)

// local is a machine that says what it was asked.
type local struct{ asked []string }

func (l *local) Call(_ context.Context, call toolset.Call) toolset.Outcome {
	l.asked = append(l.asked, call.Tool+" "+string(call.Args))
	return toolset.Outcome{Text: "of this machine\n"}
}

// far is a team's server that says what it was asked.
type far struct {
	*httptest.Server
	asked  []string
	wait   time.Duration
	status int
	answer string
}

func newFar(t *testing.T) *far {
	f := &far{status: 200, answer: `{"text":"of the team\n"}`}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var q struct{ Arguments json.RawMessage }
		_ = json.Unmarshal(body, &q)
		f.asked = append(f.asked, fmt.Sprint(r.URL.Path, " ", r.Header.Get("Yore-Workspace"), " ", string(q.Arguments)))
		select {
		case <-time.After(f.wait):
		case <-r.Context().Done():
			return
		}
		w.WriteHeader(f.status)
		_, _ = io.WriteString(w, f.answer)
	}))
	t.Cleanup(f.Close)
	return f
}

func tools(t *testing.T, f *far) (*team.Tools, *local) {
	t.Helper()
	s, err := team.Dial(team.Options{URL: f.URL, Token: "yore_x", Timeout: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	l := &local{}
	return &team.Tools{Local: l, Server: s, Name: func(w string) string { return "name of " + w }}, l
}

// Who is asked what: a search both, unless its ids say otherwise; all else whoever
// has the session. The prefix is taken off for the team.
func TestWhoIsAsked(t *testing.T) {
	const narrow = "name+of+%2Fw"
	for _, tc := range []struct{ tool, args, here, there string }{
		{"session_search", `{"query":"x"}`, `{"query":"x"}`, `{"query":"x"}`},
		{"session_search", `{"query":"x","session_ids":["a","team:b"]}`, `{"query":"x","session_ids":["a"]}`, `{"query":"x","session_ids":["b"]}`},
		{"session_search", `{"query":"x","session_ids":["a"]}`, `{"query":"x","session_ids":["a"]}`, ""},
		{"session_search", `{"query":"x","session_ids":["team:b"]}`, "", `{"query":"x","session_ids":["b"]}`},
		{"session_search", `{"query":"x","parent_session_ids":["dsh:team:b"]}`, "", `{"parent_session_ids":["dsh:b"],"query":"x"}`},
		{"session_search", `{"query":"x","session_ids":["a"],"parent_session_ids":["team:b"]}`, `{"query":"x","session_ids":["a"],"parent_session_ids":["team:b"]}`, ""},
		{"session_search", `{"query":"x","session_ids":[]}`, `{"query":"x","session_ids":[]}`, `{"query":"x","session_ids":[]}`},
		{"session_search", `[]`, `[]`, ""},
		{"session_search", `{`, `{`, ""},
		{"session_trace", `{}`, `{}`, ""},
		{"session_trace", `{"session_id":"a"}`, `{"session_id":"a"}`, ""},
		{"session_trace", `{"session_id":"team:a"}`, "", `{"session_id":"a"}`},
		{"session_trace", `{"session_id":"claude-code:team:a"}`, "", `{"session_id":"claude-code:a"}`},
		{"session_trace", `{"session_id":"steam:a"}`, `{"session_id":"steam:a"}`, ""},
		{"session_event_read", `{"session_id":"team:team:a","seq":9007199254740993}`, "", `{"seq":9007199254740993,"session_id":"team:a"}`},
		{"session_event_read", `{"session_id":7}`, `{"session_id":7}`, ""},
	} {
		f := newFar(t)
		tools, l := tools(t, f)
		tools.Call(t.Context(), toolset.Call{Caller: authz.Caller{Workspace: "/w"}, Tool: tc.tool, Args: json.RawMessage(tc.args)})
		var here, there []string
		if tc.here != "" {
			here = []string{tc.tool + " " + tc.here}
		}
		if tc.there != "" {
			there = []string{"/v1/tools/" + tc.tool + " " + narrow + " " + tc.there}
		}
		if diff := cmp.Diff(here, l.asked); diff != "" {
			t.Errorf("%s %s: this machine (-want +got):\n%s", tc.tool, tc.args, diff)
		}
		if diff := cmp.Diff(there, f.asked); diff != "" {
			t.Errorf("%s %s: the team (-want +got):\n%s", tc.tool, tc.args, diff)
		}
	}
	// Who has no workspace sees no session but its own, on this machine.
	f := newFar(t)
	tools, l := tools(t, f)
	tools.Call(t.Context(), toolset.Call{Tool: "session_search", Args: json.RawMessage(`{"query":"x"}`)})
	if len(l.asked) != 1 || len(f.asked) != 0 {
		t.Errorf("%v %v", l.asked, f.asked)
	}
}

// Both parts, each under its heading; whatever is wrong with the server, this
// machine's part is there, by the deadline, and says what is missing.
func TestBoth(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*far)
		want   string
	}{
		"both":        {func(*far) {}, "of this machine\n\n[team history, from HOST; ids of its sessions begin with team:]\nof the team"},
		"empty":       {func(f *far) { f.answer = `{"text":"No session.","empty":true}` }, "of this machine\n\n[team history: nothing found]"},
		"slow":        {func(f *far) { f.wait = time.Minute }, "of this machine\n\n[team history: missing. the team's server did not answer within 500ms; what stands above is of this machine alone]"},
		"gone":        {func(f *far) { f.Close() }, "of this machine\n\n[team history: missing. the team's server cannot be reached; what stands above is of this machine alone]"},
		"refused":     {func(f *far) { f.status = 401 }, "of this machine\n\n[team history: missing. the team's server refuses the token; what stands above is of this machine alone]"},
		"busy":        {func(f *far) { f.status = 429 }, "of this machine\n\n[team history: missing. the team's server is busy; what stands above is of this machine alone]"},
		"broken":      {func(f *far) { f.status = 500 }, "of this machine\n\n[team history: missing. the team's server answered 500; what stands above is of this machine alone]"},
		"no server":   {func(f *far) { f.answer = "<html>" }, "of this machine\n\n[team history: missing. the team's server cannot be reached; what stands above is of this machine alone]"},
		"two answers": {func(f *far) { f.answer = `{"text":"x"} {"text":"y"}` }, "of this machine\n\n[team history: missing. the team's server cannot be reached; what stands above is of this machine alone]"},
	} {
		f := newFar(t)
		tools, _ := tools(t, f)
		tc.change(f)
		began := time.Now()
		out := tools.Call(t.Context(), toolset.Call{Caller: authz.Caller{Workspace: "/w"}, Tool: "session_search", Args: json.RawMessage(`{"query":"x"}`)})
		if got := strings.ReplaceAll(out.Text, tools.Server.Host(), "HOST"); got != tc.want || out.Err != nil {
			t.Errorf("%s:\n%s\nwant\n%s\n(%v)", name, got, tc.want, out.Err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s took %s", name, took)
		}
	}
	// A failure of the server's tools is told as they tell it.
	f := newFar(t)
	f.status, f.answer = 404, `{"error":{"code":"SESSION_QUERY_TOOL_UNAUTHORIZED","message":"There is no such session."}}`
	tools, _ := tools(t, f)
	out := tools.Call(t.Context(), toolset.Call{Caller: authz.Caller{Workspace: "/w"}, Tool: "session_trace", Args: json.RawMessage(`{"session_id":"team:a"}`)})
	if !errors.Is(out.Err, fault.Unauthorized) || out.Err.Error() != "SESSION_QUERY_TOOL_UNAUTHORIZED: There is no such session." {
		t.Error(out.Err)
	}
}

// The token goes nowhere in the clear.
func TestDial(t *testing.T) {
	for url, ok := range map[string]bool{
		"https://yore.example.com": true, "https://yore.example.com:8443/base": true, "http://127.0.0.1:7460": true, "http://[::1]:7460": true, "http://localhost:1": true,
		"http://yore.example.com": false, "http://127.0.0.1.example.com": false, "http://localhost.example.com": false, "ftp://x": false, "yore.example.com": false, "": false,
		"https://user:pass@yore.example.com": false, "https://yore.example.com?x=1": false, "//yore.example.com": false,
	} {
		_, err := team.Dial(team.Options{URL: url, Token: "yore_x"})
		if (err == nil) != ok || err != nil && !errors.Is(err, fault.InvalidConfig) {
			t.Errorf("%q: %v", url, err)
		}
	}
	for _, token := range []string{"", "a b", "a\nb", "ä"} {
		if _, err := team.Dial(team.Options{URL: "https://yore.example.com", Token: token}); !errors.Is(err, fault.InvalidConfig) {
			t.Errorf("%q: %v", token, err)
		}
	}
}

func TestNoRedirect(t *testing.T) {
	followed := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	s, err := team.Dial(team.Options{URL: first.URL, Token: "yore_x"})
	if err != nil {
		t.Fatal(err)
	}
	var status *team.StatusError
	if _, err := s.Ask(t.Context(), team.Question{Tool: "session_search"}); !errors.As(err, &status) || status.Status != 307 || followed {
		t.Errorf("%v, followed: %t", err, followed)
	}
}
