// Package cursor reads the sessions of Cursor: those of its editor, which keeps
// them in a database, and the transcripts that its agent leaves, in the editor and
// on the command line, one file for each session and each subagent.
//
// It owns where these lie, what stands beside them of a session's folder and
// birth, and what lines and rows mean. The way through a transcript in JSON lines
// is in reader/linelog; how a database is opened is the business of reader/rows.
// It never writes to an agent's folder.
//
//	projects/…/<id>.jsonl     decoder.go
//	projects/…/<id>.json .txt plain.go, by the same decoder
//	globalStorage/state.vscdb store.go lists, composer.go passes over one session, bubble.go says what a bubble gives
//
// Start at Reader.Read.
package cursor

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// version is the reader's mapping version; it rises whenever a record would
// become another event than before.
const version = 3

// Names of the layout.
const (
	projectsDir    = "projects"
	transcriptsDir = "agent-transcripts"
	subagentsDir   = "subagents"
	logSuffix      = ".jsonl"
	storePath      = "globalStorage/" + storeFile
)

// Reader reads Cursor's sessions. It holds nothing between calls.
type Reader struct{ now func() time.Time }

// New returns a reader of Cursor's sessions.
func New() *Reader { return &Reader{time.Now} }

var (
	_ reader.Reader  = (*Reader)(nil)
	_ reader.Resumer = (*Reader)(nil)
	_ reader.Loner   = (*Reader)(nil)
	_ reader.Ranker  = (*Reader)(nil)
)

var format = &linelog.Format{New: newDecoder, Identify: identifyOpen, Block: block}

// identifyOpen is identify for windows. What stands around a file may change while
// the file itself does not.
func identifyOpen(ctx context.Context, f io.ReaderAt, size int64, root, path string) (session.Header, error) {
	stamp, err := reader.StatRegular(path)
	if err != nil {
		return session.Header{}, err
	}
	stamp.Size = size
	h, _, err := identify(ctx, f, stamp, root, path)
	return h, err
}

// Agent implements reader.Reader.
func (*Reader) Agent() session.Agent { return session.Cursor }

// Version implements reader.Reader.
func (*Reader) Version() int { return version }

// DefaultRoots implements reader.Reader: the agent's folder, which no known variable
// moves, and the editor's in each system's folder for settings. Homes that move
// from system to system have several.
func (*Reader) DefaultRoots(getenv func(string) string, home string) []string {
	config, roaming := getenv("XDG_CONFIG_HOME"), getenv("APPDATA")
	if !filepath.IsAbs(config) {
		config = filepath.Join(home, ".config")
	}
	if !filepath.IsAbs(roaming) {
		roaming = filepath.Join(home, "AppData", "Roaming")
	}
	roots := []string{filepath.Join(home, ".cursor")}
	for _, settings := range []string{config, filepath.Join(home, "Library", "Application Support"), roaming} {
		roots = append(roots, filepath.Join(settings, editorDir, "User"))
	}
	return roots
}

const editorDir = "Cursor"

