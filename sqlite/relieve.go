package sqlite

import (
	"errors"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// SQLite begins its write-ahead log anew when a writer finds that all of it is in
// the database and that no reader needs it. Under readers that follow each other
// without a pause there is always one that does, and the log grows without end.
// So a writer that has committed to a long log waits a moment for those that
// began before it: who begins meanwhile needs the latest state alone, then nothing
// of the log.

const (
	longLog = 16 << 20               // bytes from which on a writer waits
	moreLog = 8 << 20                // and again after so many more, if it waited in vain
	waitLog = 300 * time.Millisecond // for readers that began before
)

// relieve begins a long write-ahead log anew, if readers let it.
func (c *conn) relieve() (err error) {
	if c.info == nil {
		return nil // in memory there is none
	}
	info, err := os.Stat(c.path + "-wal")
	if err != nil || info.Size() < max(longLog, c.heavy+moreLog) {
		if err == nil && info.Size() < longLog {
			c.heavy = 0
		}
		return nil // whatever is the matter with it, the next use finds out
	}
	defer c.guard(&err)
	if err := c.db.BusyTimeout(waitLog); err != nil {
		return err
	}
	_, _, err = c.db.WALCheckpoint("main", sqlite3.CHECKPOINT_RESTART)
	if c.heavy = 0; err != nil {
		c.heavy = info.Size()
	}
	if errors.Is(err, sqlite3.BUSY) || errors.Is(err, sqlite3.INTERRUPT) {
		err = nil
	}
	return errors.Join(err, c.db.BusyTimeout(c.x.busy))
}
