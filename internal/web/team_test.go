package web_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/internal/serve/servetest"
	"github.com/yorehq/yore/internal/web"
	"github.com/yorehq/yore/session"
)

// teamed is a page over an empty machine with a team's server.
func teamed(t *testing.T, timeout time.Duration) (*servetest.Team, *site) {
	t.Helper()
	team := servetest.New(t)
	return team, over(t, t.TempDir(), func(_ *yore.History, o *web.Options) { o.Team = team.History(timeout) })
}

// links are the addresses of a page's links.
func links(body string) (all []string) {
	for _, m := range regexp.MustCompile(` href="([^"]+)"`).FindAllStringSubmatch(body, -1) {
		all = append(all, strings.ReplaceAll(m[1], "&amp;", "&"))
	}
	return all
}

func hasAll(t *testing.T, where, body string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(body, p) {
			t.Errorf("%s lacks %q:\n%s", where, p, body)
		}
	}
}

// The team's part of a search, and a session of it read with everything that a
// session of this machine has.
func TestTeamOnThePage(t *testing.T) {
	team, s := teamed(t, time.Minute)
	team.Put("long", "app", "The ledger", "first walnut", "second walnut", "third "+attack)
	team.Say("long", session.Event{
		Type: session.AssistantMessage, Op: session.Op{Kind: session.OpReplace, Start: 0, End: 1}, Sources: []int64{0, 1},
		Body: session.Body{Speaker: session.Assistant, Blocks: []session.Block{{Text: "a summary"}}},
	})
	page := s.get("/search?q=walnut")
	hasAll(t, "the search", page.body, "Team history, from "+strings.TrimPrefix(team.URL, "http://"), `data-from="/team?q=walnut"`)
	if n := team.Asked.Load(); n != 0 {
		t.Errorf("this machine's part has asked the team %d times", n)
	}
	part := s.get("/team?q=walnut")
	safe(t, "/team", part)
	wellMade(t, "/team", part.body)
	hasAll(t, "the team's part", part.body, `<span class="tag ours">team</span>`, "The ledger", `data-said="1 session"`, "<mark>walnut</mark>")
	if strings.Contains(part.body, "Resume") {
		t.Error("a session of the team is offered to be resumed here")
	}
	list := s.get("/team")
	hasAll(t, "the list", list.body, "The ledger", `data-said="1 session"`)

	// Every page that hangs on the session, by the links of the part.
	base := ""
	for _, l := range links(part.body) {
		if strings.HasPrefix(l, "/s/") {
			base = l
			break
		}
	}
	path, in, _ := strings.Cut(base, "?")
	if path != "/s/dsh/team:long" {
		t.Fatalf("the session is at %q", base)
	}
	for at, parts := range map[string][]string{
		path + "?" + in:               {`<span class="tag ours">team</span>`, "The ledger", "first walnut", "replaced by #4", "rail-first", "replaces #0–#1", `data-total="4"`},
		path + "/1?" + in:             {`<h2 id="event-title" tabindex="-1"><span class="seq">#1</span>`, "second walnut", "Replaced by", "Cited by"},
		path + "/rows?o=1-2&" + in:    {"second walnut", "third"},
		path + "/map?" + in:           {`"total":4`, `"gaps":[0,1,1,2]`},
		path + "/find?q=walnut&" + in: {`{"seqs":[0,1],"more":false}`},
		path + "/lineage?" + in:       {"The ledger", "5 events"},
		path + "/2/text?" + in:        {"third "},
		path + "/0/panel?" + in:       {"first walnut"},
	} {
		a := s.get(at)
		safe(t, at, a)
		if a.StatusCode != 200 {
			t.Errorf("%s gives %d", at, a.StatusCode)
		}
		if strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
			wellMade(t, at, a.body)
		}
		hasAll(t, at, a.body, parts...)
	}
	if a := s.get(path + "/1/raw?" + in); a.body != `{"n": 1,  "of": "long"}` {
		t.Errorf("the exact bytes are %q", a.body)
	}
	// Without a workspace in its address the session is found, in another one not.
	if a := s.get(path); a.StatusCode != 200 {
		t.Errorf("without its workspace: %d", a.StatusCode)
	}
	for _, wrong := range []string{path + "?in=w-bGli", path + "?in=w-%21", path + "?in=abcdef012345", "/s/dsh/team:none", path + "/77?" + in} {
		if a := s.get(wrong); a.StatusCode != 404 {
			t.Errorf("%s gives %d", wrong, a.StatusCode)
		}
	}
	// A filter goes with the question; one that the server does not have is said.
	if a := s.get("/team?q=walnut&workspace=" + url.QueryEscape("/w/lib")); strings.Contains(a.body, "The ledger") {
		t.Error("a search in another workspace finds it")
	}
	hasAll(t, "with an agent", s.get("/team?q=walnut&agent=dsh").body, "cannot filter by agent", `data-said="missing"`)
	for _, r := range team.Audits() {
		if r.Person != "ada" || r.Token != "t1" {
			t.Errorf("on record is %+v", r)
		}
	}
}

// A server that is slow or gone takes its own part away and nothing else.
func TestTeamThatIsGone(t *testing.T) {
	team, s := teamed(t, 100*time.Millisecond)
	team.Put("long", "app", "The ledger", "first walnut")
	release := team.Hold()
	began := time.Now()
	if a := s.get("/search?q=walnut"); a.StatusCode != 200 {
		t.Errorf("the search: %d", a.StatusCode)
	}
	hasAll(t, "slow", s.get("/team?q=walnut").body, "Missing: the team&#39;s server did not answer within 100ms.")
	if a := s.get("/s/dsh/team:long"); a.StatusCode != 503 || !strings.Contains(a.body, "did not answer within") {
		t.Errorf("a session of a slow server: %d %s", a.StatusCode, a.body)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
	release()
	team.Fail(429)
	hasAll(t, "busy", s.get("/team").body, "Missing: the team&#39;s server is busy.")
	team.Close()
	hasAll(t, "gone", s.get("/team").body, "Missing: the team&#39;s server cannot be reached.")
}

// Without a team nothing is said of one.
func TestNoTeam(t *testing.T) {
	s := over(t, t.TempDir())
	if a := s.get("/search"); strings.Contains(strings.ToLower(a.body), "team") {
		t.Error("the page speaks of a team")
	}
	if a := s.get("/team"); a.StatusCode != 404 {
		t.Errorf("/team gives %d", a.StatusCode)
	}
}