// Classify implements reader.Reader: a transcript lies in a folder that bears its
// id, with those of its subagents in a folder beside it, or, of earlier releases,
// right among the transcripts. Below the editor's folder one database counts.
func (*Reader) Classify(rel string, dir bool) reader.Kind {
	if rel == "" || rel == "." {
		if dir {
			return reader.Folder
		}
		return reader.Shelf // named as a root by hand
	}
	if rel == "globalStorage" || rel == storePath {
		if dir {
			return kindIf(rel != storePath, reader.Folder)
		}
		return kindIf(rel == storePath, reader.Shelf)
	}
	parts := strings.Split(rel, "/")
	depth := len(parts)
	known := parts[0] == projectsDir && (depth < 3 || parts[2] == transcriptsDir) && (depth < 5 || dir && parts[4] == subagentsDir || !dir)
	if dir {
		return kindIf(known && depth <= 5, reader.Folder)
	}
	stem, form := formOf(parts[depth-1])
	if !known || form == other {
		return reader.Ignore
	}
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

// form is how a session is kept; a later one tells more.
type form int

const (
	other form = iota
	inText
	inDocument
	inLines
	inStore
)

// formOf takes the name of a transcript apart.
func formOf(name string) (stem string, f form) {
	for suffix, f := range map[string]form{logSuffix: inLines, ".json": inDocument, ".txt": inText} {
		if stem, ok := strings.CutSuffix(name, suffix); ok && stem != "" {
			return stem, f
		}
	}
	return name, other
}

// formAt is the form of a source.
func formAt(path string) form {
	if file, part := reader.SplitPart(path); part != "" || filepath.Base(file) == storeFile {
		return inStore
	}
	_, f := formOf(filepath.Base(path))
	return f
}

// Rank implements reader.Ranker: the editor's database has results and times, which
// the transcript of the same session lacks.
func (*Reader) Rank(_, path string) int { return int(formAt(path)) }

func kindIf(ok bool, kind reader.Kind) reader.Kind {
	if ok {
		return kind
	}
	return reader.Ignore
}

// Identify implements reader.Reader.
func (r *Reader) Identify(ctx context.Context, root, path string) (session.Header, error) {
	if err := ctx.Err(); err != nil {
		return session.Header{}, err
	}
	switch formAt(path) {
	case inStore:
		return r.identifyComposer(ctx, root, path)
	case inText, inDocument:
		p, err := readPlain(ctx, path)
		if err != nil {
			return session.Header{Agent: session.Cursor}, err
		}
		h, _, err := p.identify(root, path)
		return h, err
	}
	f, stamp, err := reader.OpenRegular(path)
	if err != nil {
		return session.Header{}, err
	}
	defer f.Close()
	h, _, err := identify(ctx, f, stamp, root, path)
	return h, err
}

// identifyComposer is Identify for a session of the editor.
func (r *Reader) identifyComposer(ctx context.Context, root, path string) (session.Header, error) {
	file, part := reader.SplitPart(path)
	if part == "" {
		return session.Header{Agent: session.Cursor}, reader.ErrNoShelf
	}
	db, err := openStore(ctx, file)
	if err != nil {
		return session.Header{Agent: session.Cursor}, err
	}
	defer db.Close()
	e, err := r.find(ctx, db, reader.Source{Agent: session.Cursor, Root: root, Path: path})
	return e.Header, err
}

// identify makes the header of what stands around a file, and of the time that its
// first prompt tells: nothing else in it states one. It is a session as soon as it
// holds a line of a conversation. dated says that the time is not merely that of
// the file's latest change.
func identify(ctx context.Context, f io.ReaderAt, stamp reader.Stamp, root, path string) (h session.Header, dated bool, err error) {
	talks, lines, told := false, 0, int64(0)
	_, err = linelog.Each(ctx, f, 0, stamp.Size, func(r *linelog.Record) (bool, error) {
		lines++
		m := recordOf(r)
		talks = talks || m.role != ""
		if m.role == "user" {
			told = m.told()
		}
		return m.role != "user" && r.End < 1<<20, nil
	})
	h = session.Header{Agent: session.Cursor}
	stem, _ := formOf(filepath.Base(path))
	h.ID = session.ID(stem)
	switch {
	case err != nil:
		return h, false, err
	case !talks && lines > 0 && stamp.Size >= 1<<20:
		return h, false, reader.Unreadable(path, 1, 0, "no line is one of a conversation")
	case !talks:
		return h, false, reader.ErrPending
	}
	h, dated = around(root, path, told, stamp)
	return h, dated, nil
}

// around makes the header of a transcript: of the description of the chat that
// lies beside the transcripts, else of the time that its first prompt tells, else of
// when it was last changed; and of the mark of the project, else of the workspaces
// that the editor knows. The project's name is the folder with dashes; it is
// compared, never taken apart.
func around(root, path string, told int64, stamp reader.Stamp) (h session.Header, dated bool) {
	stem, _ := formOf(filepath.Base(path))
	h = session.Header{Agent: session.Cursor, ID: session.ID(stem)}
	chat := stem
	if folder := filepath.Dir(path); filepath.Base(folder) == subagentsDir {
		chat = filepath.Base(filepath.Dir(folder))
		h.ParentSession, h.Origin, h.DelegationDepth = session.ID(chat), session.OriginSubagent, 1
	}
	for _, name := range chatFiles(root, chat, "meta.json") {
		meta := object(name)
		h.Cwd = jsonl.Text(jsonl.Field(meta, "cwd"))
		if ms, ok := jsonl.Natural(jsonl.Field(meta, "createdAtMs")); ok && chat == stem {
			h.CreatedAt, h.Version = ms, ofCommandLine
		}
	}
	if h.CreatedAt == 0 {
		h.CreatedAt = told
	}
	if dated = h.CreatedAt > 0; !dated {
		h.CreatedAt = max(0, stamp.ModTime/1e6)
	}
	rel, err := filepath.Rel(root, path)
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if h.Cwd != "" || err != nil || len(parts) < 3 {
		return h, dated
	}
	mark := object(filepath.Join(root, projectsDir, parts[1], ".workspace-trusted"))
	if folder := jsonl.Text(jsonl.Field(mark, "workspacePath")); named(folder, parts[1]) {
		h.Cwd = folder
		return h, dated
	}
	for _, settings := range []string{".config", "Library/Application Support", "AppData/Roaming"} {
		s := spaces{dir: filepath.Join(filepath.Dir(root), filepath.FromSlash(settings), editorDir, "User", storageDir)}
		if h.Cwd = s.named(parts[1]); h.Cwd != "" {
			break
		}
	}
	return h, dated
}

// ofCommandLine is the version in the header of a transcript that a chat of the
// command line describes.
const ofCommandLine = 1

// chatFiles finds a file of a chat of the command line: its folder's name has a
// hash in front of it.
func chatFiles(root, chat, name string) []string {
	// The name may hold what means something in a pattern.
	if strings.ContainsAny(chat, `*?[\`) {
		return nil
	}
	found, _ := filepath.Glob(filepath.Join(root, "chats", "*", chat, name)) // the pattern is well-formed
	return found
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

// named reports whether a project is called after a folder. Releases differ in
// whether neighbouring dashes become one, and in how a drive's letter is written.
func named(folder, project string) bool {
	one := func(name string) string {
		return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '-' }), "-")
	}
	a, b := one(encoded(folder)), one(project)
	if len(folder) > 1 && folder[1] == ':' {
		return a != "" && strings.EqualFold(a, b)
	}
	return a != "" && a == b
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

// Revise implements reader.Reader. A transcript in lines that tells no time is of
// the time of its latest change, and so another one whenever it grows.
func (r *Reader) Revise(ctx context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	if err := ctx.Err(); err != nil {
		return reader.Replaced, reader.Stamp{}, err
	}
	switch formAt(src.Path) {
	case inStore:
		return r.reviseComposer(ctx, src, at)
	case inText, inDocument:
		return revisePlain(ctx, src, at)
	}
	revision, stamp, err := format.Revise(ctx, src, at)
	if err != nil || revision != reader.Grown {
		return revision, stamp, err
	}
	f, now, err := reader.OpenRegular(src.Path)
	if err != nil {
		return reader.Replaced, stamp, err
	}
	defer f.Close()
	if h, dated, err := identify(ctx, f, now, src.Root, src.Path); err == nil && !dated && h.CreatedAt != src.Header.CreatedAt {
		return reader.Replaced, stamp, nil
	}
	return revision, stamp, nil
}

// Read implements reader.Reader.
func (r *Reader) Read(ctx context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	if err := ctx.Err(); err != nil {
		return reader.Tail{}, err
	}
	switch formAt(src.Path) {
	case inStore:
		return r.readComposer(ctx, src, from, emit)
	case inText, inDocument:
		return readDocument(ctx, src, from, emit)
	}
	return format.Read(ctx, src, from, emit)
}

// Window implements reader.Reader.
func (r *Reader) Window(ctx context.Context, src reader.Source, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	if err := ctx.Err(); err != nil {
		return session.Header{}, err
	}
	switch formAt(src.Path) {
	case inStore:
		return r.windowComposer(ctx, src, from, to, natives, emit)
	case inText, inDocument:
		return windowPlain(ctx, src, from, to, natives, emit)
	}
	h, err := format.Window(ctx, src, at, from, to, natives, emit)
	if grown := h; err == nil { // the time of the latest change is no statement of the file's
		if grown.CreatedAt = src.Header.CreatedAt; grown == src.Header {
			h = grown
		}
	}
	return h, err
}

// Alone implements reader.Loner: a transcript is read from one file.
func (*Reader) Alone(src reader.Source, _ reader.Position) bool { return formAt(src.Path) != inStore }

// ResumeCommand implements reader.Resumer. The command line takes up its own chats,
// which are described beside the transcripts; those of the editor it does not know.
func (*Reader) ResumeCommand(h session.Header) string {
	if h.Version != ofCommandLine || h.Origin == session.OriginSubagent || strings.HasPrefix(string(h.ID), "-") {
		return ""
	}
	return reader.ShellCommand(h.Cwd, "cursor-agent", "--resume", string(h.ID))
}
