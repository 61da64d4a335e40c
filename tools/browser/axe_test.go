package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// visit is a page as a person may have it before them.
type visit struct {
	name, path string
	then       func(*tab)
}

func visits() []visit {
	timeline := func(b *tab) { b.until(loaded) }
	return []visit{
		{"overview", "/", nil},
		{"sessions", "/search", nil},
		{"search", "/search?q=quota+ledger&state=current", nil},
		{"some words", "/search?q=linker+gazebo", nil},
		{"nothing", "/search?q=zzzzzz", nil},
		{"session", "/s/dsh/alpha-compact", timeline},
		{"event", "/s/dsh/alpha-compact/14", timeline},
		{"tool", "/s/dsh/alpha-build-fix/6?q=ld", timeline},
		{"lineage", "/s/dsh/alpha-fork-child/lineage", nil},
		{"lineage as a list", "/s/dsh/alpha-lead/lineage", func(b *tab) { b.do(chromedp.Click(".aslist summary", chromedp.ByQuery)) }},
		{"not there", "/s/dsh/none", nil},
		{"keys", "/", func(b *tab) { b.key("?"); b.until(`document.getElementById("keys").open`) }},
		{"go to", "/s/dsh/alpha-compact", func(b *tab) { b.until(loaded); b.key("g"); b.until(`document.getElementById("goto").open`) }},
	}
}

// TestAxe has every page looked at by axe-core, by day and by night, wide and
// narrow, and wants no violation at all.
func TestAxe(t *testing.T) {
	s := serve(t, samples(t))
	b := browse(t)
	b.goTo(s.url)
	b.indexed()
	checked := 0
	for _, size := range [][2]int64{{1280, 800}, {360, 740}} {
		for _, scheme := range []string{"light", "dark"} {
			b.dress(size[0], size[1], scheme)
			for _, v := range visits() {
				name := fmt.Sprintf("%s, %s, %d wide", v.name, scheme, size[0])
				b.goTo(s.base + v.path)
				if v.then != nil {
					v.then(b)
				}
				if wide := get[int64](b, `document.documentElement.scrollWidth`); wide > size[0] {
					t.Errorf("%s: the page is %d wide", name, wide)
				}
				var found struct {
					Violations []string
					Passes     int
				}
				b.do(chromedp.Evaluate(axe+`;0`, nil), chromedp.Evaluate(`axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
					.then((r) => ({Passes: r.passes.length, Violations: r.violations.map((v) => v.id + ": " + v.help + "\n  " + v.nodes.slice(0, 4).map((n) => n.html.slice(0, 200) + " " + (n.any[0]?.message ?? n.all[0]?.message ?? n.none[0]?.message ?? "")).join("\n  "))}))`, &found, awaited))
				for _, f := range found.Violations {
					t.Errorf("%s: %s", name, f)
				}
				if found.Passes < 10 {
					t.Errorf("%s: only %d rules were applied", name, found.Passes)
				}
				checked++
			}
		}
	}
	t.Logf("%d pages were looked at", checked)
	b.problems = cut(b.problems, "404")
	b.home(s)
}

func cut(list []string, holding string) (rest []string) {
	for _, l := range list {
		if !strings.Contains(l, holding) {
			rest = append(rest, l)
		}
	}
	return rest
}
