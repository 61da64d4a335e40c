// Package kimi reads the sessions of Kimi Code: below sessions in the agent's
// home a folder for each workspace, in it one for each session, and in that a
// journal in JSON lines (wire.jsonl) for the session's own agent and for each of
// its subagents.
//
// It owns where files lie, what a session's state.json says, what the journal's
// records mean (protocol 1.4 and 1.5), and undos, switches, compactions and
// clears. The way through a file is in reader/linelog. It never writes to an
// agent's folder.
//
// What the model sees is told by the records context.*; every message stands in
// the journal once or twice more, for other readers, and is told here once.
// The client of before, in Python, has a layout of its own: share.go.
package kimi

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// version is the reader's mapping version; it rises whenever a record would
// become another event than before.
const version = 2

// Names of the layout.
const (
	sessionsDir = "sessions"
	agentsDir   = "agents"
	mainAgent   = "main"
	logName     = "wire.jsonl"
	stateName   = "state.json"
	indexName   = "session_index.jsonl"
	agentPrefix = "agent-"
	idPrefix    = "session_"
	oldPrefix   = "ses_" // before, and of sessions that were taken over
)

// Reader reads Kimi Code's sessions. It holds nothing between calls.
type Reader struct{ linelog.Log }

// New returns a reader of Kimi Code's sessions.
func New() *Reader { return &Reader{linelog.Of(format)} }

var (
	_ reader.Reader  = (*Reader)(nil)
	_ reader.Resumer = (*Reader)(nil)
	_ reader.Titler  = (*Reader)(nil)
	_ reader.Placer  = (*Reader)(nil)
	_ reader.Loner   = (*Reader)(nil)
)

var format = &linelog.Format{New: decoderOf, Identify: identify, Block: contextBlock}

func decoderOf(src reader.Source) linelog.Decoder {
	if s, ok := sharedAt(src.Root, src.Path); ok {
		return &contextDecoder{sub: s.sub != "", made: src.Header.CreatedAt}
	}
	return &decoder{sub: filepath.Base(filepath.Dir(src.Path)) != mainAgent}
}

// Agent implements reader.Reader.
func (*Reader) Agent() session.Agent { return session.Kimi }

// Version implements reader.Reader.
func (*Reader) Version() int { return version }

// DefaultRoots implements reader.Reader: KIMI_CODE_HOME, or ~/.kimi-code where
// that is unset; of the client in Python KIMI_SHARE_DIR, or ~/.kimi.
func (*Reader) DefaultRoots(getenv func(string) string, home string) []string {
	base := getenv("KIMI_CODE_HOME")
	if base == "" {
		base = filepath.Join(home, ".kimi-code")
	}
	share := getenv("KIMI_SHARE_DIR")
	if rest, ok := strings.CutPrefix(share, "~/"); ok {
		share = filepath.Join(home, rest)
	}
	if share == "" {
		share = filepath.Join(home, ".kimi")
	}
	return []string{base, share}
}

// Classify implements reader.Reader: sessions/<workspace>/<session>/agents/<agent>/wire.jsonl,
// and the contexts of the client in Python.
func (*Reader) Classify(rel string, dir bool) reader.Kind {
	if rel == "" || rel == "." {
		return kindIf(dir, reader.Folder)
	}
	parts := strings.Split(rel, "/")
	for i, name := range parts {
		if strings.HasPrefix(name, ".") || i == 0 && name != sessionsDir || i == 3 && name != agentsDir && name != subagentsDir && (dir || len(parts) > 4) {
			return reader.Ignore
		}
	}
	switch {
	case dir && len(parts) < 5:
		return reader.Folder
	case dir:
		return kindIf(len(parts) == 5, reader.Leaf)
	}
	_, old := sharedAt(".", rel)
	return kindIf(old || len(parts) == 6 && parts[3] == agentsDir && parts[5] == logName, reader.File)
}

func kindIf(ok bool, kind reader.Kind) reader.Kind {
	if ok {
		return kind
	}
	return reader.Ignore
}

// ResumeCommand implements reader.Resumer. A subagent is resumed with the session
// that it belongs to.
func (*Reader) ResumeCommand(h session.Header) string {
	id, _, _ := strings.Cut(string(h.ID), "/")
	if !strings.HasPrefix(id, idPrefix) && !strings.HasPrefix(id, oldPrefix) {
		return "" // those of the client in Python, which is no more
	}
	return reader.ShellCommand(h.Cwd, "kimi", "--session", id)
}

// Places implements reader.Placer: the agent names a folder after a workspace's
// last name and the beginning of its hash.
func (*Reader) Places(workspace string, _ time.Time) (folders []string, others reader.Elsewhere) {
	sum := sha256.Sum256([]byte(workspace))
	name := "wd_" + path.Base(workspace) + "_" + hex.EncodeToString(sum[:6])
	hash := md5.Sum([]byte(workspace)) // the client in Python
	return []string{sessionsDir, path.Join(sessionsDir, name), path.Join(sessionsDir, hex.EncodeToString(hash[:]))}, reader.Possible
}
