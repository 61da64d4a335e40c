package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// ready is the condition that a timeline has been taken over by its script.
const ready = `document.body.dataset.ready === "true"`

// loaded is the condition that every row in sight has its text.
const loaded = ready + ` && document.querySelectorAll(".row").length > 0 && !document.querySelector(".row.ghost")`

// browsersOwn begins the pictures that Chromium itself puts into its fields.
const browsersOwn = "data:image/svg+xml;base64,"

// home checks that a page asked nobody but its own server.
func (b *tab) home(s *site) {
	b.t.Helper()
	b.fine()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		if !strings.HasPrefix(r, s.base+"/") && r != "about:blank" && !strings.HasPrefix(r, browsersOwn) {
			b.t.Errorf("the page asks for %s", r)
		}
	}
	if len(b.requests) < 3 {
		b.t.Errorf("only %d requests were seen", len(b.requests))
	}
}

func TestAWrongTokenIsRefused(t *testing.T) {
	s := serve(t, samples(t))
	b := browse(t)
	b.expected = "403"
	for _, address := range []string{s.base + "/", s.base + "/s/dsh/alpha-compact/14", s.base + "/?token=" + strings.Repeat("x", 43)} {
		b.goTo(address)
		if text := get[string](b, `document.body.innerText.trim()`); text != "forbidden: open the address that was printed when this was started" {
			t.Errorf("%s shows %q", address, text)
		}
	}
	b.goTo(s.url)
	if at := get[string](b, `location.href`); at != s.base+"/" {
		t.Errorf("the token leads to %s", at)
	}
	if cookie := get[string](b, `document.cookie`); cookie != "" {
		t.Errorf("scripts read the cookie %q", cookie)
	}
	b.goTo(s.base + "/s/dsh/alpha-compact/14")
	b.until(loaded)
	if text := get[string](b, `document.querySelector("#event-title").innerText`); !strings.Contains(text, "#14") {
		t.Errorf("the deep link opens %q", text)
	}
	b.home(s)
}

func TestSearchWhileTyping(t *testing.T) {
	s := serve(t, samples(t))
	b := browse(t)
	b.goTo(s.url)
	b.indexed()
	b.goTo(s.base + "/search")
	b.until(`document.querySelectorAll(".hit").length === 11`)
	b.do(chromedp.SendKeys("#q", "quota led", chromedp.ByQuery))
	b.until(`document.querySelector(".hit mark")?.textContent.toLowerCase().startsWith("quota")`)
	b.do(chromedp.SendKeys("#q", "ger", chromedp.ByQuery))
	b.until(`document.querySelector(".sum")?.innerText.includes("6 matching events")`)
	b.until(`location.search === "?q=quota+ledger"`)
	if n := get[string](b, `document.activeElement.id`); n != "q" {
		t.Errorf("the focus went to %q", n)
	}
	b.do(chromedp.Click(`input[name=state][value=current]`, chromedp.ByQuery))
	b.until(`document.querySelector(".sum")?.innerText.includes("2 matching events")`)
	if on := get[string](b, `document.activeElement.value`); on != "current" {
		t.Errorf("the focus went from the facet to %q", on)
	}
	if said := get[string](b, `document.getElementById("said").textContent`); said != "1 session, 2 events" {
		t.Errorf("a screen reader is told %q", said)
	}
	// An older answer never takes the place of a newer one.
	b.do(chromedp.Evaluate(`(() => { const q = document.getElementById("q");
		for (const text of ["linker", "walnut", "greeting", "quota", "zzzz", "walnut note"]) { q.value = text; q.dispatchEvent(new Event("input", {bubbles: true})); } })()`, nil))
	b.until(`location.search.includes("walnut+note")`)
	b.goTo(s.base + "/search?q=quota+ledger")
	b.do(chromedp.Evaluate(`document.getElementById("q").blur()`, nil))
	b.key("j")
	b.key(kb.Enter)
	b.until(loaded)
	if at := get[string](b, `location.pathname`); at != "/s/dsh/alpha-compact" {
		t.Errorf("the keys lead to %s", at)
	}
	b.home(s)
}

