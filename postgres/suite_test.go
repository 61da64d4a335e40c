package postgres_test

import (
	"fmt"
	"testing"

	"github.com/yorehq/yore/internal/storetest"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
)

// TestSuite gives each test of the suite a tenant of its own in one database, so
// that none may see what another one wrote.
func TestSuite(t *testing.T) {
	db, n := postgrestest.Open(t, postgres.Options{}), 0
	open := func(*testing.T) storetest.Store {
		n++
		return db.Tenant(fmt.Sprint("tenant ", n))
	}
	storetest.Run(t, open)
	storetest.RunHeaders(t, open)
}
