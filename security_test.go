package yore_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityPage holds SECURITY.md to its word: each promise names tests, and
// each test that it names is there.
func TestSecurityPage(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]map[string]bool{}
	for _, s := range sources(t) {
		pkg := s.pkg
		if pkg == "." {
			pkg = "yore"
		}
		if s.test && tests[pkg] == nil {
			tests[pkg] = map[string]bool{}
		}
		for _, m := range testName.FindAllSubmatch(s.text, -1) {
			if s.test {
				tests[pkg][string(m[1])] = true
			}
		}
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || strings.HasPrefix(cells[1], "-") || strings.TrimSpace(cells[2]) == "held by" {
			continue
		}
		rows++
		named := 0
		for _, part := range strings.Split(cells[2], ";") {
			m := packageAndTests.FindStringSubmatch(part)
			if m == nil {
				continue
			}
			if m[1] == "reader/readertest" { // the suite that every reader's tests run
				named++
				continue
			}
			if tests[m[1]] == nil {
				t.Errorf("%q: no tests in %s", strings.TrimSpace(cells[1]), m[1])
				continue
			}
			named++
			for _, name := range namedTest.FindAllString(m[2], -1) {
				if !tests[m[1]][name] {
					t.Errorf("%q: %s has no %s", strings.TrimSpace(cells[1]), m[1], name)
				}
			}
		}
		if named == 0 {
			t.Errorf("%q names no test", strings.TrimSpace(cells[1]))
		}
	}
	if rows < 10 {
		t.Errorf("only %d promises found", rows)
	}
}

var (
	testName        = regexp.MustCompile(`(?m)^func (Test\w+|Fuzz\w+)\(`)
	packageAndTests = regexp.MustCompile("^\\s*`([\\w/]+)`(.*)")
	namedTest       = regexp.MustCompile(`\b(?:Test|Fuzz)\w+`)
)
