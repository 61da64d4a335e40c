package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/serve"
	"github.com/yorehq/yore/postgres"
)

// Who gets in, by the token's state, its rights, the name that is asked for and
// the page that asks. The statuses are those of RFC 9110 and RFC 6750.
func TestGate(t *testing.T) {
	r := newRig(t, func(o *serve.Options) { o.Hosts = []string{"yore.example.com"} })
	ctx := t.Context()
	mint := func(tok postgres.Token) (string, string) {
		secret, made, err := r.db.Mint(ctx, tok)
		if err != nil {
			t.Fatal(err)
		}
		return secret, made.ID
	}
	reads := postgres.Token{Tenant: "acme", Person: "ada", Workspaces: []string{"/w"}, Rights: []string{"read"}}
	good, _ := mint(reads)
	revoked, id := mint(reads)
	if err := r.db.Revoke(ctx, id); err != nil {
		t.Fatal(err)
	}
	reads.Expires = time.Now().Add(300 * time.Millisecond)
	expired, _ := mint(reads)
	metrics, _ := mint(postgres.Token{Tenant: "ops", Person: "prometheus", Rights: []string{"metrics"}})
	time.Sleep(400 * time.Millisecond)
	const host = "yore.example.com"
	for _, tc := range []struct {
		name, method, path, token string
		headers                   []string
		want                      int
	}{
		{"good", "GET", "/v1/list", good, nil, 200},
		{"no token", "GET", "/v1/list", "", nil, 401},
		{"not a token", "GET", "/v1/list", "yore_x", nil, 401},
		{"one bit away", "GET", "/v1/list", good[:len(good)-2] + string(good[len(good)-2]^1) + good[len(good)-1:], nil, 401},
		{"with more behind it", "GET", "/v1/list", good + "a", nil, 401},
		{"long", "GET", "/v1/list", strings.Repeat("a", 5000), nil, 401},
		{"revoked", "GET", "/v1/list", revoked, nil, 401},
		{"expired", "GET", "/v1/list", expired, nil, 401},
		{"may not push", "POST", "/v1/push?from=0", good, nil, 403},
		{"may not take back", "POST", "/v1/withdraw", good, nil, 403},
		{"may not see counters", "GET", "/metrics", good, nil, 403},
		{"counters", "GET", "/metrics", metrics, nil, 200},
		{"counters alone", "GET", "/v1/list", metrics, nil, 403},
		{"another name", "GET", "/v1/list", good, []string{"Host", "evil.example"}, 421},
		{"our page", "GET", "/v1/list", good, []string{"Origin", "https://" + host}, 200},
		{"another page", "GET", "/v1/list", good, []string{"Origin", "https://evil.example"}, 403},
		{"no page's origin", "GET", "/v1/list", good, []string{"Origin", "null"}, 403},
		{"embedded", "GET", "/v1/list", good, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"another page at MCP", "POST", "/mcp", good, []string{"Origin", "https://evil.example"}, 403},
		{"alive", "GET", "/healthz", "", nil, 200},
		{"alive by any name", "GET", "/healthz", "", []string{"Host", "10.0.0.7"}, 200},
		{"ready", "GET", "/readyz", "", nil, 200},
		{"nothing there", "GET", "/v1/secrets", good, nil, 404},
		{"nothing there at all", "GET", "/", good, nil, 404},
		{"no such method", "DELETE", "/v1/push", good, nil, 405},
		{"narrowed to nothing", "GET", "/v1/list", good, []string{"Yore-Workspace", "%2Fother"}, 200},
		{"narrowed badly", "GET", "/v1/list", good, []string{"Yore-Workspace", "%zz"}, 400},
		{"a limit that is none", "GET", "/v1/list?limit=-1", good, nil, 400},
		{"a question that is none", "POST", "/v1/tools/session_search", good, nil, 400},
	} {
		headers := tc.headers
		if len(headers) == 0 || headers[0] != "Host" {
			headers = append([]string{"Host", host}, headers...)
		}
		got, body, h := r.do(tc.method, tc.path, tc.token, "", headers...)
		if got != tc.want {
			t.Errorf("%s: %d, want %d: %s", tc.name, got, tc.want, body)
		}
		if got == 401 && h.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: nothing says how to ask", tc.name)
		}
		if strings.Contains(body, tc.token) && tc.token != "" {
			t.Errorf("%s: the token comes back", tc.name)
		}
	}
	// Unknown, revoked and expired are one answer.
	_, a, _ := r.do("GET", "/v1/list", revoked, "", "Host", host)
	_, b, _ := r.do("GET", "/v1/list", expired, "", "Host", host)
	_, c, _ := r.do("GET", "/v1/list", "yore_none", "", "Host", host)
	if a != b || b != c {
		t.Errorf("%s%s%s", a, b, c)
	}
	// What is asked is on record, and who asked; the token is not.
	if _, body, _ := r.do("GET", "/v1/search?query=linker+ghp_x8Kq2mVn4Rt7Wz1Yb5Lc9Dh3Jf6Ps0AeGuQi", good, "", "Host", host); !strings.Contains(body, "coverage") {
		t.Error(body)
	}
	records, err := r.db.Records(ctx, "acme", time.Now().Add(-time.Hour), 100)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(records)
	if !strings.Contains(string(text), "linker") || !strings.Contains(string(text), `"Person":"ada"`) || strings.Contains(string(text), good) || strings.Contains(string(text), "ghp_x8Kq") {
		t.Errorf("%s", text)
	}
}