func TestTimelineByKeys(t *testing.T) {
	s := serve(t, samples(t))
	b := browse(t)
	b.goTo(s.url)
	b.indexed()
	b.goTo(s.base + "/s/dsh/alpha-compact")
	b.until(loaded)
	on := `document.querySelector(".row.on")?.dataset.seq`
	at := func(want string) {
		t.Helper()
		b.until(on + ` === "` + want + `" && document.activeElement === document.querySelector(".row.on")`)
	}
	b.key("j")
	at("1")
	b.key("j")
	at("3")
	b.key("k")
	at("1")
	b.key(kb.End)
	at("27")
	b.key(kb.Home)
	at("1")
	b.key("x") // replaced by 14, which opens
	b.until(on + ` === "14" && document.querySelector("#event-title").innerText.includes("#14")`)
	b.until(`location.pathname === "/s/dsh/alpha-compact/14"`)
	b.do(chromedp.Click(`#panel [data-jump="24"]`, chromedp.ByQuery))
	b.until(on + ` === "24" && document.querySelector("#event-title").innerText.includes("#24")`)
	b.key(kb.Escape)
	b.until(`document.getElementById("panel").hidden && location.pathname === "/s/dsh/alpha-compact"`)
	b.key("[")
	b.until(on + ` === "17"`)
	b.key("g")
	b.until(`document.getElementById("goto").open`)
	b.do(chromedp.SetValue("#goto-seq", "13", chromedp.ByQuery), chromedp.SendKeys("#goto-seq", kb.Enter, chromedp.ByQuery))
	// Event 13 has no row: the next one is chosen, and 13 itself opens.
	b.until(on + ` === "14" && document.querySelector("#event-title").innerText.includes("#13")`)
	// The picture of the marks: rails of what was replaced, filters by what became of it.
	if n := get[int](b, `document.querySelectorAll(".rail-first").length`); n != 2 {
		t.Errorf("%d rails begin, want 2", n)
	}
	b.do(chromedp.Click(`#picks .state-shadowed input`, chromedp.ByQuery))
	b.until(`[...document.querySelectorAll(".row")].map((r) => r.dataset.seq).join() === "24,27"`)
	b.do(chromedp.Click(`#picks .state-shadowed input`, chromedp.ByQuery))
	b.key("f")
	b.do(chromedp.SendKeys("#find-q", "gigabytes", chromedp.ByQuery))
	b.until(`document.getElementById("found").textContent.includes("of 2") && document.querySelectorAll(".row mark").length === 2`)
	b.key(kb.Enter)
	b.until(`document.getElementById("found").textContent === "2 of 2" || document.getElementById("found").textContent === "1 of 2"`)
	b.key("\x1b")
	b.home(s)
}

