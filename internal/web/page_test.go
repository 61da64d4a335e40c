package web_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/internal/web"
	"github.com/yorehq/yore/session"
)

// attack is what a session may say to become more than text.
const attack = `"'><script>alert(1)</script><img src=x onerror=alert(2)></pre></title></svg><a href="javascript:alert(3)">{{.}}` +
	"\u202etxt.exe\u2066\u200b\x1b]0;t\x07\x1b[31m &amp;lt; <style>*{display:none}</style>"

var (
	tag       = regexp.MustCompile(`<(!doctype|/?[a-z0-9]+)((?:\s+[a-z0-9-]+(?:="[^"]*")?)*)\s*>`)
	attribute = regexp.MustCompile(`([a-zA-Z0-9-]+)(?:="([^"]*)")?`)
)

// wellMade checks that a page consists of our own elements and of text.
func wellMade(t *testing.T, path, body string) {
	t.Helper()
	known := strings.Fields(`!doctype a article aside bdi body button b canvas code dd details dialog div dl dt fieldset form g h1 h2 h3 head
		header html img input kbd label legend li line link main mark meta nav noscript ol option output p path pre rect script section
		span summary svg text time title ul`)
	rest := tag.ReplaceAllStringFunc(strings.ReplaceAll(body, "viewBox=", "viewbox="), func(m string) string {
		parts := tag.FindStringSubmatch(strings.ReplaceAll(m, "preserveAspectRatio=", "preserveaspectratio="))
		if parts == nil {
			return m
		}
		name := strings.TrimPrefix(parts[1], "/")
		if !slices.Contains(known, name) {
			t.Errorf("%s has the element %q", path, m)
		}
		for _, a := range attribute.FindAllStringSubmatch(parts[2], -1) {
			value := html.UnescapeString(a[2])
			switch {
			case strings.HasPrefix(a[1], "on"), a[1] == "style", a[1] == "srcdoc", a[1] == "formaction":
				t.Errorf("%s has the attribute %q", path, m)
			case a[1] == "src", a[1] == "href", a[1] == "action":
				if value != "" && value != "#main" && value != "#team" && (!strings.HasPrefix(value, "/") || strings.HasPrefix(value, "//")) {
					t.Errorf("%s leads to %q", path, value)
				}
			}
		}
		if name == "script" && parts[1] == "script" && !regexp.MustCompile(`^ type="module" src="/a/[a-z]+\.js"$`).MatchString(parts[2]) {
			t.Errorf("%s has the script %q", path, m)
		}
		return ""
	})
	rest = strings.ReplaceAll(rest, `preserveAspectRatio="none"`, "")
	if at := strings.Index(rest, "<"); at >= 0 && !strings.HasPrefix(rest[at:], `<svg class="bar`) {
		t.Errorf("%s has markup that is not ours: %q", path, rest[at:min(len(rest), at+120)])
	}
	// What turns the reading direction or steers a screen is not in a page, but
	// for fields, which hold what was typed.
	body = regexp.MustCompile(` value="[^"]*"`).ReplaceAllString(body, "")
	if at := strings.IndexAny(body, "\u202e\u2066\x1b\x07"); at >= 0 {
		t.Errorf("%s has a control character: %q", path, body[max(0, at-30):at+30])
	}
}

// hostile registers a session that attacks in every place that a page shows.
func hostile(t *testing.T, h *yore.History) session.Header {
	t.Helper()
	head := session.Header{ID: session.ID("../" + attack + "/\xff?#%00"), Cwd: "/home/" + attack + "\xfe", CreatedAt: 1772442000000, ParentSession: session.ID(attack), AgentPreset: attack}
	l, err := h.Register(head)
	if err != nil {
		t.Fatal(err)
	}
	quote := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	message := func(seq int, op string) string {
		return fmt.Sprintf(`{"type":"user/message","seq":%d,"time":1772442002000,"data":{"id":"u","role":"user","content":[{"type":"text","text":%s}],"source":{"kind":"user"}},%s}`, seq, quote("walnut "+attack), op)
	}
	for _, line := range []string{
		message(0, `"surfaceOp":"append"`),
		fmt.Sprintf(`{"type":"session/title","seq":1,"time":1772442003000,"data":{"title":%s,"messageSeqs":[0],"source":{"kind":"fallback"}}}`, quote(attack)),
		fmt.Sprintf(`{"type":"tool/call","seq":2,"time":1772442004000,"data":{"turn":1,"step":1,"callId":%s,"name":%s,"arguments":%s}}`, quote(attack), quote(attack), quote(attack)),
		message(3, `"sourceEventSeqs":[0],"surfaceOp":{"op":"replace","start":0,"end":0}`),
		fmt.Sprintf(`{"type":%s,"seq":4,"time":1772442004000,"data":{},"ignorable":true}`, quote(attack)),
		fmt.Sprintf(`{"type":"todo/write","seq":5,"time":-5,"data":{"todos":[{"content":%s,"status":%s}]}}`, quote("walnut "+attack), quote(attack)),
	} {
		if err := l.Append([]byte(line)); err != nil {
			t.Logf("not taken: %v", err)
		}
	}
	return l.Header()
}

