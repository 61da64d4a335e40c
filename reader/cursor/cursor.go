// Package cursor reads the transcripts of Cursor's agent, in its editor and on the
// command line: one file in JSON lines for each session and each subagent, below
// the folder projects of the agent's home.
//
// It owns where files lie, what stands beside them of a session's folder and
// birth, and what a line means. Lines have neither ids nor times. The way through
// a file is in reader/linelog. It never writes to an agent's folder. Start at
// decoder.Take.
package cursor

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
const version = 1

// Names of the layout.
const (
	projectsDir    = "projects"
	transcriptsDir = "agent-transcripts"
	subagentsDir   = "subagents"
	logSuffix      = ".jsonl"
)

// Reader reads Cursor's transcripts. It holds nothing between calls.
type Reader struct{}

// New returns a reader of Cursor's transcripts.
func New() *Reader { return &Reader{} }

var (
	_ reader.Reader  = (*Reader)(nil)
	_ reader.Resumer = (*Reader)(nil)
	_ reader.Loner   = (*Reader)(nil)
)

var format = &linelog.Format{New: newDecoder, Identify: identify, Block: block}

// Agent implements reader.Reader.
func (*Reader) Agent() session.Agent { return session.Cursor }

// Version implements reader.Reader.
func (*Reader) Version() int { return version }

// DefaultRoots implements reader.Reader. No variable that moves the folder is known.
func (*Reader) DefaultRoots(_ func(string) string, home string) []string {
	return []string{filepath.Join(home, ".cursor")}
}

// Classify implements reader.Reader: a transcript lies in a folder that bears its
// id, with those of its subagents in a folder beside it, or, of earlier releases,
// right among the transcripts.
func (*Reader) Classify(rel string, dir bool) reader.Kind {
	if rel == "" || rel == "." {
		return kindIf(dir, reader.Folder)
	}
	parts := strings.Split(rel, "/")
	depth := len(parts)
	known := parts[0] == projectsDir && (depth < 3 || parts[2] == transcriptsDir) && (depth < 5 || dir && parts[4] == subagentsDir || !dir)
	if dir {
		return kindIf(known && depth <= 5, reader.Folder)
	}
	if !known || !strings.HasSuffix(parts[depth-1], logSuffix) {
		return reader.Ignore
	}
	stem := strings.TrimSuffix(parts[depth-1], logSuffix)
	switch depth {
	case 4:
		return reader.File
	case 5:
		return kindIf(stem == parts[3], reader.File)
	case 6:
		return kindIf(parts[4] == subagentsDir, reader.File)
	}
	return reader.Ignore
}

func kindIf(ok bool, kind reader.Kind) reader.Kind {
	if ok {
		return kind
	}
	return reader.Ignore
}

// Identify implements reader.Reader.
func (*Reader) Identify(ctx context.Context, root, path string) (session.Header, error) {
	if err := ctx.Err(); err != nil {
		return session.Header{}, err
	}
	f, stamp, err := reader.OpenRegular(path)
	if err != nil {
		return session.Header{}, err
	}
	defer f.Close()
	return identify(ctx, f, stamp.Size, root, path)
}

// identify makes the header of what stands around a file: nothing in it states
// one. It is a session as soon as it holds a line of a conversation.
func identify(ctx context.Context, f io.ReaderAt, size int64, root, path string) (session.Header, error) {
	h := session.Header{Agent: session.Cursor, ID: session.ID(strings.TrimSuffix(filepath.Base(path), logSuffix))}
	talks, lines := false, 0
	_, err := linelog.Each(ctx, f, 0, size, func(r *linelog.Record) (bool, error) {
		lines++
		m := recordOf(r)
		talks = m.role != ""
		return !talks && r.End < 1<<20, nil
	})
	switch {
	case err != nil:
		return h, err
	case !talks && lines > 0 && size >= 1<<20:
		return h, reader.Unreadable(path, 1, 0, "no line is one of a conversation")
	case !talks:
		return h, reader.ErrPending
	}
	chat := string(h.ID)
	if folder := filepath.Dir(path); filepath.Base(folder) == subagentsDir {
		chat = filepath.Base(filepath.Dir(folder))
		h.ParentSession, h.Origin, h.DelegationDepth = session.ID(chat), session.OriginSubagent, 1
	}
	h.Cwd, h.CreatedAt = around(root, path, chat)
	return h, nil
}

// around finds a session's folder and birth: in the description of the chat that
// lies beside the transcripts, else, for the folder, in the mark of the project.
// The project's name is the folder with dashes; it is compared, never taken apart.
func around(root, path, chat string) (cwd string, created int64) {
	// The name may hold what means something in a pattern.
	if strings.ContainsAny(chat, `*?[\`) {
		return "", 0
	}
	found, _ := filepath.Glob(filepath.Join(root, "chats", "*", chat, "meta.json")) // the pattern is well-formed
	for _, name := range found {
		meta := object(name)
		cwd = jsonl.Text(jsonl.Field(meta, "cwd"))
		if ms, ok := jsonl.Natural(jsonl.Field(meta, "createdAtMs")); ok {
			created = ms
		}
	}
	rel, err := filepath.Rel(root, path)
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if cwd != "" || err != nil || len(parts) < 3 {
		return cwd, created
	}
	mark := object(filepath.Join(root, projectsDir, parts[1], ".workspace-trusted"))
	if folder := jsonl.Text(jsonl.Field(mark, "workspacePath")); encoded(folder) == parts[1] {
		cwd = folder
	}
	return cwd, created
}

// encoded is how a project's folder is named after a path.
func encoded(path string) string {
	dashed := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, path)
	return strings.Trim(dashed, "-")
}

// object reads a small file that holds a JSON object; nil if it does not.
func object(path string) []byte {
	f, _, err := reader.OpenRegular(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil || !jsonl.Valid(text) {
		return nil
	}
	return text[jsonl.SkipSpace(text, 0):]
}

// Revise implements reader.Reader.
func (*Reader) Revise(ctx context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	return format.Revise(ctx, src, at)
}

// Read implements reader.Reader.
func (*Reader) Read(ctx context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	return format.Read(ctx, src, from, emit)
}

// Window implements reader.Reader.
func (*Reader) Window(ctx context.Context, src reader.Source, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	return format.Window(ctx, src, at, from, to, natives, emit)
}

// Alone implements reader.Loner: a session is read from one file.
func (*Reader) Alone(reader.Source, reader.Position) bool { return true }

// ResumeCommand implements reader.Resumer. The command line takes up its own chats,
// which are described beside the transcripts and so have a time of birth; those of
// the editor it does not know.
func (*Reader) ResumeCommand(h session.Header) string {
	if h.CreatedAt == 0 || h.Origin == session.OriginSubagent || strings.HasPrefix(string(h.ID), "-") {
		return ""
	}
	return reader.ShellCommand(h.Cwd, "cursor-agent", "--resume", string(h.ID))
}
