package toolset_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
	"github.com/yorehq/yore/toolset"
)

// inPostgres is the stage of a team's store: sessions and their bytes are in
// PostgreSQL, and nothing is asked of the logs once they were taken in. Live
// sessions are this process's, beside the store as beside one machine's index.
type inPostgres struct {
	engine  *query.Engine
	set     *toolset.Set
	live    *ingest.LiveSet
	overlay *sqlite.Index
	catalog *sqlite.Index
}

// View implements toolset.Views, as a history does.
func (s *inPostgres) View(ctx context.Context, caller authz.Caller) (*authz.View, error) {
	return authz.New(ctx, s.engine, authz.Exact, nil, caller)
}

func (s *inPostgres) Tools() *toolset.Set { return s.set }

func (s *inPostgres) Close() error { return errors.Join(s.overlay.Close(), s.catalog.Close()) }

// liveLines is a live session that is written in lines.
type liveLines struct {
	log     *ingest.LiveLog
	decoder *dsh.Decoder
}

func (l liveLines) Append(line []byte) error {
	events, err := l.decoder.Event(line)
	if err != nil {
		return err
	}
	return l.log.Append(events...)
}

func (l liveLines) Release() error { return l.log.Release(context.Background()) }

func (s *inPostgres) Register(header session.Header) (liveLog, error) {
	log, err := s.live.Register(context.Background(), header)
	return liveLines{log, dsh.NewDecoder(header)}, err
}

// newInPostgres takes the sessions of a history's sources into a tenant.
func newInPostgres(ctx context.Context, tenant *postgres.Tenant, o yore.Options) (s *inPostgres, err error) {
	s = &inPostgres{}
	if s.catalog, err = sqlite.OpenMemory(ctx); err != nil {
		return nil, err
	}
	if s.overlay, err = sqlite.OpenMemory(ctx); err != nil {
		return nil, err
	}
	s.live = ingest.NewLiveSet(s.overlay, s.overlay)
	var roots []ingest.Root
	for _, source := range o.Sources {
		roots = append(roots, ingest.Root{Reader: dsh.New(), Path: source.Root})
	}
	in := ingest.New(ingest.Options{Roots: roots, Catalog: s.catalog, Shards: tenant})
	if _, err := in.Refresh(ctx, session.Scope{All: true}, nil); err != nil {
		return nil, err
	}
	if err := keep(ctx, tenant, in); err != nil {
		return nil, err
	}
	s.engine, err = query.New(query.Config{
		Search: o.Search, Snippet: o.SnippetPoints, Window: o.ReadWindow,
		Disk: query.Corpus{Store: tenant, Refresher: in, Logs: tenant}, Live: query.Corpus{Store: s.overlay, Refresher: s.live, Logs: s.live},
	})
	if err != nil {
		return nil, err
	}
	s.set, err = toolset.New(s, toolset.Options{
		MaxSearchResults: o.MaxSearchResults, SearchTimeout: o.SearchTimeout, SearchBytes: o.SearchBytes, ReadWindow: o.ReadWindow,
		Match: o.Match, Order: o.Order, Inherited: o.Inherited,
	})
	return s, err
}

// keep stores the bytes of every session that is sound, as a server keeps those
// that are sent to it.
func keep(ctx context.Context, tenant *postgres.Tenant, in *ingest.Ingester) error {
	known, err := tenant.Headers(ctx, query.Lookup{})
	if err != nil {
		return err
	}
	for _, k := range known {
		rows, err := tenant.Peek(ctx, k.Header.Cwd, ingest.StoredLookup{Sources: []string{k.Path}})
		if err != nil || len(rows) != 1 {
			return fmt.Errorf("%d sessions of %s: %w", len(rows), k.Path, err)
		}
		if rows[0].Problem != nil {
			continue
		}
		var events []postgres.Event
		_, err = in.Window(ctx, k.Path, session.Checkpoint{}, 0, session.MaxSafe, session.Every(), func(raw session.Raw) error {
			events = append(events, postgres.Event{Raw: raw, Span: 1})
			return nil
		})
		if err == nil {
			_, _, err = tenant.Apply(ctx, k.Header.Cwd, "bytes of "+k.Path, func(w *postgres.Writer) error { return w.Keep(ctx, rows[0].Num, events) })
		}
		if err != nil {
			return fmt.Errorf("%s: %w", k.Path, err)
		}
	}
	return nil
}

// TestGoldenOnPostgres replays the recorded cases over PostgreSQL.
func TestGoldenOnPostgres(t *testing.T) {
	db, n := postgrestest.Open(t, postgres.Options{}), 0
	left := play(t, func(ctx context.Context, o yore.Options) (stage, error) {
		n++
		return newInPostgres(ctx, db.Tenant(fmt.Sprint("stage ", n)), o)
	}, ofThisMachine)
	if os.Getenv("YORE_GOLDEN") == "" && left != 2 {
		t.Errorf("%d cases were left out, want 2", left)
	}
}

// ofThisMachine says why a case is about files of one machine alone.
func ofThisMachine(c goldenCase) string {
	if c.Config.Index != "" {
		return "a file that is no database stands where this machine's index should: a server has no such file"
	}
	return ""
}
