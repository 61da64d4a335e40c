package corpus

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Transcript is the log of one made session of an agent other than DSH, with
// the shapes that make a genuine one long: most of its bytes are no searchable
// text (copies of results for the user interface, snapshots of files, usage,
// pictures, encrypted reasoning, progress).
type Transcript struct {
	ID, Cwd string
	Path    string // relative to the root of the agent's sessions, with slashes
	Text    []byte
}

// Write puts the transcript where the agent would keep it below root, and
// returns the file's path.
func (t Transcript) Write(root string) (string, error) {
	path := filepath.Join(root, filepath.FromSlash(t.Path))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, t.Text, 0o600)
}

// transcriber writes the lines of a transcript.
type transcriber struct {
	*generator
	out []byte
	at  time.Time
}

func newTranscriber(seed, stream uint64) *transcriber {
	g := newGenerator(Options{Seed: seed, CJK: 5})
	g.r = rand.New(rand.NewPCG(seed, stream))
	g.plain = true
	return &transcriber{generator: g, at: time.Date(2026, 2, 1, 8, 0, 0, 0, time.UTC)}
}

// now moves the clock on and gives the time as records state it.
func (t *transcriber) now() string {
	t.at = t.at.Add(time.Duration(1+t.r.IntN(4000)) * time.Millisecond)
	return t.at.Format("2006-01-02T15:04:05.000Z")
}

// add appends a formatted piece; q, for its arguments, quotes a text.
func (t *transcriber) add(format string, args ...any) { t.out = fmt.Appendf(t.out, format, args...) }

func q(text string) string { return quote(text) }

// code is a piece of source text of n bytes.
func (t *transcriber) code(n int) string {
	t.b = t.b[:0]
	t.source(n)
	return string(t.b)
}

// file is the path of a file.
func (t *transcriber) file() string {
	t.b = t.b[:0]
	t.path()
	return string(t.b)
}

// digits is a number of so many digits, as text.
func (t *transcriber) digits(n int) string {
	t.b = strconv.AppendInt(t.b[:0], int64(1+t.r.IntN(9)), 10)
	for len(t.b) < n {
		t.b = strconv.AppendInt(t.b, int64(t.r.IntN(10)), 10)
	}
	return string(t.b)
}