// Both eras of the protocol are spoken, and the tools are those of a machine.
func TestMCP(t *testing.T) {
	r := newRig(t)
	m := newMachine(t, map[string]string{"/w": "/w"})
	token := r.mint("acme", "ada", both, "/w")
	m.begin("/w", "one")
	m.say("/w", "one", 0, "the linker fails")
	m.push(r.server(token))
	accept := []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"session_search","arguments":{"query":"linker"}%s}}`
	for name, h := range map[string][]string{
		"handshake": append([]string{"MCP-Protocol-Version", "2025-11-25"}, accept...),
		"stateless": append([]string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "session_search"}, accept...),
	} {
		meta := ""
		if name == "stateless" {
			meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		}
		code, body, _ := r.do("POST", "/mcp", token, strings.Replace(call, "%s", meta, 1), h...)
		if code != 200 || !strings.Contains(body, "the linker fails") || !strings.Contains(body, "one 2026-09-21T") {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	code, body, _ := r.do("POST", "/mcp", r.mint("acme", "ada", both, "/v"), strings.Replace(call, "%s", "", 1), append([]string{"MCP-Protocol-Version", "2025-11-25"}, accept...)...)
	if code != 200 || strings.Contains(body, "the linker fails") {
		t.Errorf("%d %s", code, body)
	}
}

// slowAudit holds requests back until they are let go.
type slowAudit struct {
	serve.Audit
	in, out chan struct{}
}

func (s slowAudit) Record(ctx context.Context, r serve.Record) error {
	s.in <- struct{}{}
	<-s.out
	return s.Audit.Record(ctx, r)
}

// More requests of one token than are let in at a time are told to come again;
// others' are not, and what is under way when the server stops is answered.
func TestLoad(t *testing.T) {
	audit := slowAudit{in: make(chan struct{}, 10), out: make(chan struct{})}
	var server *serve.Server
	r := newRig(t, func(o *serve.Options) {
		audit.Audit, o.Audit, o.PerToken = o.Audit, &audit, 2
		var err error
		if server, err = serve.New(*o); err != nil {
			t.Fatal(err)
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.url = "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, l, "", "") }()
	token, other := r.mint("acme", "ada", both, "/w"), r.mint("acme", "bob", both, "/w")
	var group sync.WaitGroup
	codes := make(chan int, 10)
	ask := func(token string) {
		group.Go(func() {
			code, _, _ := r.do("GET", "/v1/list", token, "")
			codes <- code
		})
	}
	ask(token)
	ask(token)
	<-audit.in
	<-audit.in
	code, _, h := r.do("GET", "/v1/list", token, "")
	if code != 429 || h.Get("Retry-After") == "" {
		t.Errorf("a third at a time: %d", code)
	}
	ask(other)
	<-audit.in
	stop()
	time.Sleep(100 * time.Millisecond)
	close(audit.out)
	group.Wait()
	for range 3 {
		if code := <-codes; code != 200 {
			t.Errorf("what was under way: %d", code)
		}
	}
	if err := <-ended; err != nil && !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("it listens still")
	}
}
