package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"time"
)

// SQLite moves rows within a page and between pages and does not wipe where they
// stood: secure_delete overwrites the row that is deleted, not the copies that it
// left in gaps when it was moved. Writing the whole file anew takes them away
// and costs as much room, memory and time under the lock as there is data. So
// the gaps are wiped where they are:
//
//	page of a b-tree (sqlite.org/fileformat2.html, 1.6)
//	┌────────┬──────────┬───────────────┬──────┬───────────┬──────┐
//	│ header │ pointers │ never read    │ cell │ freeblock │ cell │
//	└────────┴──────────┴───────────────┴──────┴───────────┴──────┘
//	                     ▲ wiped              4 bytes ▲ wiped
//
// No reader looks at these bytes, so they can be overwritten in the file under
// readers' eyes, in any piece. What has to be kept away are pages from elsewhere
// that would be written over the wiped ones, with what was in their gaps:
//
//   - from the write-ahead log: it is empty when a step begins, and the write
//     lock keeps it so;
//   - from the memory of another connection, which takes its copies of pages for
//     valid until somebody commits: the last step commits, and a commit by somebody
//     else meanwhile makes the whole begin again.
//
// Which pages are of b-trees the file says itself (pointer map pages, 1.8). The
// others hold what was put there and zeros: pages that are freed are overwritten
// as a whole.

// errMoved says that another process has changed the database between two steps.
const errMoved = held("another process has written meanwhile")

const (
	scrubPages    = 256 // read at a time
	scrubStep     = 64 * scrubPages
	scrubWhole    = 1 << 32               // more pages than a database has
	scrubPause    = 10 * time.Millisecond // so that who waits for the lock gets it
	scrubAttempts = 3                     // the last one holds the write lock for all of it
)

