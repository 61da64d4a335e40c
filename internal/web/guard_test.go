package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/internal/web"
	"github.com/yorehq/yore/session"
)

// site is a page that is being served, and a person with its cookie.
type site struct {
	t       *testing.T
	history *yore.History
	server  *web.Server
	base    string // http://127.0.0.1:PORT
	cookie  *http.Cookie
	stop    context.CancelFunc
	ended   chan error
}

// samples is a copy of the tour's logs.
func samples(t *testing.T) string {
	t.Helper()
	dir := t.TempDir() + "/logs"
	if err := os.CopyFS(dir, os.DirFS("../demo/samples")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t *testing.T, change ...func(*yore.History, *web.Options)) *site {
	t.Helper()
	return over(t, samples(t), change...)
}

// over is open with logs of the test's own.
func over(t *testing.T, logs string, change ...func(*yore.History, *web.Options)) *site {
	t.Helper()
	h, err := yore.Open(t.Context(), yore.Options{Sources: []yore.Source{{Agent: session.DSH, Root: logs}}, IndexDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	view, err := h.OwnerView()
	if err != nil {
		t.Fatal(err)
	}
	o := web.Options{View: view, Resume: h.Resume}
	for _, c := range change {
		c(h, &o)
	}
	server, err := web.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &site{t: t, history: h, server: server, stop: stop, ended: make(chan error, 1)}
	go func() { s.ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-s.ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	s.base, _, _ = strings.Cut(server.URL(), "/?")
	r := s.ask("GET", server.URL(), nil)
	if cookies := r.Cookies(); len(cookies) == 1 {
		s.cookie = cookies[0]
	} else {
		t.Fatalf("the token gives %d and the cookies %v", r.StatusCode, cookies)
	}
	return s
}

// answer is a response that has been read.
type answer struct {
	*http.Response
	body string
}

// ask sends one request as it is and follows nothing.
func (s *site) ask(method, address string, change func(*http.Request)) answer {
	s.t.Helper()
	r, err := http.NewRequest(method, address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{response, string(body)}
}

// get is a request of the person with the cookie.
func (s *site) get(path string) answer {
	s.t.Helper()
	return s.ask("GET", s.base+path, func(r *http.Request) { r.AddCookie(s.cookie) })
}

// page is get of a page that has to be there.
func (s *site) page(path string) string {
	s.t.Helper()
	a := s.get(path)
	if a.StatusCode != http.StatusOK {
		s.t.Fatalf("%s gives %d:\n%s", path, a.StatusCode, a.body)
	}
	return a.body
}

func (s *site) json(path string, into any) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.page(path)), into); err != nil {
		s.t.Fatalf("%s: %v", path, err)
	}
}

func TestWhoMayAsk(t *testing.T) {
	s := open(t)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.base, "http://"))
	token := strings.TrimPrefix(s.server.URL(), s.base+"/?token=")
	with := func(changes ...func(*http.Request)) func(*http.Request) {
		return func(r *http.Request) {
			r.AddCookie(s.cookie)
			for _, c := range changes {
				c(r)
			}
		}
	}
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, tc := range []struct {
		name, method, path string
		change             func(*http.Request)
		want               int
	}{
		{"the person", "GET", "/", with(), 200},
		{"HEAD", "HEAD", "/", with(), 200},
		{"by name", "GET", "/", with(host("localhost:" + port)), 200},
		{"its own script", "GET", "/progress", with(header("Origin", s.base), header("Sec-Fetch-Site", "same-origin")), 200},
		{"typed", "GET", "/", with(header("Sec-Fetch-Site", "none"), header("Sec-Fetch-Mode", "navigate"), header("Sec-Fetch-Dest", "document")), 200},

		{"nobody", "GET", "/", nil, 403},
		{"nobody asks for an asset", "GET", "/a/page.css", nil, 403},
		{"nobody asks for what is not there", "GET", "/nowhere", nil, 403},
		{"a wrong token", "GET", "/?token=" + strings.Repeat("A", len(token)), nil, 403},
		{"a token without its end", "GET", "/?token=" + token[:len(token)-1], nil, 403},
		{"an empty token", "GET", "/?token=", nil, 403},
		{"two tokens", "GET", "/?token=x&token=" + token, nil, 403},
		{"a wrong token beside the cookie", "GET", "/?token=x", with(), 403},
		{"a wrong cookie", "GET", "/", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: s.cookie.Name, Value: "x"}) }, 403},
		{"the cookie of another port", "GET", "/", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "yore-1", Value: token}) }, 403},
		{"the token in a header", "GET", "/", header("Authorization", "Bearer "+token), 403},

		{"a bent name", "GET", "/", with(host("attacker.example:" + port)), 403},
		{"a bent name with the token", "GET", "/?token=" + token, host("attacker.example:" + port), 403},
		{"another port", "GET", "/", with(host("127.0.0.1:1")), 403},
		{"no port", "GET", "/", with(host("127.0.0.1")), 403},
		{"a longer name", "GET", "/", with(host("127.0.0.1.attacker.example:" + port)), 403},
		{"another spelling of the address", "GET", "/", with(host("0.0.0.0:" + port)), 403},

		{"another site's script", "GET", "/", with(header("Origin", "https://attacker.example")), 403},
		{"another port's script", "GET", "/", with(header("Origin", "http://127.0.0.1:1")), 403},
		{"a script without an origin", "GET", "/", with(header("Origin", "null")), 403},
		{"another site embeds", "GET", "/a/page.js", with(header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "no-cors"), header("Sec-Fetch-Dest", "script")), 403},
		{"another port embeds", "GET", "/a/page.js", with(header("Sec-Fetch-Site", "same-site"), header("Sec-Fetch-Mode", "no-cors"), header("Sec-Fetch-Dest", "script")), 403},
		{"another site frames", "GET", "/", with(header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "navigate"), header("Sec-Fetch-Dest", "iframe")), 403},

		{"POST", "POST", "/", with(), 405},
		{"PUT", "PUT", "/search", with(), 405},
		{"DELETE", "DELETE", "/s/dsh/alpha-compact", with(), 405},
		{"OPTIONS", "OPTIONS", "/", with(), 405},
		{"an unknown method", "FROB", "/", with(), 405},
	} {
		a := s.ask(tc.method, s.base+tc.path, tc.change)
		if a.StatusCode != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, a.StatusCode, tc.want)
		}
		if tc.want == 403 && (a.body != "forbidden: open the address that was printed when this was started\n" || len(a.Cookies()) > 0) {
			t.Errorf("%s is told %q and given %v", tc.name, a.body, a.Cookies())
		}
		safe(t, tc.name, a)
	}
}

