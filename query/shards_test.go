package query_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// shown is what of a hit must not depend on how many shards hold the corpus.
type shown struct {
	ID      session.ID
	Seq     int64
	Score   int64
	Count   int
	Partial bool
	Snippet string
	Forks   []session.Key
}

// TestSeveralShardsAnswerAsOne keeps random corpora twice, in one workspace and
// dealt out to three, and wants the same hits, scores and pages of both. Some
// sessions are forks, which may lie in another workspace than their origin.
func TestSeveralShardsAnswerAsOne(t *testing.T) {
	words := strings.Fields("retry budget quota ledger kettle gazebo walnut linker")
	three := []string{"/w/one", "/w/two", "/w/three"}
	compared := 0
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 11))
		single, dealt := newMemory(t), newMemory(t)
		var said [][]string
		for i := range 24 {
			var texts []string
			h := header(fmt.Sprintf("s%02d", (i*7)%24), "/w/one")
			if i > 0 && r.IntN(4) == 0 {
				origin := r.IntN(i)
				h.ParentSession, h.SeedLength = session.ID(fmt.Sprintf("s%02d", (origin*7)%24)), int64(len(said[origin]))
				texts = append(texts, said[origin]...)
			}
			for range 1 + r.IntN(4) {
				var text []string
				for range 1 + r.IntN(9) {
					text = append(text, words[r.IntN(len(words))])
				}
				texts = append(texts, strings.Join(text, " "))
			}
			said = append(said, texts)
			single.put(h, texts...)
			h.Cwd = three[r.IntN(3)]
			dealt.put(h, texts...)
		}
		one, several := engine(t, query.Config{Disk: single.Corpus}), engine(t, query.Config{Disk: dealt.Corpus})
		for range 12 {
			req := query.SessionSearch{
				Query: words[r.IntN(len(words))], Limit: 1 + r.IntN(12), Inherited: r.IntN(3) == 0,
				Match: []query.Match{query.Auto, query.Literal}[r.IntN(2)],
				Order: []query.Order{query.Relevance, query.Matches}[r.IntN(2)],
			}
			for range r.IntN(3) {
				req.Query += " " + words[r.IntN(len(words))]
			}
			want, got := pages(t, one, req, "/w/one"), pages(t, several, req, three...)
			if d := gocmp.Diff(want, got); d != "" {
				t.Fatalf("seed %d, %+v (-one shard +several):\n%s", seed, req, d)
			}
			compared += len(want)
		}
	}
	if compared < 1000 {
		t.Errorf("only %d hits were compared", compared)
	}
}

// pages reads a search to its end.
func pages(t *testing.T, e *query.Engine, req query.SessionSearch, in ...string) []shown {
	t.Helper()
	req.Sessions = workspaces(in...)
	var all []shown
	for {
		page, err := e.SearchSessions(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range page.Hits {
			all = append(all, shown{h.Info.Header.ID, h.Best.Seq, h.Best.Score, h.Best.Count, h.Best.Partial, h.Best.Snippet, h.Forks})
		}
		if req.Cursor = page.Next; req.Cursor == "" {
			return all
		}
	}
}

// A list over several workspaces is one list, newest first.
func TestSeveralWorkspacesMakeOneList(t *testing.T) {
	m := newMemory(t)
	for i := range 9 {
		h := header(fmt.Sprintf("s%d", i), []string{"/w/one", "/w/two", "/w/three"}[i%3])
		h.CreatedAt = int64(1000 - i)
		m.put(h, "zephyr")
	}
	m.put(header("foreign", "/x"), "zephyr")
	e := engine(t, query.Config{Disk: m.Corpus})
	var got []session.ID
	for cursor := ""; ; {
		list, err := e.Sessions(t.Context(), workspaces("/w/three", "/w/one", "/w/two"), 4, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list.Sessions {
			got = append(got, s.Header.ID)
		}
		if cursor = list.Next; cursor == "" {
			break
		}
	}
	if d := gocmp.Diff([]session.ID{"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"}, got); d != "" {
		t.Error(d)
	}
}

// What is catalogued counts whether or not it was ever searched; live sessions
// count too, and a disk that cannot be used takes only its own away.
func TestWorkspaces(t *testing.T) {
	disk, live := newMemory(t), newMemory(t)
	disk.put(header("a", "/w/b"))
	disk.put(header("b", "/w/a"))
	disk.put(header("c", "/w/b"))
	disk.put(header("d", ""))
	live.put(header("e", "/w/c"))
	e := engine(t, query.Config{Disk: disk.Corpus, Live: live.Corpus})
	got, err := e.Workspaces(t.Context())
	if d := gocmp.Diff([]string{"", "/w/a", "/w/b", "/w/c"}, got); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	e = engine(t, query.Config{DiskErr: fmt.Errorf("no disk"), Live: live.Corpus})
	got, err = e.Workspaces(t.Context())
	if d := gocmp.Diff([]string{"/w/c"}, got); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
}
