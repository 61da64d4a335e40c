package forget

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// The file is lines of text. The first names the format and the salt; each other
// one puts a session on the list or takes it off, and the last of a session
// counts:
//
//	yore forgets 1 QK5ZV2…
//	+ 9f86d081…0f00a08 2026-11-30
//	- 9f86d081…0f00a08
//
// It is only ever added to, each line by one write at its end, so that two
// processes that change it at a time lose nothing of each other, without a lock.
// A line that a crash cut short was never acknowledged and does not count.
const heading = "yore forgets 1 "

const (
	maxFile = 16 << 20 // bytes: some 200,000 sessions

	fileMode   = 0o600
	folderMode = 0o700
)

var (
	wholeLine = regexp.MustCompile(`^(?:\+ ([0-9a-f]{64}) (\d{4}-\d{2}-\d{2})|- ([0-9a-f]{64}))$`)
	cutLine   = regexp.MustCompile(`^(?:[+-](?: [0-9a-f]{0,64})?|\+ [0-9a-f]{64} [0-9-]{0,9})$`)
)

func unusable(path string, err error) error {
	return fault.New(fault.InvalidConfig, "the list of forgotten sessions %s cannot be used, so no session is shown: %s", path, reason(err))
}

// reason is a file error without its path.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// stamp is what a stat tells of the file; the zero value is of none.
type stamp struct{ size, changed int64 }

func stampOf(path string) (stamp, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return stamp{}, nil
	case err != nil:
		return stamp{}, err
	case !info.Mode().IsRegular():
		return stamp{}, errors.New("it is no plain file")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		return stamp{}, errors.New("others can write it")
	}
	return stamp{info.Size(), info.ModTime().UnixNano()}, nil
}

// settled reports whether an equal stamp means an unchanged file. The file only
// grows, so a size alone would do but for an owner who edits it.
func (s stamp) settled() bool {
	return s == (stamp{}) || time.Since(time.Unix(0, s.changed)).Abs() > 2*time.Second
}

func read(path string) (*Set, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Set{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	return decode(text)
}

// decode reads the text of a list and refuses what no version of this program
// that knows this format has written.
func decode(text []byte) (*Set, error) {
	if len(text) > maxFile {
		return nil, errors.New("it is too long")
	}
	first, rest, whole := strings.Cut(string(text), "\n")
	salt, ok := strings.CutPrefix(first, heading)
	if !whole || !ok || salt == "" {
		return nil, errors.New("its first line is not one that this version knows")
	}
	s := &Set{salt: salt, since: map[mark]string{}}
	for n, line := range strings.Split(rest, "\n") {
		parts := wholeLine.FindStringSubmatch(line)
		switch {
		case parts == nil && (line == "" || cutLine.MatchString(line)):
		case parts == nil:
			return nil, fmt.Errorf("line %d is not understood", n+2)
		case parts[1] != "":
			s.since[marked(parts[1])] = parts[2]
		default:
			delete(s.since, marked(parts[3]))
		}
	}
	if len(s.since) > 0 {
		sum := fnv.New64a()
		sum.Write(text)
		s.sum = max(sum.Sum64(), 1)
	}
	return s, nil
}

func marked(digits string) (m mark) {
	_, _ = hex.Decode(m[:], []byte(digits)) // 64 digits, by the pattern
	return m
}

// change appends what line says of each session; "" is nothing.
func (l *List) change(keys []session.Key, line func(*Set, session.Key) string) error {
	if l == nil {
		return fault.New(fault.InvalidConfig, "there is no folder for the configuration, where the list of forgotten sessions belongs")
	}
	if err := begin(l.path); err != nil {
		return fault.Wrap(fault.Persistence, fmt.Errorf("begin the list of forgotten sessions: %w", err))
	}
	set, err := l.Now()
	if err != nil {
		return err
	}
	var add bytes.Buffer
	for _, key := range keys {
		if text := line(set, key); text != "" {
			// The line before may have been cut short.
			fmt.Fprintf(&add, "\n%s\n", text)
		}
	}
	if add.Len() == 0 {
		return nil
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.Write(add.Bytes())
		if err == nil {
			err = f.Sync()
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fault.Wrap(fault.Persistence, fmt.Errorf("write the list of forgotten sessions: %w", err))
	}
	return nil
}

// begin makes the file with its first line if it is not there. It is whole, and
// its owner's alone, from the moment it has its name; of two that begin it at a
// time the first one's salt stays.
func begin(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return err
	}
	tmp := path + "." + rand.Text()
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	_, err = f.WriteString(heading + rand.Text() + "\n")
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	err = os.Link(tmp, path)
	switch {
	case err == nil, errors.Is(err, fs.ErrExist):
		return nil
	}
	// A file system without links. Who comes second in the same moment would
	// replace the first one's file, so it looks once more.
	if _, seen := os.Lstat(path); !errors.Is(seen, fs.ErrNotExist) {
		return seen
	}
	return os.Rename(tmp, path)
}
