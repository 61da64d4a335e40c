package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yorehq/yore/internal/archive"
	"github.com/yorehq/yore/internal/push"
	"github.com/yorehq/yore/internal/serve"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
	"github.com/yorehq/yore/reader/dsh"
)

// teamLoad keeps a team's server busy: people who write and send, and agents that
// ask, all over HTTP, with PostgreSQL in a throw-away cluster that waits for disks.
//
//	go run ./internal/load -team -for 5m
type teamLoad struct {
	dir              string
	length           time.Duration
	writers, readers int
	sessions         int
	patience         time.Duration
}

// run sets everything up, loads it for a while, and prints a report.
func (o teamLoad) run(ctx context.Context) error {
	bin := postgrestest.Programs()
	if bin == "" {
		return errors.New("PostgreSQL is not installed")
	}
	cluster, err := postgrestest.Start(bin)
	if err != nil {
		return err
	}
	defer cluster.Stop()
	if err := cluster.Exec("postgres", "CREATE DATABASE load"); err != nil {
		return err
	}
	db, err := postgres.Open(ctx, postgres.Options{DSN: "host=" + cluster.Dir() + " user=yore dbname=load"})
	if err != nil {
		return err
	}
	defer db.Close()
	if _, _, err := db.Migrate(ctx, postgres.Setup{}); err != nil {
		return err
	}
	d := serve.Database{DB: db}
	server, err := serve.New(serve.Options{Store: d, Tokens: d, Audit: d, PerToken: 64, Pushes: o.writers})
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- server.Run(serving, l, "", "") }()
	pid, err := cluster.Pid()
	if err == nil {
		err = o.load(ctx, db, "http://"+l.Addr().String(), pid)
	}
	stop()
	return errors.Join(err, <-ended)
}

// crew is who is at work, and what they measure.
type crew struct {
	asks, pushes tally
	events       atomic.Int64
	bytes        atomic.Int64
}

func (o teamLoad) load(ctx context.Context, db *postgres.Database, url string, pid int) error {
	dial := func(person string, rights ...string) (*team.Server, error) {
		secret, _, err := db.Mint(ctx, postgres.Token{Tenant: "load", Person: person, Rights: rights, Workspaces: []string{"app"}})
		if err != nil {
			return nil, err
		}
		return team.Dial(team.Options{URL: url, Token: secret, Timeout: time.Minute})
	}
	c := &crew{asks: tally{counts: map[string]int{}}, pushes: tally{counts: map[string]int{}}}
	var machines []*machine
	for i := range o.writers {
		s, err := dial(fmt.Sprint("writer-", i), postgres.RightPush)
		if err != nil {
			return err
		}
		m, err := o.machine(i, s)
		if err != nil {
			return err
		}
		machines = append(machines, m)
	}
	var readers []*team.Server
	for i := range o.readers {
		s, err := dial(fmt.Sprint("reader-", i), postgres.RightRead)
		if err != nil {
			return err
		}
		readers = append(readers, s)
	}
	var group sync.WaitGroup
	// What was there before, sent at once.
	began := look(pid)
	for _, m := range machines {
		group.Go(func() { m.send(ctx, c) })
	}
	group.Wait()
	n := float64(c.events.Load())
	spent := look(pid).since(began)
	fmt.Printf("loading          %.0f events, %.0f a second, %.1f MB as sent; CPU for 1,000 events: PostgreSQL %.0f ms, this process %.0f ms\n",
		n, n/spent.wall.Seconds(), float64(c.bytes.Load())/1e6, ms(spent.database)/n*1000, ms(spent.own)/n*1000)
	// One asks alone.
	alone, stop := context.WithTimeout(ctx, o.length/4)
	began = look(pid)
	ask(alone, readers[0], 99, c)
	stop()
	n, spent = float64(len(c.asks.calls)), look(pid).since(began)
	fmt.Printf("one reader       %.0f questions, half under %v, 99 %% under %v; CPU for each: PostgreSQL %.1f ms, this process %.1f ms\n",
		n, c.asks.rank(0.5).Round(time.Microsecond), c.asks.rank(0.99).Round(time.Microsecond), ms(spent.database)/n, ms(spent.own)/n)
	// All at a time.
	c.asks.calls, c.pushes.calls = nil, nil
	c.events.Store(0)
	busy, stop := context.WithTimeout(ctx, o.length)
	defer stop()
	for _, m := range machines {
		group.Go(func() {
			for busy.Err() == nil {
				if err := m.grow(20); err != nil {
					c.pushes.fail(err)
					return
				}
				m.send(ctx, c)
			}
		})
	}
	for i, s := range readers {
		group.Go(func() { ask(busy, s, uint64(i), c) })
	}
	group.Wait()
	return o.judge(c)
}

// spent is time at one moment, or between two.
type spent struct {
	wall          time.Duration
	own, database time.Duration // CPU of this process, server and machines in one; of PostgreSQL
}

