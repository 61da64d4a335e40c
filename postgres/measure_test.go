package postgres_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/corpus"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

var measured = flag.Int("events", 0, "measure a workspace of so many events; 0: do not")

type settled struct{}

func (settled) Refresh(context.Context, session.Scope, func(done, total int)) (session.Coverage, error) {
	return session.Coverage{}, nil
}

// TestMeasure loads one workspace and prints what loading, disk and searches cost
// the server, in processor time: docs/team.md has the figures.
func TestMeasure(t *testing.T) {
	if *measured == 0 {
		t.Log("not run: -events says how many")
		return
	}
	ctx := t.Context()
	dir := t.TempDir()
	stats, err := corpus.Generate(dir, corpus.Options{Events: *measured, Sessions: max(20, *measured/1000), Workspaces: 1})
	if err != nil {
		t.Fatal(err)
	}
	cluster := postgrestest.Shared(t)
	dsn := cluster.Bare(t)
	db, err := postgres.Open(ctx, postgres.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, _, err := db.Migrate(ctx, postgres.Setup{}); err != nil {
		t.Fatal(err)
	}
	tenant := db.Tenant("measured")
	catalog, err := sqlite.OpenMemory(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer catalog.Close()
	workspace := stats.Sessions[0].Cwd
	in := ingest.New(ingest.Options{Roots: []ingest.Root{{Reader: dsh.New(), Path: dir}}, Catalog: catalog, Shards: tenant})
	index := without(t, dsn)
	start, busy, used := time.Now(), cpu(t, cluster), self()
	if _, err := in.Refresh(ctx, session.Scope{Workspaces: []string{workspace}}, nil); err != nil {
		t.Fatal(err)
	}
	load := time.Since(start)
	indexed(t, dsn, index)
	t.Logf("loaded %d events, %.0f MB of logs, without the index of tokens: %.1f s, server with the index afterwards %.1f s, client %.1f s", stats.Events, float64(stats.Bytes)/1e6, load.Seconds(), cpu(t, cluster)-busy, self()-used)
	for _, line := range []string{"document", "session", "other"} {
		t.Logf("disk of %s: %s", line, size(t, dsn, line))
	}
	e, err := query.New(query.Config{Disk: query.Corpus{Store: tenant, Refresher: settled{}, Logs: tenant}})
	if err != nil {
		t.Fatal(err)
	}
	view, err := tenant.Snapshot(ctx, workspace)
	if err != nil {
		t.Fatal(err)
	}
	totals, err := view.Totals(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	view.Close()
	t.Logf("%d documents, %d tokens", totals.Documents, totals.Tokens)
	phrases := []string{"the", "of the", "return err"}
	// Of a million events: a rare phrase, and a very common one from the newest window.
	bars := map[string]time.Duration{"the": 150 * time.Millisecond}
	for _, m := range stats.Markers {
		if slices.Contains([]string{"rare", "medium", "common", "zh"}, m.Name) {
			phrases = append(phrases, m.Text)
			if m.Name == "rare" {
				bars[m.Text] = 5 * time.Millisecond
			}
			t.Logf("marker %s: %q in %d events", m.Name, m.Text, m.Events)
		}
	}
	for _, phrase := range phrases {
		for _, match := range []query.Match{query.Literal, query.Auto} {
			req := query.SessionSearch{Query: phrase, Match: match, Limit: 10, Sessions: query.SessionFilter{Scope: session.Scope{Workspaces: []string{workspace}}}}
			page, err := e.SearchSessions(ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			var walls []time.Duration
			before, used, began := backends(t, cluster), self(), time.Now()
			for n := 0; n < 200 && (n < 20 || time.Since(began) < 10*time.Second); n++ {
				at := time.Now()
				if _, err := e.SearchSessions(ctx, req); err != nil {
					t.Fatal(err)
				}
				walls = append(walls, time.Since(at))
			}
			rounds := time.Duration(len(walls))
			server, client := spent(before, backends(t, cluster))/rounds, time.Duration((self()-used)*float64(time.Second))/rounds
			slices.Sort(walls)
			t.Logf("%-30q %-8s hits %2d since %-15d of %3d: server %6.1f ms, client %6.1f ms, wall best %6.1f ms, median %6.1f ms", phrase, match, len(page.Hits), page.Coverage.Since, len(walls),
				ms(server), ms(client), ms(walls[0]), ms(walls[len(walls)/2]))
			if bar, ok := bars[phrase]; ok && server > bar {
				t.Errorf("%q (%s) takes %.1f ms of the server's processor time, more than %s", phrase, match, ms(server), bar)
			}
		}
	}
	measureBytes(t, tenant, workspace, dir, stats)
	t.Logf("disk of chunk: %s", size(t, dsn, "chunk"))
}

// measureBytes keeps the exact bytes of some sessions, and prints how many they
// are packed.
func measureBytes(t *testing.T, tenant *postgres.Tenant, workspace, dir string, stats corpus.Stats) {
	r := dsh.New()
	kept := int64(0)
	for _, s := range stats.Sessions[:min(50, len(stats.Sessions))] {
		h, err := r.Identify(t.Context(), dir, s.Path)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := tenant.Peek(t.Context(), workspace, ingest.StoredLookup{Sources: []string{s.Path}})
		if err != nil || len(rows) != 1 {
			t.Fatalf("%d sessions, %v", len(rows), err)
		}
		var events []postgres.Event
		src := reader.Source{Agent: session.DSH, Root: dir, Path: s.Path, Header: h}
		if _, err := r.Window(t.Context(), src, session.Checkpoint{}, 0, s.Events, session.Every(), func(raw session.Raw) error {
			events = append(events, postgres.Event{Raw: raw, Span: 1})
			kept += int64(len(raw.Native))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := tenant.Apply(t.Context(), workspace, "bytes of "+s.ID, func(w *postgres.Writer) error { return w.Keep(t.Context(), rows[0].Num, events) }); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("kept the exact bytes of 50 sessions: %.1f MB", float64(kept)/1e6)
}

// cpu returns the processor time of a cluster's processes, in seconds: those that
// have ended are in the postmaster's.
func cpu(t *testing.T, c *postgrestest.Cluster) (sum float64) {
	t.Helper()
	pid, err := c.Pid()
	if err != nil {
		t.Fatal(err)
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range append([]string{strconv.Itoa(pid)}, strings.Fields(string(children))...) {
		sum += ticks(p, i == 0)
	}
	return sum
}

func self() float64 { return ticks("self", false) }

// ticks reads the processor time of a process, with that of its ended children.
func ticks(pid string, ended bool) (seconds float64) {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	last := 13
	if ended {
		last = 15
	}
	for _, f := range fields[11:last] {
		n, _ := strconv.ParseFloat(f, 64)
		seconds += n / 100
	}
	return seconds
}

// without drops the index of tokens and returns the statement that makes it: what
// searches cost is measured here, and a million documents are indexed at once in a
// fraction of the time that stretch after stretch takes.
func without(t *testing.T, dsn string) (index string) {
	t.Helper()
	c := connect(t, dsn)
	if err := c.QueryRow(t.Context(), `SELECT replace(pg_get_indexdef('yore.document_tokens'::regclass), ' ON ONLY ', ' ON ')`).Scan(&index); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), `DROP INDEX yore.document_tokens`); err != nil {
		t.Fatal(err)
	}
	return index
}

// indexed makes it again, and the statistics, as PostgreSQL does by itself in time.
func indexed(t *testing.T, dsn, index string) {
	t.Helper()
	c := connect(t, dsn)
	for _, sql := range []string{`SET maintenance_work_mem = '512MB'`, index, postgres.QuietIndexes, `VACUUM ANALYZE`} {
		if _, err := c.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}
