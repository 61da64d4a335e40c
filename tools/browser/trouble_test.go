package browser

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// TestTroubleIsSeen lets things fail under an open page. What went wrong is on
// the screen, and nothing is shown as an answer to a question that has none.
func TestTroubleIsSeen(t *testing.T) {
	logs := filepath.Join(t.TempDir(), "logs")
	if err := os.CopyFS(logs, os.DirFS("../../internal/demo/samples")); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "dsh="+logs)
	b := browse(t)
	b.goTo(s.url)
	b.indexed()
	trouble := func(text string) string {
		return `!document.getElementById("trouble").hidden && document.getElementById("trouble").innerText.includes("` + text + `")`
	}
	const well = `document.getElementById("trouble").hidden`

	// Days the wrong way round.
	b.goTo(s.base + "/search?q=quota+ledger")
	b.until(`document.querySelectorAll(".hit").length > 0`)
	day := func(name, value string) {
		b.do(chromedp.Evaluate(`(() => { const e = document.querySelector("input[name=`+name+`]"); e.value = "`+value+`"; e.dispatchEvent(new Event("change", {bubbles: true})); })()`, nil))
	}
	day("from", "2026-03-02")
	b.until(`location.search.includes("from=2026-03-02") && document.querySelectorAll(".hit").length > 0`)
	day("to", "2026-03-01")
	b.until(trouble("the first day lies after the last one") + ` && document.querySelectorAll(".hit").length === 0`)
	day("to", "2026-03-03")
	b.until(well + ` && document.querySelectorAll(".hit").length > 0`)

	// The session is deleted while it is read.
	b.goTo(s.base + "/s/dsh/alpha-compact/14")
	b.until(loaded + ` && document.querySelector("#event-title").innerText.includes("#14")`)
	if err := os.RemoveAll(filepath.Join(logs, "--srv-code-alpha--", "alpha-compact")); err != nil {
		t.Fatal(err)
	}
	b.until(`(document.querySelector('.row[data-seq="17"]').click(), ` + trouble("gone, or never was") + ` && document.getElementById("panel").hidden)`)
	b.do(chromedp.SendKeys("#find-q", "gigabytes", chromedp.ByQuery))
	b.until(trouble("gone, or never was") + ` && document.getElementById("found").textContent === "0 found"`)

	// Nobody answers.
	b.goTo(s.base + "/search?q=linker")
	b.until(`document.querySelectorAll(".hit").length > 0`)
	s.end()
	b.do(chromedp.SendKeys("#q", " walnut", chromedp.ByQuery))
	b.until(trouble("start it again") + ` && document.querySelectorAll(".hit").length === 0`)
	b.problems = nil // the browser reports what failed
}

// What does not fit a small window begins with the newest days.
func TestTheNewestDaysAreInSight(t *testing.T) {
	s := serve(t, samples(t))
	b := browse(t)
	b.dress(360, 800, "light")
	b.goTo(s.url)
	b.indexed()
	b.goTo(s.base + "/")
	b.until(`document.querySelectorAll(".broad rect").length > 0`)
	if out := get[float64](b, `[...document.querySelectorAll(".broad svg")].pop().getBoundingClientRect().right - document.querySelector(".broad").getBoundingClientRect().right`); out > 1 {
		t.Errorf("the chart ends %v pixels out of sight", out)
	}
	if over := get[bool](b, `document.querySelector(".broad").scrollWidth > document.querySelector(".broad").clientWidth`); !over {
		t.Error("the chart fits, so nothing was tested")
	}
	b.fine()
}

// The end of the first indexing loads a page anew, and takes no typed text away.
func TestTheEndOfIndexingDisturbsNobody(t *testing.T) {
	s := serve(t, samples(t))
	b := browse(t)
	b.goTo(s.url)
	b.indexed()
	// Sessions are indexed for as long as the test says.
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(`window.asked = 0; window.fetch = async () => new Response(JSON.stringify({busy: !window.finish, done: ++window.asked, total: 9}))`).Do(ctx)
		return err
	}))
	const busy, over = `document.getElementById("indexing").innerText.includes("of 9")`, `document.getElementById("indexing").hidden`
	for _, typed := range []string{"walnut", ""} {
		b.goTo(s.base + "/")
		b.until(busy)
		b.do(chromedp.Evaluate(`window.same = true`, nil))
		if typed != "" {
			b.do(chromedp.SendKeys("#q", typed, chromedp.ByQuery))
		}
		b.do(chromedp.Evaluate(`window.finish = true`, nil))
		if typed == "" {
			b.until(`!window.same && ` + busy) // nobody is disturbed: a new page, which begins to ask anew
			continue
		}
		b.until(over)
		b.do(chromedp.Sleep(settling))
		if text := get[string](b, `String(window.same) + " " + document.getElementById("q").value + " " + document.activeElement.id`); text != "true walnut q" {
			t.Errorf("of what was typed while sessions were indexed there is %q", text)
		}
	}
	b.fine()
}

// settling is how long it takes a page to go away.
const settling = 300 * time.Millisecond
