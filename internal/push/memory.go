package push

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// memory is a folder with one small file for each session that was sent. Losing
// it costs time and nothing else: the server is asked what it has. So does a
// second run at the same time.
type memory struct{ dir string }

// record is what is remembered of a session.
type record struct {
	Host     string          `json:"host"`
	Name     string          `json:"name"` // the workspace, as the server calls it
	Header   session.Header  `json:"header"`
	Mapping  string          `json:"mapping"`
	Title    string          `json:"title,omitempty"`
	Position reader.Position `json:"position"` // where the log was read to when all before it had been sent
	Next     int64           `json:"next"`     // the server has the events before this one
	Replace  bool            `json:"replace,omitempty"`

	stored string // as it is on disk
}

// sent reports whether the server has the session at all.
func (r *record) sent() bool { return r.stored != "" && !r.Replace }

func (r *record) saved() bool {
	text, err := json.Marshal(r)
	return err == nil && string(text) == r.stored
}

// key names a session of a server.
func (r *record) key() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{r.Host, r.Name, string(r.Header.Agent), string(r.Header.ID)}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

func (m *memory) path(key string) string { return filepath.Join(m.dir, key+".json") }

// load returns what is remembered of a session, or fresh. What was remembered of
// another header, or of other records, is to be replaced.
func (m *memory) load(fresh record) (record, error) {
	r, err := m.read(m.path(fresh.key()))
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return fresh, err
	}
	if r.Header != fresh.Header || r.Mapping != fresh.Mapping {
		fresh.Replace, fresh.stored = r.Next > 0, r.stored
		return fresh, nil
	}
	return r, nil
}

// read reads one file. One that is damaged says nothing.
func (m *memory) read(path string) (record, error) {
	var r record
	text, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if json.Unmarshal(text, &r) != nil {
		return r, fs.ErrNotExist
	}
	r.stored = string(text)
	return r, nil
}

// all returns everything that is remembered.
func (m *memory) all() ([]record, error) {
	names, err := filepath.Glob(filepath.Join(m.dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []record
	for _, name := range names {
		r, err := m.read(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// save writes a record in the place of the one before, whole or not at all.
func (m *memory) save(r record) error {
	text, err := json.Marshal(&r)
	if err == nil {
		err = os.MkdirAll(m.dir, 0o700)
	}
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(m.dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), m.path(r.key()))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func (m *memory) drop(key string) error { return os.Remove(m.path(key)) }
