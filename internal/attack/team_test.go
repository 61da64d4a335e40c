package attack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/internal/archive"
	"github.com/yorehq/yore/internal/push"
	teamserve "github.com/yorehq/yore/internal/serve"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
	"github.com/yorehq/yore/session"
)

// tenants is how many companies share the server. Their worlds have the same
// workspaces, so that nothing but the tenant tells them apart.
const tenants = 50

// company is one tenant: what its people have, and who may see which of it.
type company struct {
	name       string
	world      *world
	asker      *asker
	workspaces []string
	tokens     []badge
}

// badge is a token and what it holds.
type badge struct {
	secret string
	holds  []string
}

// service is a server with every company's sessions on it.
type service struct {
	t         *testing.T
	url       string
	companies []*company
}

func newService(t *testing.T) *service {
	db := postgrestest.Open(t, postgres.Options{})
	d := teamserve.Database{DB: db}
	handler, err := teamserve.New(teamserve.Options{Store: d, Tokens: d, Audit: d, PerToken: 64})
	if err != nil {
		t.Fatal(err)
	}
	at := httptest.NewServer(handler)
	t.Cleanup(at.Close)
	s := &service{t: t, url: at.URL}
	for i := range tenants {
		w := newWorld(*seed + 1000 + uint64(i))
		w.specs = slices.DeleteFunc(w.specs, func(s *spec) bool { return s.root < 0 }) // live ones are nowhere but in their process
		w.specs = w.specs[:min(len(w.specs), 9)]
		c := &company{name: fmt.Sprint("tenant-", i), world: w, asker: newAsker(w, 7)}
		for _, spec := range w.specs {
			if cwd := spec.header.Cwd; cwd != "" && !slices.Contains(c.workspaces, cwd) {
				c.workspaces = append(c.workspaces, cwd)
			}
		}
		s.fill(db, c)
		s.companies = append(s.companies, c)
	}
	return s
}

// fill pushes a company's sessions and mints its tokens.
func (s *service) fill(db *postgres.Database, c *company) {
	s.t.Helper()
	mint := func(rights []string, workspaces ...string) string {
		secret, _, err := db.Mint(s.t.Context(), postgres.Token{Tenant: c.name, Person: "p", Rights: rights, Workspaces: workspaces})
		if err != nil {
			s.t.Fatal(err)
		}
		return secret
	}
	dir := s.t.TempDir()
	c.world.write(s.t, dir, nil)
	names := map[string]string{}
	for _, w := range c.workspaces {
		names[w] = w
	}
	server, err := team.Dial(team.Options{URL: s.url, Token: mint([]string{postgres.RightPush}, c.workspaces...)})
	if err != nil {
		s.t.Fatal(err)
	}
	var all []archive.Root
	for _, src := range roots(dir) {
		for _, r := range yore.Readers() {
			if r.Agent() == src.Agent {
				all = append(all, archive.Root{Reader: r, Path: src.Root})
			}
		}
	}
	p, err := push.New(push.Options{Roots: all, Workspaces: names, Server: server, Dir: filepath.Join(dir, "sent")})
	if err == nil {
		_, err = p.Run(s.t.Context(), nil)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	r := c.asker.Rand
	for range 3 {
		holds := slices.Clone(c.workspaces)
		r.Shuffle(len(holds), func(i, j int) { holds[i], holds[j] = holds[j], holds[i] })
		holds = holds[:1+r.IntN(min(2, len(holds)))]
		if r.IntN(3) == 0 {
			holds = append(holds, pick(r, places[:len(places)-1]...)) // which the company may not have, and others do
		}
		c.tokens = append(c.tokens, badge{mint([]string{postgres.RightRead}, holds...), holds})
	}
}

// foreign returns the words that no answer to a holder of workspaces may have.
func (s *service) foreign(c *company, holds []string, said string) (words []string) {
	known := markers(said)
	for _, spec := range c.world.specs {
		if slices.Contains(holds, spec.header.Cwd) {
			known = append(append(known, spec.words...), markers(string(spec.header.ID))...)
		}
	}
	for _, other := range s.companies {
		for _, spec := range other.world.specs {
			if other != c || !slices.Contains(holds, spec.header.Cwd) {
				words = append(append(words, spec.words...), markers(string(spec.header.ID))...)
			}
		}
	}
	return append(slices.DeleteFunc(words, func(word string) bool { return slices.Contains(known, word) }), nobody)
}

// send sends a request and returns what comes back, headers included.
func (s *service) send(method, path string, b badge, narrow []string, body any) string {
	s.t.Helper()
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		in = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, in)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.secret)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for _, w := range narrow {
		req.Header.Add(team.NarrowHeader, url.QueryEscape(w))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	res.Header.Del("Date")
	var record struct {
		Native []byte `json:"native_base64"` // words in it are words that are told
	}
	_ = json.Unmarshal(text, &record) // most answers are none
	return fmt.Sprint(res.StatusCode, " ", res.Header, "\n", string(text), string(record.Native))
}

