package query_test

import (
	"context"
	"testing"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

// registry is an agent's registry of running sessions and titles.
type registry struct {
	running map[session.Key]bool
	titles  map[session.ID]string
}

func (r registry) Running(context.Context) (map[session.Key]bool, error) { return r.running, nil }

func (r registry) Title(_ context.Context, _ string, h session.Header) (string, bool, error) {
	t, ok := r.titles[h.ID]
	return t, ok, nil
}

// stored puts one session with a closing record straight into a store.
func stored(t *testing.T, h session.Header) query.Corpus {
	t.Helper()
	index, err := sqlite.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { index.Close() })
	err = index.Update(t.Context(), ingest.CatalogChange{Files: []ingest.FileRow{{Path: "/log", Root: "/", Folder: "/", Agent: h.Agent, Header: h}}})
	if err != nil {
		t.Fatal(err)
	}
	err = index.Write(t.Context(), h.Cwd, func(w ingest.Writer) error {
		title := "title in the log"
		s := &ingest.Stored{Source: "/log", Header: h, LastStep: -1, Title: &title, Events: 2, Provisional: 1, Position: reader.Position{Next: 1}}
		if err := w.Put(t.Context(), s); err != nil {
			return err
		}
		return w.Append(t.Context(), s.Num, &ingest.Batch{Entries: []ingest.Entry{
			{Seq: 0, Type: session.UserMessage, Text: "a zephyr", Surface: true},
			{Seq: 1, Type: session.TurnEnd, Text: "interrupted zephyr", Provisional: true},
		}})
	})
	if err != nil {
		t.Fatal(err)
	}
	return query.Corpus{Store: index, Refresher: ingest.NewLiveSet(index, index), Logs: ingest.NewLiveSet(index, index)}
}

func TestWhatAgentsSayOutsideOfTheirLogs(t *testing.T) {
	h := header("s", "/w")
	corpus := stored(t, h)
	ask := func() query.SessionHit {
		t.Helper()
		e := engine(t, query.Config{Disk: corpus})
		page, err := e.SearchSessions(t.Context(), query.SessionSearch{Query: "zephyr", Sessions: workspaces("/w"), Limit: 5})
		if err != nil || len(page.Hits) != 1 {
			t.Fatal(page.Hits, err)
		}
		found, err := e.Find(t.Context(), h.Key(), nil)
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		events, err := e.SearchEvents(t.Context(), found[0], query.EventSearch{Query: "interrupted", Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		if open := page.Hits[0].Info.Live; open == (len(events.Hits) == 1) {
			t.Errorf("open is %v, and %d closing records are found", open, len(events.Hits))
		}
		return page.Hits[0]
	}
	hit := ask()
	if hit.Info.Live || hit.Info.Events != 2 || hit.Info.Title != "title in the log" {
		t.Errorf("closed: %+v", hit.Info)
	}
	corpus.Outside = registry{map[session.Key]bool{h.Key(): true}, map[session.ID]string{"s": "renamed"}}
	hit = ask()
	if !hit.Info.Live || !hit.Info.Persisted || hit.Info.Events != 1 || hit.Info.Title != "renamed" {
		t.Errorf("running: %+v", hit.Info)
	}
}