// TestHostileTextIsText walks every page over a session that tries to be markup
// and follows every link on them.
func TestHostileTextIsText(t *testing.T) {
	var head session.Header
	s := open(t, func(h *yore.History, o *web.Options) {
		head = hostile(t, h)
		o.Resume = func(session.Header) string { return "cd " + attack }
	})
	start := []string{
		"/", "/search", "/search?q=walnut", "/search?q=" + url.QueryEscape(attack), "/search?q=walnut&agent=" + url.QueryEscape(attack),
		"/search?q=walnut&type=" + url.QueryEscape(attack) + "&workspace=" + url.QueryEscape(head.Cwd),
	}
	queue, seen, sessions := slices.Clone(start), map[string]bool{}, 0
	for len(queue) > 0 && len(seen) < 400 {
		path := queue[0]
		queue = queue[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		a := s.get(path)
		safe(t, path, a)
		if a.StatusCode != 200 {
			t.Errorf("%s gives %d", path, a.StatusCode)
			continue
		}
		if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
			continue
		}
		wellMade(t, path, a.body)
		if strings.HasPrefix(path, "/s/dsh/~") {
			sessions++
			base, query, _ := strings.Cut(path, "?")
			if strings.Count(base, "/") == 3 {
				queue = append(queue, base+"/rows?o=0-5&"+query, base+"/lineage?"+query, base+"/find?q=walnut&"+query)
			}
		}
		for _, m := range regexp.MustCompile(`(?:href|data-link|data-from)="(/[^"]*)"`).FindAllStringSubmatch(a.body, -1) {
			queue = append(queue, html.UnescapeString(m[1]))
		}
	}
	if sessions < 8 || len(seen) < 60 {
		t.Errorf("only %d pages, %d of the hostile session, were seen", len(seen), sessions)
	}
	for _, bad := range []string{"/s/dsh/..", "/nowhere", "/s/" + url.PathEscape(attack) + "/x", "/s/dsh/~" + url.PathEscape(attack), "/a/" + url.PathEscape("../pages/layout.html"), "/search?state=" + url.QueryEscape(attack), "/search?q=x&from=" + url.QueryEscape(attack)} {
		a := s.get(bad)
		if a.StatusCode < 300 || a.StatusCode >= 500 {
			t.Errorf("%s gives %d", bad, a.StatusCode)
		}
		if strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") && a.StatusCode >= 400 {
			wellMade(t, bad, a.body)
		}
	}
}