// TestAuthorityOverHTTP makes random calls with random tokens of 50 companies over
// every way that the server has. No word of a session that the token does not hold
// is in any answer, and a session that is elsewhere answers as one that is nowhere.
func TestAuthorityOverHTTP(t *testing.T) {
	s := newService(t)
	r := rand.New(rand.NewPCG(*seed, 50))
	found := 0
	for n := range *calls {
		c := s.companies[r.IntN(len(s.companies))]
		b := pick(r, c.tokens...)
		asks := c.asker
		if r.IntN(3) == 0 {
			asks = s.companies[r.IntN(len(s.companies))].asker // who knows what another company has
		}
		tool, args := asks.call()
		var narrow []string
		holds := b.holds
		if r.IntN(4) == 0 {
			narrow = []string{pick(r, places[:len(places)-1]...)}
			holds = slices.DeleteFunc(slices.Clone(holds), func(w string) bool { return w != narrow[0] })
		}
		var text string
		switch n % 3 {
		case 0:
			text = s.send("POST", "/v1/tools/"+url.PathEscape(tool), b, narrow, map[string]any{"arguments": json.RawMessage(valid(args)), "prefix": pick(r, "", "team:")})
		case 1:
			text = s.send("POST", "/mcp", b, narrow, map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
				"name": tool, "arguments": json.RawMessage(valid(args)), "_meta": asks.meta(),
			}})
		default:
			q := url.Values{}
			var given map[string]any
			_ = json.Unmarshal(args, &given) // what is no object asks nothing
			for name, v := range given {
				q.Set(name, fmt.Sprint(v))
			}
			text = s.send("GET", "/v1/"+pick(r, "search", "events", "trace", "event-trace", "read", "list", "show", "record", "replacements")+"?"+q.Encode(), b, narrow, nil)
		}
		if word := leaked(text, s.foreign(c, holds, string(args))); word != "" {
			t.Fatalf("call %d: %s %s of %s, who holds %q, gives %q away:\n%s", n, tool, args, c.name, holds, word, around(text, word))
		}
		found += strings.Count(text, "qz")
		s.same(c, b, r)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d calls, %d words found", *calls, found)
	if found < *calls/4 {
		t.Errorf("only %d words were found: ask better", found)
	}
}

// valid is a text as JSON: what is none is sent as a string.
func valid(args json.RawMessage) json.RawMessage {
	if json.Valid(args) {
		return args
	}
	text, _ := json.Marshal(string(args))
	return text
}

// same asks for a session that the token does not hold and for one that nobody has.
func (s *service) same(c *company, b badge, r *rand.Rand) {
	s.t.Helper()
	other := s.companies[r.IntN(len(s.companies))]
	var ids []session.ID
	for _, spec := range other.world.specs {
		if other != c || !slices.Contains(b.holds, spec.header.Cwd) {
			ids = append(ids, spec.header.ID)
		}
	}
	for _, spec := range c.world.specs {
		if slices.Contains(b.holds, spec.header.Cwd) {
			// An id may look like one with its agent before it, and is that of the holder's own session then.
			own := session.ID(string(spec.header.Agent) + ":" + string(spec.header.ID))
			ids = slices.DeleteFunc(ids, func(id session.ID) bool { return id == spec.header.ID || id == own })
		}
	}
	if len(ids) == 0 {
		return
	}
	there, nowhere := string(pick(r, ids...)), marker(r)
	for _, what := range []string{"show?", "record?seq=0&", "replacements?"} {
		show := func(id string) string {
			return strings.ReplaceAll(s.send("GET", "/v1/"+what+"session_id="+url.QueryEscape(id), b, nil, nil), id, "ID")
		}
		if got, want := show(there), show(nowhere); got != want {
			s.t.Errorf("%s of %q as %q:\n%s\nand of what nobody has:\n%s", what, there, b.holds, got, want)
		}
	}
	for _, tool := range []string{"session_trace", "session_event_read"} {
		ask := func(id string) string {
			args := map[string]any{"session_id": id}
			if tool == "session_event_read" {
				args["seq"] = 0
			}
			return strings.ReplaceAll(s.send("POST", "/v1/tools/"+tool, b, nil, map[string]any{"arguments": args}), id, "ID")
		}
		if got, want := ask(there), ask(nowhere); got != want {
			s.t.Errorf("%s of %q as %q:\n%s\nand of what nobody has:\n%s", tool, there, b.holds, got, want)
		}
	}
}
