package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestTeam has a team's server of the test's own, which answers when the test says
// so. This machine's results are there before; the team's part comes behind them,
// opens like any other, and says what is wrong when nobody answers. The browser
// speaks with the page's server alone.
func TestTeam(t *testing.T) {
	const head = `{"id":"team:far","agent":"dsh","title":"A ledger of the team","created_at":"2026-03-02T09:00:00.000Z","workspace":"app","availability":["persisted"],"events":2}`
	const event = `{"seq":0,"type":"user/message","surface":"current","time":"2026-03-02T09:00:00.000Z"`
	answer := make(chan struct{}, 100)
	team := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer a-token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.URL.Path {
		case "/v1/search":
			select {
			case <-answer:
			case <-r.Context().Done():
				return
			}
			fmt.Fprintf(w, `{"session":%s,"parent":"root","event":%s,"snippet":"the quota ledger <b>far</b> away","matches":1}}`+"\n", head, event)
			fmt.Fprintln(w, `{"coverage":{"sessions":1,"behind":0,"unreadable":0,"stale":false},"more":false}`)
		case "/v1/replacements":
			fmt.Fprintf(w, `{"session":%s,"runs":[]}`+"\n", head)
		case "/v1/show":
			fmt.Fprintf(w, `{"session":%s,"passages":1}`+"\n"+`{"event":%s},"ordinal":0,"role":"first-prompt","text":"the quota ledger far away"}`+"\n", head, event)
		default:
			http.NotFound(w, r)
		}
	}))
	defer team.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("a-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveWith(t, []string{"YORE_TEAM_URL=" + team.URL, "YORE_TEAM_TOKEN_FILE=" + token, "YORE_TEAM_TIMEOUT=30s"}, samples(t))
	b := browse(t)
	b.goTo(s.url)
	b.indexed()
	b.goTo(s.base + "/search")
	b.until(`document.querySelectorAll("#results > .hits .hit").length > 0`)
	b.do(chromedp.SendKeys("#q", "quota ledger", chromedp.ByQuery))
	b.until(`location.search.includes("quota") && document.querySelectorAll("#results > .hits .hit").length > 0`)
	b.until(`document.querySelectorAll("#team .hit").length === 0 && document.getElementById("team-said").textContent === " …"`)
	answer <- struct{}{}
	b.until(`document.querySelectorAll("#team .hit").length === 1 && document.getElementById("team-said").textContent === ": 1 session"`)
	b.until(`document.querySelector("#team .hit .tag.ours").innerText === "team" && document.querySelector("#team .hit .words").innerText.includes("<b>far</b>")`)
	b.do(chromedp.Click("#team .hit h2 a", chromedp.ByQuery))
	b.until(loaded + ` && document.querySelector(".sessionhead h1").innerText === "A ledger of the team" && document.querySelector(".row .words").innerText.includes("far away")`)
	b.fine()
	for _, r := range b.requests {
		if !strings.HasPrefix(r, s.base) && !strings.HasPrefix(r, "about:") && !strings.HasPrefix(r, "data:") {
			t.Errorf("the browser asked for %s", r)
		}
	}

	team.CloseClientConnections()
	team.Listener.Close()
	b.goTo(s.base + "/search?q=quota+ledger")
	b.until(`document.querySelectorAll("#results > .hits .hit").length > 0 && document.querySelector("#team .missing")?.innerText.includes("cannot be reached")`)
	b.until(`document.getElementById("team-said").textContent === ": missing"`)
	b.fine()
}