// TestAHundredThousandEvents scrolls through a long session as fast as frames
// come and reports them. No task may hold the page longer than its budget.
func TestAHundredThousandEvents(t *testing.T) {
	s := serve(t, long(t, 100_000))
	b := browse(t)
	b.goTo(s.url)
	b.indexed()
	b.goTo(s.base + "/s/dsh/long")
	began := time.Now()
	b.until(loaded)
	total := get[int](b, `Number(document.querySelector(".row").getAttribute("aria-setsize"))`)
	t.Logf("%d rows, there after %v", total, time.Since(began).Round(time.Millisecond))
	if total != 100_000 {
		t.Fatalf("the timeline has %d rows", total)
	}
	var report struct {
		Frames          int
		P50, P95, Worst float64
		Long            []float64
		Rows            int
	}
	const scroll = `new Promise((done) => {
		const view = document.getElementById("timeline"), frames = [], long = [];
		const watch = new PerformanceObserver((list) => { for (const e of list.getEntries()) long.push(e.duration); });
		watch.observe({type: "longtask"});
		let n = 0, last = performance.now(), rows = 0;
		const step = (now) => {
			frames.push(now - last); last = now;
			rows = Math.max(rows, document.querySelectorAll(".row").length);
			// First as a wheel does, then as the bar is dragged, all the way.
			view.scrollTop = n < 200 ? n * 90 : (n - 200) / 200 * view.scrollHeight;
			if (++n < 400) return requestAnimationFrame(step);
			setTimeout(() => { watch.disconnect(); frames.sort((a, b) => a - b);
				done({Frames: frames.length, P50: frames[200], P95: frames[380], Worst: frames[399], Long: long, Rows: rows}); }, 300);
		};
		requestAnimationFrame(step);
	})`
	spent := b.traced(func() { b.do(chromedp.Evaluate(scroll, &report, awaited)) })
	worst := 0.0
	for _, d := range report.Long {
		worst = max(worst, d)
	}
	t.Logf("%d frames: median %.1f ms, 95 of 100 within %.1f ms, worst %.1f ms; %d long tasks, the longest %.0f ms by the clock; at most %d rows in the page",
		report.Frames, report.P50, report.P95, report.Worst, len(report.Long), worst, report.Rows)
	t.Logf("%d tasks, the longest %v of processor time, %v by the clock", spent.count, spent.busy.Round(100*time.Microsecond), spent.wall.Round(100*time.Microsecond))
	if spent.count < report.Frames {
		t.Errorf("the trace has %d tasks for %d frames", spent.count, report.Frames)
	}
	// What the clock says of a machine that is busy with something else is no fault of the page.
	if spent.busy > 100*time.Millisecond || spent.busy == 0 && worst > 100 {
		t.Errorf("a task took %v of processor time, %.0f ms by the clock", spent.busy, worst)
	}
	if report.Rows > 80 {
		t.Errorf("%d rows are in the page at once", report.Rows)
	}
	// Both ends are reached, and what is there has text.
	b.key(kb.End)
	b.until(fmt.Sprintf(`document.querySelector(".row.on")?.dataset.o === "%d" && !document.querySelector(".row.ghost")`, total-1))
	if gap := get[float64](b, `document.getElementById("timeline").getBoundingClientRect().bottom - document.querySelector(".row.on").getBoundingClientRect().bottom`); gap < -1 || gap > 2 {
		t.Errorf("the last row ends %.1f px above the end", gap)
	}
	b.key("k")
	b.until(fmt.Sprintf(`document.querySelector(".row.on")?.dataset.o === "%d"`, total-2))
	b.key(kb.Home)
	b.until(`document.querySelector(".row.on")?.dataset.o === "0" && !document.querySelector(".row.ghost")`)
	b.do(chromedp.Click(`#picks .role-call input`, chromedp.ByQuery), chromedp.Click(`#picks .role-result input`, chromedp.ByQuery))
	b.until(`document.querySelectorAll(".row").length > 5 && !document.querySelector(".row.ghost, .row.role-call, .row.role-result")`)
	b.home(s)
}

func TestLineage(t *testing.T) {
	s := serve(t, samples(t))
	b := browse(t)
	b.goTo(s.url)
	b.indexed()
	b.dress(1280, 800, "light") // first: the picture fits itself anew into another window
	b.goTo(s.base + "/s/dsh/alpha-fork-child/lineage")
	b.until(`!document.querySelector(".zoom").hidden`)
	box := func() (v []float64) {
		return get[[]float64](b, `document.getElementById("tree").getAttribute("viewBox").split(" ").map(Number)`)
	}
	all := box()
	b.key("+")
	near := box()
	if near[2] >= all[2] {
		t.Errorf("+ leads from %v to %v", all, near)
	}
	b.do(chromedp.Focus("#picture", chromedp.ByQuery))
	b.key(kb.ArrowRight)
	if moved := box(); moved[0] <= near[0] || moved[2] != near[2] {
		t.Errorf("→ leads from %v to %v", near, moved)
	}
	before := box()
	b.do(input.DispatchMouseEvent(input.MousePressed, 640, 700).WithButton(input.Left).WithClickCount(1),
		input.DispatchMouseEvent(input.MouseMoved, 600, 650).WithButton(input.Left),
		input.DispatchMouseEvent(input.MouseMoved, 540, 600).WithButton(input.Left),
		input.DispatchMouseEvent(input.MouseReleased, 540, 600).WithButton(input.Left).WithClickCount(1))
	if moved := box(); moved[0] <= before[0] || moved[1] <= before[1] {
		t.Errorf("dragging leads from %v to %v", before, moved)
	}
	b.do(input.DispatchMouseEvent(input.MouseWheel, 640, 500).WithDeltaX(0).WithDeltaY(-120))
	b.until(fmt.Sprintf(`Number(document.getElementById("tree").getAttribute("viewBox").split(" ")[2]) < %f`, before[2]))
	b.key("0")
	if again := box(); again[2] != all[2] || again[0] != all[0] {
		t.Errorf("0 leads to %v, not back to %v", again, all)
	}
	b.do(chromedp.Focus(`a.node[href*="alpha-fork-grandchild"]`, chromedp.ByQuery))
	b.key(kb.Enter)
	b.until(`location.pathname === "/s/dsh/alpha-fork-grandchild"`)
	b.until(loaded)
	b.home(s)
}

