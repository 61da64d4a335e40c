// Package archive reads and encodes the product's own canonical logs: what is
// kept of a session beyond the day its agent deletes it. One file is one
// session, whichever agent wrote it.
//
// It owns the format and where files lie below an archive's root. It knows no
// agent: an archived event is the event that the agent's own reader made, with
// the bytes that this reader returned for it, so nothing is interpreted twice.
// It opens files for reading only; who writes them decides when, and how they
// come into place.
//
// A file is a row of frames (frame.go), each a zstd frame of whole lines of
// JSON (record.go):
//
//	{"archive":1,"header":{…},"source":"…","mapping":"…"}      the first frame, alone
//	{"seq":0,"type":"user/message","time":…,"op":"append","body":{…}}
//	{"native":"…"}                                             its bytes
//	{"seq":1,"span":3,"type":"assistant/chunk","time":…}       a run of three events
//	{"native":"…","time":…}                                    one line for each of them
//	…
//	{"position":{…}}                                           the last frame, alone
//
// A read takes the event lines and passes over the bytes. The position is where
// the original was read to, so that an archive of a grown log can go on there.
//
// Start at Reader.Read, then Encoder.
package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Agent is this reader's name. The headers it reads name the agents that wrote
// the sessions.
const Agent session.Agent = "archive"

// version is the reader's mapping version; it rises whenever a record would
// become another event than before.
const version = 1

const (
	suffix = ".jsonl.zst"

	// maxName is how long a name made from an id may be, in bytes; a longer one
	// is a hash.
	maxName = 120
)

// Reader reads archived sessions. It holds nothing between calls.
type Reader struct{}

// New returns a reader of archived sessions.
func New() *Reader { return &Reader{} }

var (
	_ reader.Reader = (*Reader)(nil)
	_ reader.Titler = (*Reader)(nil)
)

// Agent implements reader.Reader.
func (*Reader) Agent() session.Agent { return Agent }

// Version implements reader.Reader.
func (*Reader) Version() int { return version }

// DefaultRoots implements reader.Reader: there is no archive unless a person
// wants one.
func (*Reader) DefaultRoots(func(string) string, string) []string { return nil }

// Classify implements reader.Reader.
func (*Reader) Classify(rel string, dir bool) reader.Kind {
	parts := strings.Split(rel, "/")
	if rel == "" || rel == "." {
		parts = nil
	}
	for _, p := range parts {
		if strings.HasPrefix(p, ".") {
			return reader.Ignore
		}
	}
	switch {
	case dir && len(parts) <= 2:
		return reader.Folder
	case !dir && len(parts) == 3 && strings.HasSuffix(rel, suffix) && path.Base(rel) != suffix:
		return reader.File
	}
	return reader.Ignore
}

// Revise implements reader.Reader.
func (*Reader) Revise(ctx context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	if err := ctx.Err(); err != nil {
		return reader.Replaced, reader.Stamp{}, err
	}
	return reader.ReviseAppended(src.Path, at)
}

// Alone implements reader.Loner: a kept log is one file.
func (*Reader) Alone(reader.Source, reader.Position) bool { return true }

// Path is where a session is kept below an archive's root. Two sessions never
// share a path, whatever their ids are made of and whether or not the file
// system tells the letter cases apart.
func Path(root string, h session.Header) string {
	workspace := sha256.Sum256([]byte(h.Cwd))
	return filepath.Join(root, encode(string(h.Agent)), hex.EncodeToString(workspace[:16]), encode(string(h.ID))+suffix)
}

// encode makes a portable name of any text: lower-case letters, digits and
// dashes stay, every other byte becomes ~XX.
func encode(text string) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			b.Write([]byte{'~', digits[c>>4], digits[c&15]})
		}
	}
	if b.Len() > maxName {
		// A name that encodes a text never begins with two tildes.
		sum := sha256.Sum256([]byte(text))
		return "~~" + hex.EncodeToString(sum[:])
	}
	return b.String()
}
