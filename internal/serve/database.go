package serve

import (
	"context"
	"time"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
)

// Database is package postgres as a Store, as Tokens and as Audit.
type Database struct{ DB *postgres.Database }

var (
	_ Store  = Database{}
	_ Tokens = Database{}
	_ Audit  = Database{}
)

// History implements Store. Row-level security stands behind it: no transaction of
// the history sees rows of other workspaces, whatever is asked.
func (d Database) History(tenant string, workspaces []string) History {
	return d.DB.Tenant(tenant).Within(workspaces)
}

// Apply implements Store.
func (d Database) Apply(ctx context.Context, to Place, batch string, work func(Keeper) error) (uint64, bool, error) {
	t := d.DB.Tenant(to.Tenant).Within([]string{to.Workspace}).As(to.Person)
	return t.Apply(ctx, to.Workspace, batch, func(w *postgres.Writer) error { return work(keeper{w}) })
}

// keeper is a writer of the database as a Keeper.
type keeper struct{ *postgres.Writer }

var _ ingest.Writer = keeper{}

// Person implements Keeper.
func (k keeper) Person(ctx context.Context, key session.Key) (string, error) {
	return k.PersonOf(ctx, key)
}

// Keep implements Keeper.
func (k keeper) Keep(ctx context.Context, num int64, pieces []archive.Piece) error {
	var all []postgres.Event
	for i := range pieces {
		for m, raw := range rawsOf(&pieces[i]) {
			span := int64(1)
			if m == 0 {
				span = raw.Event.Len()
			}
			all = append(all, postgres.Event{Raw: raw, Span: span})
		}
	}
	return k.Writer.Keep(ctx, num, all)
}

// Principal implements Tokens.
func (d Database) Principal(ctx context.Context, hash [32]byte) (Principal, error) {
	t, ok, err := d.DB.TokenOf(ctx, hash)
	if err != nil {
		return Principal{}, err
	}
	if !ok || !t.Valid(time.Now()) {
		return Principal{}, ErrNoToken
	}
	p := Principal{Token: t.ID, Tenant: t.Tenant, Person: t.Person, Workspaces: t.Workspaces}
	for _, r := range t.Rights {
		p.Read = p.Read || r == postgres.RightRead
		p.Push = p.Push || r == postgres.RightPush
		p.Metrics = p.Metrics || r == postgres.RightMetrics
	}
	return p, nil
}

// Record implements Audit.
func (d Database) Record(ctx context.Context, r Record) error {
	return d.DB.Record(ctx, postgres.Audit{At: r.Time, Token: r.Token, Tenant: r.Tenant, Person: r.Person, Action: r.Action, Detail: r.Detail})
}
