package attack

import (
	"html"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/internal/web"
	"github.com/yorehq/yore/session"
)

var (
	links  = regexp.MustCompile(`(?:href|data-[a-z]+)="(/[^"]*)"`)
	typed  = regexp.MustCompile(` value="[^"]*"`)
	markup = regexp.MustCompile(`(?i)<script>|<img src=x|<!--|<[a-z][^<>]*\son[a-z]+=|href="(javascript|data):|<[a-z][^<>]*\s(srcdoc|style)=|<style|<iframe|<object|<base`)
)

// TestHostileTextOfThePage walks the pages over sessions that attack.
func TestHostileTextOfThePage(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 9))
	root := t.TempDir()
	attackers(t, r, root, 12)
	h, err := yore.Open(t.Context(), yore.Options{Sources: []yore.Source{{Agent: session.DSH, Root: root}}, IndexDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	v, err := h.OwnerView()
	if err != nil {
		t.Fatal(err)
	}
	server, err := web.Listen(web.Options{View: v, Resume: h.Resume})
	if err != nil {
		t.Fatal(err)
	}
	s := visit(t, server)
	defer s.stop()
	queue, seen := []string{"/", "/search", "/search?q=zephyr", "/search?q=" + "%3Cscript%3Ezephyr%1b%5b31m"}, map[string]bool{}
	most := max(80, min(1000, *calls/25))
	for len(queue) > 0 && len(seen) < most {
		path := queue[0]
		queue = queue[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		a, body := s.fetch(path, true)
		if policy := a.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || a.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s has the policy %q", path, policy)
		}
		if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
			continue
		}
		// Fields hold what was typed into the address.
		if bad := unclean(typed.ReplaceAllString(body, "")); bad != "" {
			t.Errorf("seed %d: %s shows %s", *seed, path, bad)
		}
		if at := markup.FindStringIndex(body); at != nil {
			t.Errorf("seed %d: %s has the markup %q", *seed, path, body[max(0, at[0]-80):min(len(body), at[1]+80)])
		}
		for _, m := range links.FindAllStringSubmatch(body, -1) {
			to := html.UnescapeString(m[1])
			if strings.HasPrefix(to, "//") {
				t.Errorf("seed %d: %s leads to %s", *seed, path, to)
			}
			if a.StatusCode == http.StatusOK {
				queue = append(queue, to)
			}
		}
		if base, rest, _ := strings.Cut(path, "?"); strings.HasPrefix(base, "/s/") && strings.Count(base, "/") == 3 {
			for _, more := range []string{"/rows", "/lineage", "/find", "/map", "/2", "/2/panel", "/2/text", "/5/raw"} {
				queue = append(queue, base+more+"?o=0-9&q=zephyr&"+rest)
			}
		}
	}
	if len(seen) < 60 {
		t.Errorf("%d pages were found", len(seen))
	}
}