// scrub wipes the gaps of all pages, so many under the write lock at a time, and
// notes that nothing is left to do.
func (c *conn) scrub(ctx context.Context, step int64) error {
	f, err := os.OpenFile(c.path, os.O_RDWR, 0)
	if err != nil {
		return c.fail(ctx, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !os.SameFile(info, c.info) {
		return errors.Join(err, errHeld)
	}
	c.broken = true // what it has in memory is from before
	version, next := int64(0), int64(1)
	for first := true; ; first = false {
		if !first {
			time.Sleep(scrubPause)
		}
		if err := c.quiesce(ctx); err != nil {
			return err
		}
		done, err := func() (bool, error) {
			now, err := c.integer(ctx, `PRAGMA data_version`)
			if err != nil {
				return false, err
			}
			if !first && now != version {
				return false, errMoved
			}
			version = now
			pages, err := c.integer(ctx, `PRAGMA page_count`)
			if err != nil {
				return false, err
			}
			to := min(next+step-1, pages)
			if err := c.wipe(ctx, f, next, to); err != nil {
				return false, err
			}
			if next = to + 1; next <= pages {
				return false, nil
			}
			if err := f.Sync(); err != nil {
				return false, c.fail(ctx, err)
			}
			if err := c.execAll(`PRAGMA shrink_memory`); err != nil { // its page of the shard table too
				return false, c.fail(ctx, err)
			}
			return true, c.exec(ctx, `UPDATE shard SET purge = 0 WHERE purge = ?`, purgeTruncate)
		}()
		if done && err == nil {
			return c.commit(ctx)
		}
		c.rollback()
		if err != nil {
			return err
		}
	}
}

// quiesce takes the write lock of a database whose write-ahead log is empty.
func (c *conn) quiesce(ctx context.Context) error {
	for range 16 {
		if err := c.truncate(ctx); err != nil {
			return err
		}
		if err := c.begin(ctx); err != nil {
			if isBusy(err) && ctx.Err() == nil {
				return errHeld
			}
			return err
		}
		info, err := os.Stat(c.path + "-wal")
		if err == nil && info.Size() == 0 {
			return nil
		}
		c.rollback()
	}
	return errHeld
}

// wipe zeroes the gaps of the pages from..to in the file.
func (c *conn) wipe(ctx context.Context, f *os.File, from, to int64) error {
	layout, err := layoutOf(f)
	if err != nil {
		return c.fail(ctx, err)
	}
	var kinds []byte // the pointer map page that tells what the next pages are
	at := int64(0)   // its number
	buf := make([]byte, scrubPages*layout.size)
	for first := from; first <= to; first += scrubPages {
		if err := ctx.Err(); err != nil {
			return err
		}
		last := min(first+scrubPages-1, to)
		pages := buf[:(last-first+1)*layout.size]
		if _, err := f.ReadAt(pages, (first-1)*layout.size); err != nil {
			return c.fail(ctx, err)
		}
		for n := first; n <= last; n++ {
			page := pages[(n-first)*layout.size:][:layout.size]
			if n > 1 {
				if mapped := layout.mapOf(n); mapped != at {
					at, kinds = mapped, make([]byte, layout.size)
					if _, err := f.ReadAt(kinds, (at-1)*layout.size); err != nil {
						return c.fail(ctx, err)
					}
				}
				if n == at || n == layout.pending() || !layout.isTree(kinds, at, n) {
					continue
				}
			}
			gaps, err := layout.gaps(page, n)
			if err != nil {
				return c.fail(ctx, err)
			}
			for _, g := range gaps {
				gap := page[g[0]:g[1]]
				if isZero(gap) {
					continue
				}
				clear(gap)
				if _, err := f.WriteAt(gap, (n-1)*layout.size+int64(g[0])); err != nil {
					return c.fail(ctx, err)
				}
			}
		}
	}
	return nil
}

func isZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// layout is how a file is divided into pages.
type layout struct{ size, usable int64 }

func layoutOf(f *os.File) (layout, error) {
	var head [100]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return layout{}, err
	}
	size := int64(binary.BigEndian.Uint16(head[16:]))
	if size == 1 {
		size = 1 << 16
	}
	l := layout{size, size - int64(head[20])}
	if size < 512 || l.usable < 480 || binary.BigEndian.Uint32(head[52:]) == 0 {
		return layout{}, damage // we make no database without a pointer map
	}
	return l, nil
}

// pending returns the page that is never used: locks are on its bytes.
func (l layout) pending() int64 { return 1<<30/l.size + 1 }

// mapOf returns the pointer map page that tells what page n is; its own for one
// itself.
func (l layout) mapOf(n int64) int64 {
	each := l.usable/5 + 1
	at := (n-2)/each*each + 2
	if at == l.pending() {
		at++
	}
	return at
}

// isTree reports whether page n is one of a b-tree, by its map page.
func (l layout) isTree(kinds []byte, at, n int64) bool {
	const root, inner = 1, 5
	i := 5 * (n - at - 1)
	return i >= 0 && i < l.usable && (kinds[i] == root || kinds[i] == inner)
}

// gaps returns the ranges of a b-tree page that nothing reads. A page that is not
// well-formed is damage.
func (l layout) gaps(page []byte, n int64) (gaps [][2]int, err error) {
	head := 0
	if n == 1 {
		head = 100
	}
	size := 8
	switch page[head] {
	case 2, 5: // inner pages, of an index and of a table
		size = 12
	case 10, 13: // leaves
	default:
		return nil, damage
	}
	number := func(at int) int { return int(binary.BigEndian.Uint16(page[at:])) }
	pointers := head + size + 2*number(head+3)
	content := number(head + 5)
	if content == 0 {
		content = 1 << 16
	}
	if pointers > content || content > int(l.usable) {
		return nil, damage
	}
	gaps = append(gaps, [2]int{pointers, content})
	for at, before := number(head+1), content; at != 0; {
		if at < before || at+4 > int(l.usable) {
			return nil, damage
		}
		end := at + number(at+2)
		if end < at+4 || end > int(l.usable) {
			return nil, damage
		}
		gaps = append(gaps, [2]int{at + 4, end})
		at, before = number(at), end
	}
	return gaps, nil
}
