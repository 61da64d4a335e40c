package reader

import (
	"encoding/json"
	"strings"
)

// partMark separates a file's path from the name of a part in it. No clean
// absolute path holds it.
const partMark = "//"

// PartPath returns the path of a part of a file: of a session that stands in the
// file of another one. The name is the reader's own and holds no slash.
func PartPath(file, name string) string { return file + partMark + name }

// SplitPart takes the path of a source apart: the file that holds it, and the
// name of its part; "" is the file's own session.
func SplitPart(path string) (file, name string) {
	// Behind the root, where two slashes may begin a path on some systems.
	if i := strings.LastIndex(path, partMark); i > 0 {
		return path[:i], path[i+len(partMark):]
	}
	return path, ""
}

// FileOf returns the file that holds a source.
func FileOf(path string) string {
	file, _ := SplitPart(path)
	return file
}

// Divider is implemented by readers whose files may hold more sessions than
// their own.
//
// Such a session, a part, is a source like any other, under a path that PartPath
// made: it has its own events, positions and windows, Identify states its header,
// and it is gone when its file is. It comes to light when its file is read, and
// more of it whenever the file is read on. When the file is replaced, its parts
// are others.
type Divider interface {
	// Parts returns the parts of a file, from the state of a position where a
	// read of the file's own session ended, without looking at the file. A part
	// that has appeared stays, with the same path and header, while the file
	// grows. Each has an End.
	Parts(own Source, state json.RawMessage) []Source
}