func (s spent) since(o spent) spent {
	return spent{s.wall - o.wall, s.own - o.own, s.database - o.database}
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

var started = time.Now()

// look reads the clocks. PostgreSQL's is that of its first process and of all
// that it has begun.
func look(pid int) spent {
	s := spent{wall: time.Since(started)}
	s.own = cpuOf(os.Getpid())
	s.database = cpuOf(pid)
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, child := range strings.Fields(string(children)) {
		if n, err := strconv.Atoi(child); err == nil {
			s.database += cpuOf(n)
		}
	}
	return s
}

// cpuOf is the CPU time of a process and of its children that have ended, of
// /proc/PID/stat: fields 14 to 17, in hundredths of a second.
func cpuOf(pid int) (sum time.Duration) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	for _, f := range fields[11:min(15, len(fields))] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err == nil {
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum
}

// judge prints what was measured and says what is wrong with it.
func (o teamLoad) judge(c *crew) error {
	fmt.Printf("mixed            %v with %d writers and %d readers\n", o.length, o.writers, o.readers)
	fmt.Printf("stretches        %d, half under %v, 99 %% under %v; %.0f events a second\n",
		len(c.pushes.calls), c.pushes.rank(0.5).Round(time.Microsecond), c.pushes.rank(0.99).Round(time.Microsecond), float64(c.events.Load())/o.length.Seconds())
	fmt.Printf("questions        %d, half under %v, 99 %% under %v; %.0f a second\n",
		len(c.asks.calls), c.asks.rank(0.5).Round(time.Microsecond), c.asks.rank(0.99).Round(time.Microsecond), float64(len(c.asks.calls))/o.length.Seconds())
	all := append(c.asks.errors, c.pushes.errors...)
	switch {
	case len(all) > 0:
		return fmt.Errorf("%d failures, the first: %w", len(all), all[0])
	case len(c.asks.calls) == 0 || len(c.pushes.calls) == 0:
		return errors.New("nothing was answered")
	case o.patience > 0 && c.asks.rank(0.99) > o.patience:
		return fmt.Errorf("a question in a hundred waits longer than %v", o.patience)
	}
	return nil
}

// words are of every frequency.
var words = strings.Fields("the the the linker fails build cache quota ledger zephyr retry 编译失败 error exit 1 in pkg/zq.Probe with a naïve résumé")

func ask(ctx context.Context, s *team.Server, seed uint64, c *crew) {
	dice := rand.New(rand.NewPCG(seed, 3))
	for ctx.Err() == nil {
		query := words[dice.IntN(len(words))]
		switch dice.IntN(4) {
		case 0:
			query = fmt.Sprintf("rare%05d", dice.IntN(50_000))
		case 1:
			query = "linker fails"
		}
		args, err := json.Marshal(map[string]string{"query": query})
		if err != nil {
			c.asks.fail(err)
			return
		}
		began := time.Now()
		if _, err := s.Ask(ctx, team.Question{Tool: "session_search", Args: args}); err != nil {
			if ctx.Err() == nil {
				c.asks.fail(err)
			}
			return
		}
		c.asks.took(time.Since(began))
	}
}

// machine is somebody's machine, with logs that grow.
type machine struct {
	pusher *push.Pusher
	root   string
	dice   *rand.Rand
	next   []int
}

// machine makes a machine with sessions of 40 events each.
func (o teamLoad) machine(i int, s *team.Server) (*machine, error) {
	m := &machine{root: filepath.Join(o.dir, fmt.Sprint("machine-", i)), dice: rand.New(rand.NewPCG(uint64(i), 4)), next: make([]int, o.sessions)}
	for n := range m.next {
		id := fmt.Sprintf("m%d-%d", i, n)
		path := m.path(n)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		head := fmt.Sprintf(`{"type":"session","version":0,"id":%q,"createdAt":1790000000000,"cwd":"/app","delegationDepth":0}`+"\n", id)
		if err := os.WriteFile(path, []byte(head), 0o600); err != nil {
			return nil, err
		}
		if err := m.append(n, 40); err != nil {
			return nil, err
		}
	}
	var err error
	m.pusher, err = push.New(push.Options{
		Roots: []archive.Root{{Reader: dsh.New(), Path: m.root}}, Workspaces: map[string]string{"/app": "app"}, Server: s, Dir: filepath.Join(m.root, "..", fmt.Sprint("sent-", i)),
	})
	return m, err
}

// path names the n-th session's log; its machine is in the id.
func (m *machine) path(n int) string {
	i := strings.TrimPrefix(filepath.Base(m.root), "machine-")
	return filepath.Join(m.root, "--app--", fmt.Sprintf("m%s-%d", i, n), "session.jsonl")
}

// grow has some sessions go on by a few events.
func (m *machine) grow(events int) error {
	for left := events; left > 0; {
		n := 1 + m.dice.IntN(5)
		if err := m.append(m.dice.IntN(len(m.next)), n); err != nil {
			return err
		}
		left -= n
	}
	return nil
}

func (m *machine) append(n, events int) error {
	f, err := os.OpenFile(m.path(n), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	for range events {
		seq := m.next[n]
		m.next[n]++
		text := make([]string, 20+m.dice.IntN(150))
		for i := range text {
			text[i] = words[m.dice.IntN(len(words))]
		}
		text[0] = fmt.Sprintf("rare%05d", m.dice.IntN(50_000))
		said, err := json.Marshal(strings.Join(text, " "))
		if err != nil {
			return errors.Join(err, f.Close())
		}
		_, err = fmt.Fprintf(f, `{"type":"user/message","seq":%d,"time":%d,"data":{"id":"u-%d","role":"user","content":[{"type":"text","text":%s}],"source":{"kind":"user"}},"surfaceOp":"append"}`+"\n",
			seq, 1790000000000+int64(seq)*1000, seq, said)
		if err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

// send sends what is new.
func (m *machine) send(ctx context.Context, c *crew) {
	began := time.Now()
	r, err := m.pusher.Run(ctx, nil)
	if err == nil && len(r.Skips) > 0 {
		err = fmt.Errorf("a session was refused: %s", r.Skips[0].Reason)
	}
	if err != nil {
		c.pushes.fail(err)
		return
	}
	if r.Sent > 0 {
		c.pushes.took(time.Since(began) / time.Duration(r.Sent))
	}
	c.events.Add(r.Events)
	c.bytes.Add(r.Bytes)
}
