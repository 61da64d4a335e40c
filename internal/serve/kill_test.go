package serve_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/serve"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
	"github.com/yorehq/yore/query"
)

// The test binary doubles as a server that can be killed: with YORE_SERVE_DSN it
// serves at YORE_SERVE_AT until its input ends.
func TestMain(m *testing.M) {
	if dsn := os.Getenv("YORE_SERVE_DSN"); dsn != "" {
		if err := serveAt(dsn, os.Getenv("YORE_SERVE_AT")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func serveAt(dsn, address string) error {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	db, err := postgres.Open(ctx, postgres.Options{DSN: dsn})
	if err != nil {
		return err
	}
	defer db.Close()
	d := serve.Database{DB: db}
	s, err := serve.New(serve.Options{Store: d, Tokens: d, Audit: d})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("serving")
	return s.Run(ctx, l, "", "")
}

// child is a server in a process of its own.
type child struct {
	cmd *exec.Cmd
	in  io.Closer
}

func startChild(t *testing.T, dsn, address string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), "YORE_SERVE_DSN="+dsn, "YORE_SERVE_AT="+address)
	c.cmd.Stderr = os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in = in
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("serving"))); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill() // SIGKILL: it has no last word
	_ = c.cmd.Wait()
	_ = c.in.Close()
}

// A server that is killed again and again while sessions come in loses nothing
// that it has acknowledged and keeps nothing twice: in the end each session is its
// log, byte for byte, and no event was acknowledged twice.
func TestKilledServer(t *testing.T) {
	dsn := postgrestest.Shared(t).Database(t)
	db, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	secret, _, err := db.Mint(t.Context(), postgres.Token{Tenant: "acme", Person: "ada", Rights: both, Workspaces: []string{"/w"}})
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := team.Dial(team.Options{URL: "http://" + address, Token: secret, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, map[string]string{"/w": "/w"})
	const sessions = 12
	for i := range sessions {
		m.begin("/w", fmt.Sprint("s", i))
	}
	kills := 8
	if testing.Short() {
		kills = 3
	}
	var acknowledged, said atomic.Int64
	var over atomic.Bool
	done := make(chan error, 1)
	go func() {
		// The machine goes on writing and sending, whatever becomes of the server.
		p := m.pusher(s)
		for seq := 0; ; seq++ {
			last := over.Load()
			for i := range sessions {
				m.say("/w", fmt.Sprint("s", i), seq, fmt.Sprintf("event %d of the linker %d", seq, i))
				said.Add(1)
			}
			r, err := p.Run(context.Background(), nil)
			acknowledged.Add(r.Events)
			if err != nil || last {
				done <- err
				return
			}
		}
	}()
	r := rand.New(rand.NewPCG(1, 2))
	for range kills {
		c := startChild(t, dsn, address)
		time.Sleep(time.Duration(50+r.IntN(400)) * time.Millisecond)
		c.kill()
	}
	c := startChild(t, dsn, address)
	defer c.kill()
	over.Store(true)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	t.Logf("%d events written, %d acknowledged, %d kills", said.Load(), acknowledged.Load(), kills)
	if acknowledged.Load() > said.Load() {
		t.Error("more was acknowledged than there is")
	}
	h := db.Tenant("acme")
	known, err := h.Headers(t.Context(), query.Lookup{})
	if err != nil || len(known) != sessions {
		t.Fatalf("%d sessions, %v", len(known), err)
	}
	for _, k := range known {
		want := natives(t, m.path("/w", string(k.Header.ID)))
		got := kept(t, h, k.Path)
		if !bytes.Equal(bytes.Join(want, nil), bytes.Join(got, nil)) || len(want) != len(got) {
			t.Errorf("%s: %d events, its log has %d", k.Header.ID, len(got), len(want))
		}
	}
	// Each is found once.
	text, err := s.Lines(t.Context(), "search", map[string][]string{"query": {"linker"}, "limit": {"100"}})
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte(`"session":`)); n != sessions {
		t.Errorf("%d sessions are found", n)
	}
	snap, err := h.Snapshot(t.Context(), "/w")
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	found, err := query.Collect(t.Context(), snap, []string{"linker"}, nil)
	if err != nil || int64(len(found)) != said.Load() {
		t.Errorf("%d documents, want %d (%v)", len(found), said.Load(), err)
	}
}
