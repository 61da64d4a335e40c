package serve_test

import (
	"testing"

	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

var everything query.Lookup

// kept returns the bytes of all events of a source.
func kept(t testing.TB, h *postgres.Tenant, source string) (all [][]byte) {
	t.Helper()
	_, err := h.Window(t.Context(), source, session.Checkpoint{}, 0, 1<<40, session.Every(), func(raw session.Raw) error {
		all = append(all, raw.Native)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
