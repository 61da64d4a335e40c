package codex

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/yorehq/yore/reader"
)

// form is how a file holds its records.
type form uint8

const (
	noForm   form = iota
	plain         // lines
	packed        // one zstd stream of lines
	document      // the oldest: one JSON document
)

func formOf(path string) form {
	switch {
	case strings.HasSuffix(path, ".jsonl"):
		return plain
	case strings.HasSuffix(path, ".jsonl.zst"):
		return packed
	case strings.HasSuffix(path, ".json"):
		return document
	}
	return noForm
}

const uuidBytes = 36

// segmentOf returns the segment that a file name states, its last uuid (""
// if it has none), and whether the name is that of a log.
func segmentOf(name string) (seg string, ok bool) {
	if !strings.HasPrefix(name, namePrefix) || formOf(name) == noForm {
		return "", false
	}
	stem, _, _ := strings.Cut(name[len(namePrefix):], ".json")
	if n := len(stem) - uuidBytes; n >= 0 && isUUID(stem[n:]) {
		return stem[n:], true
	}
	return "", true
}

// later reports whether a file name is that of a segment after a revert, which
// names thread and segment.
func later(name string) bool { return strings.Contains(name, "_") }

func isUUID(s string) bool {
	if len(s) != uuidBytes {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		default:
			return false
		}
	}
	return true
}

// bornAt returns the time in a version 7 uuid, in epoch milliseconds.
func bornAt(id string) (int64, bool) {
	if !isUUID(id) || id[14] != '7' {
		return 0, false
	}
	ms, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
	return ms, err == nil
}

// folders are where the files of a thread are looked for without a walk: a given
// folder, the days around its birth (the folders go by local time), the archive.
func folders(root, dir, id string) []string {
	list := []string{dir}
	if ms, ok := bornAt(id); ok {
		day := time.UnixMilli(ms).UTC()
		for _, off := range [...]int{0, -1, 1} {
			list = append(list, filepath.Join(root, liveDir, filepath.FromSlash(day.AddDate(0, 0, off).Format("2006/01/02"))))
		}
	}
	return append(list, filepath.Join(root, archivedDir))
}

// logs lists the log files of a folder whose names hold a mark.
func logs(dir, mark string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // what cannot be listed holds nothing that can be read
	}
	var found []string
	for _, e := range entries {
		if _, ok := segmentOf(e.Name()); ok && e.Type().IsRegular() && strings.Contains(e.Name(), mark) {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	return found
}

// near finds the file of a segment in the likely folders; "" if it is not there.
func near(root, dir, seg string) string {
	if !plainID(seg) {
		return ""
	}
	best := ""
	for _, d := range folders(root, dir, seg) {
		for _, path := range logs(d, seg) {
			if s, _ := segmentOf(filepath.Base(path)); s == seg {
				best = prefer(best, path)
			}
		}
	}
	return best
}

// find is near, and where that fails a walk over all days.
func find(root, dir, seg string) string {
	if path := near(root, dir, seg); path != "" || !plainID(seg) {
		return path
	}
	best := ""
	// A folder that cannot be listed is passed over.
	_ = filepath.WalkDir(filepath.Join(root, liveDir), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if s, ok := segmentOf(e.Name()); ok && s == seg {
			best = prefer(best, path)
		}
		return nil
	})
	return best
}

// prefer chooses among two files of one segment: plain before compressed, as the
// agent does, then the one written last, then the first by name.
func prefer(a, b string) string {
	if a == "" || a == b {
		return b
	}
	if fa, fb := formOf(a), formOf(b); fa != fb {
		if fa < fb {
			return a
		}
		return b
	}
	sa, errA := reader.StatRegular(a)
	sb, errB := reader.StatRegular(b)
	switch {
	case errB != nil:
		return a
	case errA != nil:
		return b
	case sa.ModTime != sb.ModTime:
		if sa.ModTime > sb.ModTime {
			return a
		}
		return b
	case b < a:
		return b
	}
	return a
}