// TestAssetsStayHome reads what is embedded: nothing in it names another place,
// and no script makes markup or code of a string.
func TestAssetsStayHome(t *testing.T) {
	foreign := regexp.MustCompile(`https?:|[^:a-z]//[a-z0-9]|@import|\burl\(|@font-face`)
	sinks := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|createContextualFragment|DOMParser|setAttribute\("on|localStorage|sessionStorage|WebSocket|sendBeacon|import\(`)
	n := 0
	for _, dir := range []string{"assets", "pages"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			n++
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			body := strings.ReplaceAll(string(text), "http://www.w3.org/2000/svg", "")
			if strings.HasSuffix(e.Name(), ".js") {
				body = regexp.MustCompile(`(?m)//.*$`).ReplaceAllStringFunc(body, func(c string) string {
					if strings.HasPrefix(c, "// ") || c == "//" {
						return ""
					}
					return c
				})
				for _, m := range sinks.FindAllString(body, -1) {
					t.Errorf("%s uses %s", e.Name(), m)
				}
			}
			for _, m := range foreign.FindAllString(body, -1) {
				t.Errorf("%s names another place: %q", e.Name(), m)
			}
			if strings.HasSuffix(e.Name(), ".html") && regexp.MustCompile(`(?i)\sstyle=|\son[a-z]+=|<script>|<style`).MatchString(body) {
				t.Errorf("%s has an inline script or style", e.Name())
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d files were looked at", n)
	}
}

func TestSearchPage(t *testing.T) {
	s := open(t)
	text := func(body string) string {
		return strings.Join(strings.Fields(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body, " "))), " ")
	}
	body := s.page("/search?q=linker")
	for _, want := range []string{
		`<mark>linker</mark>`, "1 session with 2 matching events", "Linker cannot find marble", "/srv/code/alpha", "user/message 1", "assistant/message 1", "current 2", "2 Mar 2026",
	} {
		if !strings.Contains(body, want) && !strings.Contains(text(body), want) {
			t.Errorf("the page of a search lacks %q:\n%s", want, text(body))
		}
	}
	// In alpha-compact the events 1, 3, 7 and 14 are shadowed, 24 and 27 are not; a facet does not follow its own filter.
	both := text(s.page("/search?q=quota+ledger"))
	if !strings.Contains(both, "1 session with 6 matching events") || !strings.Contains(both, "current 2") || !strings.Contains(both, "shadowed 4") {
		t.Errorf("facets: %s", both)
	}
	one := text(s.page("/search?q=quota+ledger&state=current"))
	if !strings.Contains(one, "1 session with 2 matching events") || !strings.Contains(one, "shadowed 4") || !strings.Contains(one, "Clear filters") {
		t.Errorf("facets of what is current: %s", one)
	}
	none := text(s.page("/search?q=linker&workspace=%2Fhome%2Fdev%2Fproj"))
	if !strings.Contains(none, "/srv/code/alpha 2") || strings.Contains(none, "1 session with") {
		t.Errorf("another workspace: %s", none)
	}
	if got := text(s.page("/search?q=linker&from=2026-03-03")); strings.Contains(got, "1 session with") {
		t.Errorf("another day: %s", got)
	}
	if got := text(s.page("/search?q=linker&from=2026-03-02&to=2026-03-02")); !strings.Contains(got, "1 session with 2") {
		t.Errorf("its day: %s", got)
	}
	if got := text(s.page("/search?q=linker+zebra")); !strings.Contains(got, "Nothing holds the whole text; these hold some of its words") {
		t.Errorf("some of the words: %s", got)
	}
	if got := text(s.page("/search?q=%00+%01")); !strings.Contains(got, "Nothing holds the whole text") && !strings.Contains(got, "events") {
		t.Errorf("no words at all: %s", got)
	}
	list := s.page("/search?agent=dsh")
	if n := strings.Count(list, `<li class="hit">`); n != 11 {
		t.Errorf("the list has %d sessions, want the 11 of the samples", n)
	}
	if body := s.page("/search?state=current"); !strings.Contains(body, "they do nothing without a text") {
		t.Error("a filter that does nothing is not said to")
	}
	for _, bad := range []string{"/search?q=x&state=gone", "/search?q=x&from=yesterday", "/search?q=x&from=2026-03-03&to=2026-03-02", "/search?q=x&order=fast", "/search?q=x&match=all", "/search?q=x&workspace=~%21"} {
		if a := s.get(bad); a.StatusCode != 400 {
			t.Errorf("%s gives %d, want 400", bad, a.StatusCode)
		}
	}
}

func TestTimeline(t *testing.T) {
	s := open(t)
	const at = "/s/dsh/alpha-compact"
	body := s.page(at + "/14")
	for _, want := range []string{
		`data-seq="14"`, `replaced by #24`, `replaces #1–#3`, `rail-first`, `rail-last`, `data-jump="24"`, `Raw record, 312 bytes`,
		`>Cites</dt>`, `>Replaced by</dt>`, `#12–#13`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page of event 14 lacks %q", want)
		}
	}
	var plan struct {
		Total, Events int64
		Kinds         string
		Gaps          []int64
	}
	s.json(at+"/map", &plan)
	if plan.Total != int64(len(plan.Kinds)) || len(plan.Gaps) != len(plan.Kinds) || plan.Events != 30 || plan.Total < 9 {
		t.Fatalf("the map is %+v", plan)
	}
	var seqs []int64
	seq := int64(0)
	for _, g := range plan.Gaps {
		seq += g
		seqs = append(seqs, seq)
	}
	if !slices.IsSorted(seqs) || !slices.Contains(seqs, 14) || !slices.Contains(seqs, 1) {
		t.Errorf("the map has the events %v", seqs)
	}
	rows := s.page(at + "/rows?o=0-1,3")
	if n := strings.Count(rows, "<article"); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
	if got := s.page(at + "/rows?o=100000-100010"); strings.Contains(got, "<article") {
		t.Error("rows behind the end")
	}
	for _, bad := range []string{"", "?o=", "?o=1-", "?o=5,4", "?o=4-2", "?o=0-200", "?o=-1", "?o=1,1", "?o=01", "?o=0-9007199254740993", "?o=x"} {
		if a := s.get(at + "/rows" + bad); a.StatusCode != 400 {
			t.Errorf("rows%s gives %d, want 400", bad, a.StatusCode)
		}
	}
	var found struct{ Seqs []int64 }
	if s.json(at+"/find?q=quota+ledger", &found); len(found.Seqs) != 6 {
		t.Errorf("found %v", found.Seqs)
	}
	for path, want := range map[string]int{
		at + "/99": 404, at + "/030": 404, at + "/-1": 404, at + "/1.0": 404, at + "/99/raw": 404, at + "/9999999999999999999": 404,
		"/s/dsh/none": 404, "/s/codex/alpha-compact": 404, at + "?in=000000000000": 404, at + "/3/panel": 200, at + "/3/text": 200, at + "?at=5": 200, at + "?at=999999": 200,
	} {
		if a := s.get(path); a.StatusCode != want {
			t.Errorf("%s gives %d, want %d", path, a.StatusCode, want)
		}
	}
}

