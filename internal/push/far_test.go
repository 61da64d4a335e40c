package push_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/archive"
	"github.com/yorehq/yore/internal/push"
	"github.com/yorehq/yore/internal/team"
	format "github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/session"
)

// far is a team's server as a sender knows it, by what docs/team.md says of the
// two paths and nothing else: stretches are kept in memory, each applied once, and
// one that does not continue what is there is a conflict.
type far struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	sessions map[string][]session.Raw // by workspace and id
	origins  map[string]format.Origin
	applied  map[string]int64 // the answer to each stretch, by the request as it came
	requests []request

	// before and after may answer in the server's place, before a stretch is looked
	// at and when it is stored; n counts requests from 0. A status of broken ends the
	// connection without an answer.
	before, after func(n int) (status int, header http.Header)
}

const broken = -1

// request is one that came in.
type request struct {
	at            time.Time
	path          string
	from          int64
	anew          bool
	token, kind   string
	body          []byte
	status        int
	sessionEvents int // that it brought
}

func newFar(t *testing.T) *far {
	f := &far{t: t, sessions: map[string][]session.Raw{}, origins: map[string]format.Origin{}, applied: map[string]int64{}}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

func (f *far) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	from, _ := strconv.ParseInt(r.URL.Query().Get("from"), 10, 64)
	f.requests = append(f.requests, request{
		at: time.Now(), path: r.URL.Path, from: from, anew: r.URL.Query().Get("anew") == "true",
		token: r.Header.Get("Authorization"), kind: r.Header.Get("Content-Type"), body: body,
	})
	n := len(f.requests) - 1
	now := &f.requests[n]
	instead := func(hook func(int) (int, http.Header)) bool {
		if hook == nil {
			return false
		}
		status, header := hook(n)
		if status == 0 {
			return false
		}
		if now.status = status; status == broken {
			if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
				c.Close()
			}
			return true
		}
		for name, v := range header {
			w.Header()[name] = v
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"code":"","message":"answered with %d on purpose"}}`, status)
		return true
	}
	if instead(f.before) {
		return
	}
	status, answer := f.take(r, now)
	if instead(f.after) {
		return
	}
	now.status = status
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// take applies a request.
func (f *far) take(r *http.Request, q *request) (status int, answer any) {
	if r.URL.Path == "/v1/withdraw" {
		var gone team.Withdrawal
		if err := json.Unmarshal(q.body, &gone); err != nil {
			return http.StatusBadRequest, nil
		}
		delete(f.sessions, gone.Workspace+" "+string(gone.ID))
		return http.StatusOK, map[string]bool{"removed": true}
	}
	var all []session.Raw
	origin, next, err := format.Decode(r.Context(), q.body, q.from, 1<<30, func(p format.Piece) error {
		for i, native := range p.Native {
			raw := session.Raw{Event: p.Event, Native: native}
			raw.Event.Seq += int64(i)
			all = append(all, raw)
		}
		return nil
	})
	if err != nil {
		f.t.Errorf("the body is no stretch: %v", err)
		return http.StatusUnprocessableEntity, nil
	}
	batch := fmt.Sprint(q.from, q.anew, string(q.body))
	if known, ok := f.applied[batch]; ok {
		return http.StatusOK, team.Taken{Next: known}
	}
	key := origin.Header.Cwd + " " + string(origin.Header.ID)
	have := f.sessions[key]
	if q.anew {
		have = nil
	}
	if int64(len(have)) != q.from || len(have) > 0 && f.origins[key].Header != origin.Header {
		sum := team.NewSum()
		for _, raw := range have {
			sum.Add(raw)
		}
		return http.StatusConflict, team.Taken{Next: int64(len(have)), Sum: hex.EncodeToString(sum.Sum())}
	}
	q.sessionEvents = len(all)
	f.sessions[key], f.origins[key], f.applied[batch] = append(slices.Clone(have), all...), origin, next
	return http.StatusOK, team.Taken{Next: next}
}

// sent are the requests of a path so far.
func (f *far) sent(path string) (some []request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range f.requests {
		if q.path == path {
			some = append(some, q)
		}
	}
	return some
}

// has is the bytes of a session's events.
func (f *far) has(key string) (natives []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, raw := range f.sessions[key] {
		natives = append(natives, string(raw.Native))
	}
	return natives
}

// desk is somebody's machine: a folder of logs, and what was sent of it.
type desk struct {
	t          *testing.T
	root, dir  string
	workspaces map[string]string
	forgotten  map[session.ID]bool
	patience   time.Duration
}

func newDesk(t *testing.T, workspaces map[string]string) *desk {
	return &desk{t, t.TempDir(), filepath.Join(t.TempDir(), "sent"), workspaces, map[session.ID]bool{}, time.Minute}
}

func (d *desk) path(cwd, id string) string {
	return filepath.Join(d.root, "--"+strings.ReplaceAll(strings.Trim(cwd, "/"), "/", "-")+"--", id, "session.jsonl")
}

// log writes a session of some messages.
func (d *desk) log(cwd, id string, texts ...string) {
	d.t.Helper()
	path := d.path(cwd, id)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	lines := fmt.Sprintf(`{"type":"session","version":0,"id":%q,"createdAt":1790000000000,"cwd":%q,"delegationDepth":0}`+"\n", id, cwd)
	for i, text := range texts {
		lines += message(i, text) + "\n"
	}
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// message is a message as DSH logs it.
func message(seq int, text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"type":"user/message","seq":%d,"time":%d,"data":{"id":"u-%d","role":"user","content":[{"type":"text","text":%s}],"source":{"kind":"user"}},"surfaceOp":"append"}`,
		seq, 1790000000000+1000*seq, seq, quoted)
}

func messages(texts ...string) (lines []string) {
	for i, text := range texts {
		lines = append(lines, message(i, text))
	}
	return lines
}

// pusher makes a sender, as each run of the program does.
func (d *desk) pusher(f *far) *push.Pusher {
	d.t.Helper()
	o := push.Options{
		Roots: []archive.Root{{Reader: dsh.New(), Path: d.root}}, Workspaces: d.workspaces, Dir: d.dir, Patience: d.patience,
		Forgets: func(h session.Header) (bool, error) { return d.forgotten[h.ID], nil },
	}
	if f != nil {
		s, err := team.Dial(team.Options{URL: f.URL, Token: "yore_t", Timeout: time.Minute})
		if err != nil {
			d.t.Fatal(err)
		}
		o.Server = s
	}
	p, err := push.New(o)
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}

func (d *desk) run(f *far) (push.Report, error) {
	d.t.Helper()
	return d.pusher(f).Run(d.t.Context(), nil)
}

// of names the session of the n-th request, "" if it names none. A hook may call it.
func (f *far) of(n int) session.ID {
	q := f.requests[n]
	if q.path != "/v1/push" {
		return ""
	}
	o, _, err := format.Decode(context.Background(), q.body, q.from, 1<<30, func(format.Piece) error { return nil })
	if err != nil {
		f.t.Error(err)
	}
	return o.Header.ID
}

// grow appends messages to a log that has some.
func (d *desk) grow(cwd, id string, from int, texts ...string) {
	d.t.Helper()
	f, err := os.OpenFile(d.path(cwd, id), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	lines := ""
	for i, text := range texts {
		lines += message(from+i, text) + "\n"
	}
	if _, err := f.WriteString(lines); err != nil {
		d.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		d.t.Fatal(err)
	}
}
