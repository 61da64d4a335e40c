package serve_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

var mixedFor = flag.Duration("mixed", 20*time.Second, "how long writers and readers are at the server together")

// vocabulary has words of every frequency, some without spaces between them.
var vocabulary = strings.Fields("the the the the linker linker fails build cache quota ledger zephyr retry 失败 编译失败 naïve résumé x1 error: exit 1 pkg/zq.Probe")

func sentence(r *rand.Rand) string {
	words := make([]string, 3+r.IntN(30))
	for i := range words {
		words[i] = vocabulary[r.IntN(len(vocabulary))]
	}
	if r.IntN(20) == 0 {
		words = append(words, fmt.Sprintf("rare%04d", r.IntN(10_000)))
	}
	return strings.Join(words, " ")
}

var asks = []string{"the", "linker fails", "zephyr", "失败", "编译失败", "naive resume", "exit 1", "pkg/zq.Probe", "the the", "quota ledger cache", "nothing like this"}

// brief is what of a hit both stores must agree on, to the last digit.
type brief struct {
	Session struct{ ID, Title string }
	Event   struct {
		Seq, Matches int64
		Snippet      string
		Score        float64
		Partial      bool
		Surface      string
	}
}

func briefs(t testing.TB, lines string) (all []brief) {
	t.Helper()
	for line := range strings.Lines(lines) {
		if strings.HasPrefix(line, `{"coverage"`) {
			continue
		}
		var b brief
		if err := json.Unmarshal([]byte(line), &b); err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// Four people send and four ask at a time; afterwards the server answers every
// question as one machine does that has the same logs.
func TestWritersAndReaders(t *testing.T) {
	length := *mixedFor
	if testing.Short() {
		length = min(length, 3*time.Second)
	}
	r := &rig{t: t}
	// Minutes make more events than a common word is counted in.
	r.over(postgrestest.Open(t, postgres.Options{Budget: postgres.Budget{Candidates: -1}}))
	const writers, readers = 4, 4
	var machines []*machine
	var group sync.WaitGroup
	var events, questions atomic.Int64
	end := time.Now().Add(length)
	for i := range writers {
		m := newMachine(t, map[string]string{"/w": "/w"})
		machines = append(machines, m)
		s := r.server(r.mint("acme", fmt.Sprint("person-", i), both, "/w"))
		p := m.pusher(s)
		group.Go(func() {
			dice := rand.New(rand.NewPCG(uint64(i), 1))
			next := map[string]int{}
			for round := 0; time.Now().Before(end) || round < 3; round++ {
				for range 1 + dice.IntN(4) {
					id := fmt.Sprintf("w%d-%d", i, dice.IntN(30))
					if next[id] == 0 {
						m.begin("/w", id)
					}
					for range 1 + dice.IntN(20) {
						m.say("/w", id, next[id], sentence(dice))
						next[id]++
					}
				}
				got, err := p.Run(t.Context(), nil)
				if err != nil || len(got.Skips) > 0 {
					t.Errorf("writer %d: %v %+v", i, err, got.Skips)
					return
				}
				events.Add(got.Events)
			}
		})
	}
	for i := range readers {
		s := r.server(r.mint("acme", fmt.Sprint("reader-", i), []string{"read"}, "/w"))
		group.Go(func() {
			dice := rand.New(rand.NewPCG(uint64(i), 2))
			for time.Now().Before(end) {
				a, err := s.Ask(t.Context(), team.Question{Tool: "session_search", Args: json.RawMessage(fmt.Sprintf(`{"query":%q}`, asks[dice.IntN(len(asks))]))})
				if err != nil {
					t.Errorf("reader %d: %v", i, err)
					return
				}
				if !a.Empty && !strings.Contains(a.Text, "team:") {
					t.Errorf("reader %d: %s", i, a.Text)
				}
				questions.Add(1)
			}
		})
	}
	group.Wait()
	t.Logf("in %s: %d events stored, %d questions answered", length, events.Load(), questions.Load())
	if t.Failed() {
		return
	}
	o := yore.Options{IndexDir: t.TempDir(), ForgetFile: t.TempDir() + "/forgotten"}
	for _, m := range machines {
		o.Sources = append(o.Sources, yore.Source{Agent: session.DSH, Root: m.root})
	}
	local, err := yore.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	view, err := local.View(t.Context(), authz.Caller{Workspace: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	token := r.mint("acme", "judge", []string{"read"}, "/w")
	compared := 0
	for _, ask := range asks {
		page, err := view.SearchSessions(t.Context(), query.SessionSearch{Query: ask, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		for _, h := range page.Hits {
			want.Write(render.SessionHitJSON(h, ""))
			want.WriteByte('\n')
		}
		code, got, _ := r.do("GET", "/v1/search?limit=100&query="+strings.ReplaceAll(ask, " ", "+"), token, "")
		if code != 200 {
			t.Fatal(code, got)
		}
		if diff := cmp.Diff(briefs(t, want.String()), briefs(t, got)); diff != "" {
			t.Errorf("%q (-one machine +server):\n%s", ask, diff)
		}
		compared += len(page.Hits)
	}
	if compared < 100 {
		t.Errorf("only %d hits were compared", compared)
	}
}