// safe checks what every answer must carry, whatever it is.
func safe(t *testing.T, name string, a answer) {
	t.Helper()
	csp := map[string]string{}
	for part := range strings.SplitSeq(a.Header.Get("Content-Security-Policy"), ";") {
		directive, value, _ := strings.Cut(strings.TrimSpace(part), " ")
		csp[directive] = value
	}
	if csp["default-src"] != "'none'" || csp["frame-ancestors"] != "'none'" {
		t.Errorf("%s: the policy is %v", name, csp)
	}
	for directive, value := range csp {
		if strings.ContainsAny(value, "*:") || strings.Contains(value, "unsafe") || strings.Contains(value, "data") || strings.Contains(value, "http") {
			t.Errorf("%s: the policy has %s %s", name, directive, value)
		}
	}
	for header, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := a.Header.Get(header); got != want {
			t.Errorf("%s: %s is %q, want %q", name, header, got, want)
		}
	}
	if a.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%s is shared with other sites", name)
	}
}

func TestATokenBecomesACookie(t *testing.T) {
	s := open(t)
	token := strings.TrimPrefix(s.server.URL(), s.base+"/?token=")
	if len(token) < 40 {
		t.Errorf("the token is %q", token)
	}
	for path, want := range map[string]string{
		"/":                                   "/",
		"/s/dsh/alpha-compact/3?in=x&q=a%20b": "/s/dsh/alpha-compact/3?in=x&q=a+b",
		"//attacker.example/":                 "/attacker.example/",
		"///attacker.example/x":               "/attacker.example/x",
		"/%2F/attacker.example":               "/",
		"/a%2Fb":                              "/a%2Fb",
	} {
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		a := s.ask("GET", s.base+path+join+"token="+url.QueryEscape(token), nil)
		to := a.Header.Get("Location")
		if a.StatusCode != http.StatusSeeOther || strings.Contains(to, token) || strings.HasPrefix(to, "//") || !strings.HasPrefix(to, "/") {
			t.Errorf("%s gives %d to %q", path, a.StatusCode, to)
		}
		if path != "/%2F/attacker.example" && to != want {
			t.Errorf("%s leads to %q, want %q", path, to, want)
		}
		c := a.Cookies()
		if len(c) != 1 || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode || c[0].Domain != "" || c[0].Value != token {
			t.Errorf("%s sets %v", path, c)
		}
	}
}

func TestATicketIsGoodOnce(t *testing.T) {
	s := open(t)
	ticket := s.server.Ticket()
	if ticket == s.server.URL() {
		t.Fatal("the ticket is the token")
	}
	for i, want := range []int{303, 403, 403} {
		if a := s.ask("GET", ticket, nil); a.StatusCode != want {
			t.Errorf("use %d gives %d, want %d", i+1, a.StatusCode, want)
		}
	}
	if a := s.ask("GET", s.server.URL(), nil); a.StatusCode != 303 {
		t.Errorf("the token gives %d after the ticket was used", a.StatusCode)
	}
}

// Ending does not wait for whoever keeps a connection, and nothing listens then.
func TestTheServerEnds(t *testing.T) {
	held := make(chan struct{})
	s := open(t, func(_ *yore.History, o *web.Options) {
		o.Index = func(ctx context.Context, progress func(done, total int)) error {
			progress(3, 9)
			close(held)
			<-ctx.Done()
			return ctx.Err()
		}
	})
	<-held
	var p struct {
		Done, Total int
		Busy        bool
	}
	if s.json("/progress", &p); p.Done != 3 || p.Total != 9 || !p.Busy {
		t.Errorf("progress is %+v", p)
	}
	s.page("/") // nobody waits for the index
	idle, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	fmt.Fprintf(idle, "GET / HTTP/1.1\r\nHost: ")
	s.stop()
	select {
	case err := <-s.ended:
		if s.ended <- nil; err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
	if c, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://")); err == nil {
		c.Close()
		t.Error("something still listens")
	}
}

func TestTheAddressIsThisMachineAlone(t *testing.T) {
	s := open(t)
	host, _, err := net.SplitHostPort(strings.TrimPrefix(s.base, "http://"))
	if err != nil || host != "127.0.0.1" {
		t.Errorf("it listens on %q", host)
	}
	if _, err := web.Listen(web.Options{}); err == nil {
		t.Error("a page without a view")
	}
	view, err := s.history.OwnerView()
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range []int{-1, 65536} {
		if _, err := web.Listen(web.Options{View: view, Port: port}); err == nil {
			t.Errorf("port %d is taken", port)
		}
	}
}