// TestHostileText opens every page of a session that tries to run scripts, to
// fetch from elsewhere, and to look like the page.
func TestHostileText(t *testing.T) {
	s := serve(t, hostile(t))
	b := browse(t)
	b.goTo(s.url)
	b.indexed()
	for _, path := range []string{"/", "/search", "/search?q=walnut", "/s/dsh/hostile", "/s/dsh/hostile/0", "/s/dsh/hostile/2", "/s/dsh/hostile/3", "/s/dsh/hostile/5?q=walnut", "/s/dsh/hostile/6", "/s/dsh/hostile/lineage", "/s/dsh/hostile/2/raw", "/s/dsh/hostile/2/text"} {
		b.goTo(s.base + path)
		if strings.Count(path, "/") <= 4 && strings.HasPrefix(path, "/s/") && !strings.HasSuffix(path, "lineage") && !strings.HasSuffix(path, "raw") && !strings.HasSuffix(path, "text") {
			b.until(loaded)
		}
		if got := get[string](b, `String(window.pwned) + document.querySelectorAll("iframe, object, embed, main [onerror], main [onload], main script:not([src]), main link, main style").length + document.querySelectorAll("#main").length`); got != "undefined01" && got != "undefined00" {
			t.Errorf("%s: %s", path, got)
		}
		if title := get[string](b, `document.title`); strings.ContainsAny(title, "\u202e\x1b\x07") {
			t.Errorf("%s: the title is %q", path, title)
		}
	}
	b.goTo(s.base + "/s/dsh/hostile/2")
	b.until(loaded)
	b.do(chromedp.Click("button.unfold", chromedp.ByQuery))
	b.until(`!document.querySelector("button.unfold")`)
	if n := get[int](b, `document.querySelector(".whole").children.length`); n != 0 {
		t.Errorf("the whole text has %d elements", n)
	}
	// Nothing that a session says reaches out of its place.
	if out := get[int](b, `[...document.querySelectorAll(".row")].filter((r) => r.getBoundingClientRect().height > 120 || r.scrollWidth > r.clientWidth + 1 && getComputedStyle(r).overflow === "visible").length`); out != 0 {
		t.Errorf("%d rows grow beyond their place", out)
	}
	b.home(s)
	// And if a script of ours were wrong, the policy would hold.
	var refused string
	b.do(chromedp.Evaluate(`(() => { let out = "";
		try { document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.pwned=9'>"); } catch (e) { out += e.name; }
		try { eval("window.pwned=9"); } catch (e) { out += e.name; }
		const x = document.createElement("script"); try { x.textContent = "window.pwned=9"; document.body.append(x); } catch (e) { out += e.name; }
		return out + String(window.pwned); })()`, &refused, func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
		return p.WithAllowUnsafeEvalBlockedByCSP(false) // a tool like this one may do what pages may not
	}))
	if !strings.HasSuffix(refused, "undefined") || strings.Count(refused, "Error") != 3 {
		t.Errorf("the policy lets through: %s", refused)
	}
	if got := get[string](b, `fetch("https://attacker.example/").then(() => "fetched", (e) => e.name)`); got != "TypeError" {
		t.Errorf("the policy lets a script %s", got)
	}
	b.problems = nil
}
