// Package qwen reads the chats of Qwen Code: one file in JSON lines for each
// session and each subagent, below the folder projects of the agent's home; and the
// documents of its first releases, by reader/gemini.
//
// It owns where files lie, what their first records say of them, forks, what a
// record means, the tree that the records form, and compactions, which state the
// whole of the new context. The way through a file is in reader/linelog. It
// never writes to an agent's folder.
//
// Layers, from the bytes up: record.go and body.go take a record apart, header.go
// finds out whose a file is, documents.go tells the older form apart, tree.go follows the path from the first record to the
// latest, decoder.go and compaction.go make events, state.go keeps what a decoder
// knows. Start at decoder.Take.
package qwen

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// version is the reader's mapping version; it rises whenever a record would
// become another event than before.
const version = 2

// Names of the layout.
const (
	projectsDir  = "projects"
	chatsDir     = "chats"
	archivedDir  = "archive"
	subagentsDir = "subagents"
	agentPrefix  = "agent-"
	logSuffix    = ".jsonl"
	metaSuffix   = ".meta.json"
)

// Reader reads Qwen Code's chats. It holds nothing between calls.
type Reader struct{ linelog.Log }

// New returns a reader of Qwen Code's chats.
func New() *Reader { return &Reader{linelog.Of(format)} }

var (
	_ reader.Reader  = (*Reader)(nil)
	_ reader.Resumer = (*Reader)(nil)
	_ reader.Placer  = (*Reader)(nil)
	_ reader.Loner   = (*Reader)(nil)
	_ reader.Titler  = (*Reader)(nil)
)

var format = &linelog.Format{New: newDecoder, Identify: identify, Block: block}

// Agent implements reader.Reader.
func (*Reader) Agent() session.Agent { return session.Qwen }

// Version implements reader.Reader.
func (*Reader) Version() int { return version }

// DefaultRoots implements reader.Reader: the folder of QWEN_RUNTIME_DIR, or the one
// that the settings choose for what runs leave behind, and behind it the agent's
// home, QWEN_HOME or ~/.qwen: chats that are older than such a choice stay there.
func (*Reader) DefaultRoots(getenv func(string) string, home string) []string {
	base := expand(getenv("QWEN_HOME"), home)
	if base == "" {
		base = filepath.Join(home, ".qwen")
	}
	chosen := expand(getenv("QWEN_RUNTIME_DIR"), home)
	if chosen == "" {
		settings := object(filepath.Join(base, "settings.json"))
		chosen = expand(jsonl.Text(jsonl.Field(jsonl.Field(settings, "advanced"), "runtimeOutputDir")), home)
	}
	if filepath.IsAbs(chosen) && filepath.Clean(chosen) != filepath.Clean(base) {
		return []string{filepath.Clean(chosen), base}
	}
	return []string{base}
}

func expand(path, home string) string {
	if path == "~" {
		return home
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}

// maxSettings bounds what is read of the agent's small files, in bytes.
const maxSettings = 1 << 20

// object reads a small file that holds a JSON object; nil if it does not.
func object(path string) []byte {
	f, _, err := reader.OpenRegular(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSettings))
	if err != nil || !jsonl.Valid(text) {
		return nil
	}
	return text[jsonl.SkipSpace(text, 0):]
}

// Classify implements reader.Reader.
func (*Reader) Classify(rel string, dir bool) reader.Kind {
	if rel == "" || rel == "." {
		return kindIf(dir, reader.Folder)
	}
	parts := strings.Split(rel, "/")
	if parts[0] == documentsDir {
		return classifyDocument(rel, dir)
	}
	name := parts[len(parts)-1]
	folders := parts
	if !dir {
		folders = parts[:len(parts)-1]
	}
	known := folders != nil && parts[0] == projectsDir && len(folders) <= 4
	if known && len(folders) > 2 {
		known = folders[2] == chatsDir && (len(folders) == 3 || folders[3] == archivedDir) || folders[2] == subagentsDir
	}
	if dir {
		return kindIf(known, reader.Folder)
	}
	if !strings.HasSuffix(name, logSuffix) || strings.HasPrefix(name, ".") {
		return reader.Ignore
	}
	chat := known && len(folders) >= 3 && folders[2] == chatsDir
	agent := known && len(folders) == 4 && folders[2] == subagentsDir && strings.HasPrefix(name, agentPrefix)
	return kindIf(chat || agent, reader.File)
}

func kindIf(ok bool, kind reader.Kind) reader.Kind {
	if ok {
		return kind
	}
	return reader.Ignore
}

// Title implements reader.Titler: what a subagent is for stands beside its log.
func (*Reader) Title(ctx context.Context, src reader.Source) (title string, ok bool, err error) {
	if err := ctx.Err(); err != nil || src.Header.Origin != session.OriginSubagent {
		return "", false, err
	}
	title = oneLine(jsonl.Text(jsonl.Field(object(strings.TrimSuffix(src.Path, logSuffix)+metaSuffix), "description")))
	return title, title != "", nil
}

// ResumeCommand implements reader.Resumer.
func (*Reader) ResumeCommand(h session.Header) string {
	if h.Version == ofDocuments || h.Origin == session.OriginSubagent || strings.HasPrefix(string(h.ID), "-") {
		return ""
	}
	return reader.ShellCommand(h.Cwd, "qwen", "--resume", string(h.ID))
}
