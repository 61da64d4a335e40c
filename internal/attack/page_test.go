package attack

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/internal/web"
	"github.com/yorehq/yore/session"
)

// site is a page over one caller's view, in a browser that has been let in.
type site struct {
	t      *testing.T
	base   string
	cookie *http.Cookie
	stop   func()
}

func browse(t *testing.T, h *yore.History, c authz.Caller) *site {
	t.Helper()
	v, err := h.View(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	server, err := web.Listen(web.Options{View: v, Resume: h.Resume})
	if err != nil {
		t.Fatal(err)
	}
	return visit(t, server)
}

// visit starts a page and lets a browser in.
func visit(t *testing.T, server *web.Server) *site {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	s := &site{t: t, stop: func() { stop(); <-ended }}
	s.base, _, _ = strings.Cut(server.URL(), "/?")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := client.Get(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	s.cookie = r.Cookies()[0]
	return s
}

// get returns what an address answers with, as a browser sees it.
func (s *site) get(path string, known bool) string {
	s.t.Helper()
	a, body := s.fetch(path, known)
	head := fmt.Sprint(a.StatusCode, a.Header["Location"], a.Header["Content-Disposition"])
	return head + "\n" + strings.ReplaceAll(body, s.base, "BASE")
}

func (s *site) fetch(path string, known bool) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), "GET", s.base+path, nil)
	if err != nil {
		s.t.Fatalf("%q: %v", path, err)
	}
	if known {
		r.AddCookie(s.cookie)
	}
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return a, string(body)
}

// address makes up the address of a page.
func (a *asker) address() (path, said string) {
	h := a.spec().header
	segment := func(text string) string {
		if text != "" && strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz0123456789-") == "" {
			return text
		}
		return "~" + base64.RawURLEncoding.EncodeToString([]byte(text))
	}
	sum := sha256.Sum256([]byte(h.Cwd))
	at := "/s/" + segment(string(h.Agent)) + "/" + segment(string(h.ID))
	if a.IntN(3) == 0 {
		at += fmt.Sprint("/", a.IntN(9), pick(a.Rand, "", "/panel", "/text", "/raw"))
	} else {
		at += pick(a.Rand, "", "/rows", "/map", "/find", "/lineage", "/0")
	}
	v := url.Values{"q": {a.words()}, "o": {"0-9"}}
	if a.IntN(2) == 0 {
		v.Set("in", hex.EncodeToString(sum[:6]))
	}
	switch a.IntN(6) {
	case 0:
		return "/", ""
	case 1:
		v = url.Values{"q": {a.words()}, "workspace": {"~" + base64.RawURLEncoding.EncodeToString([]byte(a.spec().header.Cwd))}, "n": {"480"}}
		fallthrough
	case 2:
		return "/search?" + v.Encode(), v.Get("q")
	}
	return at + "?" + v.Encode(), string(h.ID) + v.Get("q")
}

// TestAuthorityOfThePage asks a page over a view of one workspace, and over
// nobody's: without its cookie no page says anything.
func TestAuthorityOfThePage(t *testing.T) {
	total, words := max(10, *calls/100), 0
	for n := uint64(0); total > 0; n++ {
		world := newWorld(*seed + n)
		h := world.open(t, t.TempDir(), nil)
		a := newAsker(world, 5)
		for _, workspace := range a.workspaces() {
			c := authz.Caller{Workspace: workspace}
			a.now = c
			less := world.open(t, filepath.Join(t.TempDir(), "less"), func(h session.Header) bool { return visible(c, h) })
			real, other := browse(t, h, c), browse(t, less, c)
			for range 30 {
				total--
				path, said := a.address()
				got, want := real.get(path, true), other.get(path, true)
				if word := leaked(got, world.foreign(c, said+workspace, false)); word != "" {
					t.Errorf("seed %d: %s in %q gives %q away:\n%s", world.seed, path, workspace, word, around(got, word))
				}
				// A picture has a box for each invisible subtree.
				if got != want && !strings.Contains(path, "/lineage") {
					mine, theirs := apart(got, want)
					t.Errorf("seed %d: %s in %q:\n%s\nand where nothing else exists:\n%s", world.seed, path, workspace, mine, theirs)
				}
				if a.IntN(5) == 0 {
					if none := real.get(path, false); !strings.HasPrefix(none, "403") || strings.Contains(none, "qz") {
						t.Errorf("seed %d: %s without a cookie: %s", world.seed, path, none)
					}
				}
				words += strings.Count(got, "qz")
				if t.Failed() {
					break
				}
			}
			real.stop()
			other.stop()
			if err := less.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d words", words)
	if words == 0 {
		t.Error("nothing was found at all")
	}
}
