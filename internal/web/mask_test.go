package web_test

import (
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yorehq/yore/internal/mask/masktest"
)

// TestNoPageLeaks walks every page, and every raw record, over a session that
// holds every kind of credential.
func TestNoPageLeaks(t *testing.T) {
	logs := t.TempDir()
	folder := filepath.Join(logs, "--srv-code-kept--", "kept-1")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "session.jsonl"), []byte(strings.Join(masktest.Log("kept-1", "/srv/code/kept"), "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := over(t, logs)
	seen, masked, raw := map[string]bool{}, 0, 0
	queue := []string{"/", "/search", "/search?q=walnut", "/search?q=walnut+behind+it"}
	for seq := 1; seq < 3*len(masktest.All())+3; seq += 4 {
		queue = append(queue, fmt.Sprintf("/s/dsh/kept-1/%d/raw", seq), fmt.Sprintf("/s/dsh/kept-1/%d/text", seq))
	}
	for len(queue) > 0 && len(seen) < 120 {
		path := queue[0]
		queue = queue[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		a := s.get(path)
		body := a.body + html.UnescapeString(a.body)
		if unescaped, err := url.QueryUnescape(a.body); err == nil {
			body += unescaped
		}
		if p := masktest.Left(body); p != "" {
			t.Errorf("%s shows %q", path, p)
		}
		masked += strings.Count(a.body, ", masked]")
		if strings.HasSuffix(path, "/raw") && a.StatusCode == 200 {
			raw++
		}
		if base, query, _ := strings.Cut(path, "?"); strings.Count(base, "/") == 3 && strings.HasPrefix(base, "/s/dsh/") {
			queue = append(queue, base+"/rows?o=0-50&"+query, base+"/rows?o=50-105&"+query, base+"/lineage?"+query, base+"/find?q=walnut&"+query)
		}
		for _, m := range regexp.MustCompile(`(?:href|data-link|data-from)="(/[^"]*)"`).FindAllStringSubmatch(a.body, -1) {
			queue = append(queue, html.UnescapeString(m[1]))
		}
	}
	// Marks could be a session's own words. What is said beside them could not.
	first := s.get("/s/dsh/kept-1").body
	if n, row := strings.Count(first, ", masked]"), strings.Count(first, `<span class="masked">1 credential masked</span>`); row < 15 || row > n {
		t.Errorf("%d rows of a timeline with %d marks say that they mask", row, n)
	}
	if one := s.get("/s/dsh/kept-1/1").body; !strings.Contains(one, `<p class="note">1 credential is masked.</p>`) {
		t.Errorf("the panel of an event does not say that it masks:\n%s", one)
	}
	if len(seen) < 100 || masked < 300 || raw < 20 {
		t.Errorf("only %d pages, %d records and %d marks were seen", len(seen), raw, masked)
	}
}
