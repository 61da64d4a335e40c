package serve_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yorehq/yore/internal/archive"
	"github.com/yorehq/yore/internal/push"
	"github.com/yorehq/yore/internal/serve"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/session"
)

// rig is a server over a database of its own.
type rig struct {
	t   testing.TB
	db  *postgres.Database
	url string
}

func newRig(t testing.TB, change ...func(*serve.Options)) *rig {
	t.Helper()
	r := &rig{t: t}
	r.over(postgrestest.Open(t, postgres.Options{}), change...)
	return r
}

// over puts a server over a database.
func (r *rig) over(db *postgres.Database, change ...func(*serve.Options)) {
	r.t.Helper()
	d := serve.Database{DB: db}
	o := serve.Options{Store: d, Tokens: d, Audit: d, Ready: db.Ping, Version: "test"}
	for _, c := range change {
		c(&o)
	}
	s, err := serve.New(o)
	if err != nil {
		r.t.Fatal(err)
	}
	at := httptest.NewServer(s)
	r.t.Cleanup(at.Close)
	r.db, r.url = db, at.URL
}

// mint makes a token.
func (r *rig) mint(tenant, person string, rights []string, workspaces ...string) string {
	r.t.Helper()
	secret, _, err := r.db.Mint(r.t.Context(), postgres.Token{Tenant: tenant, Person: person, Rights: rights, Workspaces: workspaces})
	if err != nil {
		r.t.Fatal(err)
	}
	return secret
}

var both = []string{postgres.RightRead, postgres.RightPush}

func (r *rig) server(token string) *team.Server {
	r.t.Helper()
	s, err := team.Dial(team.Options{URL: r.url, Token: token, Timeout: 60e9})
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// do sends a request as it is.
func (r *rig) do(method, path, token, body string, headers ...string) (int, string, http.Header) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

// machine is somebody's machine: a folder of DSH logs, and what it remembers.
type machine struct {
	t          testing.TB
	root, dir  string
	workspaces map[string]string
	forgotten  map[session.ID]bool
}

func newMachine(t testing.TB, workspaces map[string]string) *machine {
	return &machine{t, t.TempDir(), filepath.Join(t.TempDir(), "sent"), workspaces, map[session.ID]bool{}}
}

func (m *machine) path(cwd, id string) string {
	return filepath.Join(m.root, "--"+strings.ReplaceAll(strings.Trim(cwd, "/"), "/", "-")+"--", id, "session.jsonl")
}

// begin writes a log's header.
func (m *machine) begin(cwd, id string) {
	m.t.Helper()
	path := m.path(cwd, id)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		m.t.Fatal(err)
	}
	line := fmt.Sprintf(`{"type":"session","version":0,"id":%q,"createdAt":1790000000000,"cwd":%q,"delegationDepth":0}`+"\n", id, cwd)
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// say appends a message.
func (m *machine) say(cwd, id string, seq int, text string) {
	m.t.Helper()
	f, err := os.OpenFile(m.path(cwd, id), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(message(seq, text))
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// message is a message as DSH logs it.
func message(seq int, text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"type":"user/message","seq":%d,"time":%d,"data":{"id":"u-%d","role":"user","content":[{"type":"text","text":%s}],"source":{"kind":"user"}},"surfaceOp":"append"}`+"\n",
		seq, 1790000000000+1000*seq, seq, quoted)
}

func (m *machine) pusher(s *team.Server) *push.Pusher {
	m.t.Helper()
	p, err := push.New(push.Options{
		Roots: []archive.Root{{Reader: dsh.New(), Path: m.root}}, Workspaces: m.workspaces, Server: s, Dir: m.dir,
		Forgets: func(h session.Header) (bool, error) { return m.forgotten[h.ID], nil },
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return p
}

func (m *machine) push(s *team.Server) push.Report {
	m.t.Helper()
	r, err := m.pusher(s).Run(m.t.Context(), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

// natives are the exact bytes of a log's records.
func natives(t testing.TB, path string) (lines [][]byte) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))[1:]
}
