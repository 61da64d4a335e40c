package yore_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// The links of the documents lead somewhere.

var (
	fence    = regexp.MustCompile("(?s)```.*?```")
	comment  = regexp.MustCompile(`(?s)<!--.*?-->`)
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	scheme   = regexp.MustCompile(`^[a-z]+:`)
	external = regexp.MustCompile(`^https://[a-z0-9.-]+\.[a-z]+(/[^\s()]*)?$`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	markup   = regexp.MustCompile("[`*]|\\[([^\\]]*)\\]\\([^)]*\\)")
)

// anchors are the names of a page's headings as GitHub makes them: lower case,
// spaces to dashes, no other signs, -1 and so on for the same once more.
func anchors(page []byte) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllSubmatch(fence.ReplaceAll(page, nil), -1) {
		text := markup.ReplaceAllString(string(m[1]), "$1")
		var b strings.Builder
		for _, r := range strings.ToLower(text) {
			switch {
			case r == ' ' || r == '-':
				b.WriteRune('-')
			case r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.M, r):
				b.WriteRune(r)
			}
		}
		name := b.String()
		for n := 1; all[name]; n++ {
			name = fmt.Sprintf("%s-%d", b.String(), n)
		}
		all[name] = true
	}
	return all
}

// brokenLinks returns the links of a page that lead nowhere: a file that is not
// there, a heading that its page does not have, an address that is none. What
// lies behind an address is not looked at.
func brokenLinks(rel string, text []byte) (broken []string, err error) {
	for _, m := range link.FindAllSubmatch(comment.ReplaceAll(fence.ReplaceAll(text, nil), nil), -1) {
		target := string(m[1])
		if scheme.MatchString(target) {
			if !external.MatchString(target) {
				broken = append(broken, target+", which is no address")
			}
			continue
		}
		file, anchor, _ := strings.Cut(target, "#")
		page := text
		if file != "" {
			name := filepath.Join(filepath.FromSlash(path.Dir(rel)), filepath.FromSlash(file))
			info, err := os.Stat(name)
			if err != nil {
				broken = append(broken, target+", which is not there")
				continue
			}
			if info.IsDir() || anchor == "" {
				continue
			}
			if page, err = os.ReadFile(name); err != nil {
				return nil, err
			}
		}
		if !anchors(page)[anchor] {
			broken = append(broken, target+": there is no such heading")
		}
	}
	return broken, nil
}

func TestLinks(t *testing.T) {
	links := 0
	err := walk(func(rel string) error {
		if path.Ext(rel) != ".md" {
			return nil
		}
		text, err := os.ReadFile(filepath.FromSlash(rel))
		if err != nil {
			return err
		}
		links += len(link.FindAll(text, -1))
		broken, err := brokenLinks(rel, text)
		for _, b := range broken {
			t.Errorf("%s links to %s", rel, b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if links < 50 {
		t.Errorf("only %d links found: the test looks in the wrong place", links)
	}
}

// The test of links notices what it is for.
func TestBrokenLinks(t *testing.T) {
	page := []byte("# The `map` of *it*\n\n## 安装\n\n## Twice\n## Twice\n\n```\n[x](in-code.md)\n```\n[a](#the-map-of-it) [b](#安装) [c](#twice-1) [d](house_test.go) [e](docs) [f](https://semver.org/spec)\n")
	if broken, err := brokenLinks("page.md", page); err != nil || len(broken) != 0 {
		t.Errorf("sound links: %v, %v", broken, err)
	}
	for _, target := range []string{"#nowhere", "#twice-2", "nowhere.md", "README.md#nowhere", "http://semver.org", "https://nowhere", "ftp://semver.org/x"} {
		if broken, err := brokenLinks("page.md", append(page, "[z]("+target+")"...)); err != nil || len(broken) != 1 {
			t.Errorf("%s: %v, %v", target, broken, err)
		}
	}
}