// A raw record is the line of the log, byte for byte, and nothing a browser
// would make anything of.
func TestRawRecord(t *testing.T) {
	s := open(t)
	text, err := os.ReadFile("../demo/samples/--srv-code-alpha--/alpha-compact/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")[1:]
	for _, seq := range []int{0, 1, 14, 24} {
		a := s.get(fmt.Sprintf("/s/dsh/alpha-compact/%d/raw", seq))
		if a.body != lines[seq] || a.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("event %d is %q (%s), want %q", seq, a.body, a.Header.Get("Content-Type"), lines[seq])
		}
		if !strings.Contains(a.Header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("event %d is not shut in", seq)
		}
		safe(t, "raw", a)
	}
}

// A session that two workspaces have is asked for, and then found.
func TestOneIdInTwoWorkspaces(t *testing.T) {
	s := open(t, func(h *yore.History, _ *web.Options) {
		for _, cwd := range []string{"/w/one", "/w/two"} {
			l, err := h.Register(session.Header{ID: "twin", Cwd: cwd, CreatedAt: 1772442000000})
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Append([]byte(`{"type":"user/message","seq":0,"time":1772442002000,"data":{"id":"u","role":"user","content":[{"type":"text","text":"I live in ` + cwd + `"}],"source":{"kind":"user"}},"surfaceOp":"append"}`)); err != nil {
				t.Fatal(err)
			}
		}
	})
	a := s.get("/s/dsh/twin/0")
	links := regexp.MustCompile(`href="(/s/dsh/twin/0\?in=[0-9a-f]+)"><bdi>([^<]+)`).FindAllStringSubmatch(a.body, -1)
	if a.StatusCode != 300 || len(links) != 2 {
		t.Fatalf("%d: %s", a.StatusCode, a.body)
	}
	for _, l := range links {
		if body := s.page(l[1]); !strings.Contains(body, "I live in "+l[2]) {
			t.Errorf("%s is not of %s", l[1], l[2])
		}
	}
}

func TestOverviewPage(t *testing.T) {
	s := open(t)
	body := s.page("/")
	for _, want := range []string{`<dd>11</dd>`, "Greeting fix", "/search?agent=dsh", "/search?workspace=%2Fsrv%2Fcode%2Falpha", "<rect"} {
		if !strings.Contains(body, want) {
			t.Errorf("the overview lacks %q", want)
		}
	}
	wellMade(t, "/", body)
}

func TestLineagePage(t *testing.T) {
	s := open(t)
	body := s.page("/s/dsh/alpha-fork-child/lineage")
	for _, want := range []string{"/s/dsh/alpha-fork-parent?", "/s/dsh/alpha-fork-grandchild?", `class="node agent-dsh target"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the lineage lacks %q", want)
		}
	}
	if n := strings.Count(body, "<path"); n != 2 {
		t.Errorf("%d wires, want 2", n)
	}
	wellMade(t, "lineage", body)
}

// An event whose log was deleted since the last look is not there; nothing has
// failed.
func TestADeletedLogIsNoFailure(t *testing.T) {
	for _, path := range []string{"/s/dsh/alpha-compact/14/panel", "/s/dsh/alpha-compact/14/raw", "/s/dsh/alpha-compact/14/text"} {
		logs := samples(t)
		s := over(t, logs)
		s.page(path)
		if err := os.RemoveAll(logs + "/--srv-code-alpha--/alpha-compact"); err != nil {
			t.Fatal(err)
		}
		if a := s.get(path); a.StatusCode != 404 || !strings.Contains(a.body, "gone, or never was") {
			t.Errorf("%s: %d, %s", path, a.StatusCode, a.body)
		}
	}
}

// What is elsewhere is said where sessions are looked for.
func TestBeside(t *testing.T) {
	const said = "The others are <elsewhere>."
	s := open(t, func(_ *yore.History, o *web.Options) { o.Beside = said })
	for _, path := range []string{"/", "/search", "/search?q=the"} {
		if !strings.Contains(s.page(path), html.EscapeString(said)) {
			t.Errorf("%s does not say what is elsewhere", path)
		}
	}
}
