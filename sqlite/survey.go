package sqlite

import (
	"context"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"

	"github.com/yorehq/yore/fault"
)

// Survey is what the first bytes of an index's files say, without opening a
// database, changing a file, or making one.
type Survey struct {
	Dir     string
	Catalog int         // its schema; 0: there is none of ours
	Foreign bool        // something else lies in the catalog's place
	Shards  map[int]int // how many shards have which schema
	Size    int64       // bytes of the catalog and the shards, without their logs
}

// Current is how many shards have the schema that this program makes.
func (s Survey) Current() int { return s.Shards[schemaVersion] }

// Outgrown counts the shards of older schemas, which are made anew.
func (s Survey) Outgrown() (n int) {
	for schema, shards := range s.Shards {
		if schema < schemaVersion {
			n += shards
		}
	}
	return n
}

// Newer reports whether a file is of a schema that this program does not know:
// it is refused and stays as it is.
func (s Survey) Newer() bool {
	for schema := range s.Shards {
		if schema > schemaVersion {
			return true
		}
	}
	return s.Catalog > schemaVersion
}

// Look reads the schemas of the files in an index's folder. No folder is no
// error. A file that this moment is being made anew by another process, in the
// way of versions before 11, may be given the schema that it had.
func Look(dir string) (Survey, error) {
	x := &Index{dir: dir}
	s := Survey{Dir: dir, Shards: map[int]int{}}
	at, err := sniff(x.catalogPath())
	if err != nil {
		return s, fault.Wrap(fault.IndexFailed, err)
	}
	switch at.kind {
	case ours:
		s.Size += at.info.Size()
		s.Catalog, err = schemaOf(x.catalogPath())
	case stranger, noDatabase, noFile:
		s.Foreign = true
	}
	if err != nil {
		return s, fault.Wrap(fault.IndexFailed, err)
	}
	paths, err := x.shardFiles()
	for _, path := range paths {
		var schema int
		if schema, err = schemaOf(path); err != nil {
			break
		}
		s.Shards[schema]++
		if info, err := os.Stat(path); err == nil {
			s.Size += info.Size()
		}
	}
	return s, fault.Wrap(fault.IndexFailed, err)
}

// schemaOf reads the user version in a database's header: four bytes, big
// endian, at offset 60 (the file format of SQLite, section 1.3).
func schemaOf(path string) (int, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var word [4]byte
	if _, err := f.ReadAt(word[:], 60); err != nil && err != io.EOF {
		return 0, err
	}
	return int(int32(binary.BigEndian.Uint32(word[:]))), nil
}

// Mappings counts the indexed sessions by what made them (ingest.Mapping), over
// all shards. Like every use of an index it removes shards of older schemas:
// whoever wants them to stay looks first.
func (x *Index) Mappings(ctx context.Context) (map[string]int, error) {
	workspaces, err := x.Workspaces(ctx)
	all := map[string]int{}
	for _, w := range workspaces {
		err = x.readShard(ctx, w, func(c *conn) error {
			return c.rowsOf(ctx, `SELECT mapping, count(*) FROM sessions GROUP BY mapping`, func(r row) error {
				all[r.text(0)] += int(r.int(1))
				return nil
			})
		})
		if err != nil {
			break
		}
	}
	return all, err
}
