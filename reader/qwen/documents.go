package qwen

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/gemini"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// The releases of the first months, 0.1, kept a session as the Gemini CLI of that
// time did, whose copy they were: one document below tmp/<SHA-256 of the folder> of
// the agent's home, which reader/gemini reads. Later ones leave them there.

const (
	documentsDir   = "tmp"
	documentSuffix = ".json"

	// ofDocuments is the version of a header that a document states. The agent has
	// no way to resume one.
	ofDocuments = 1
)

// isDocument tells the two forms apart: logs are files in lines.
func isDocument(file string) bool { return strings.HasSuffix(file, documentSuffix) }

// documents reads the older form.
var documents = gemini.NewFor(session.Qwen, folders)

// classifyDocument is Classify for what lies below documentsDir.
func classifyDocument(rel string, dir bool) reader.Kind {
	if !dir && !isDocument(rel) {
		return reader.Ignore
	}
	return documents.Classify(rel, dir)
}

// Identify implements reader.Reader.
func (r *Reader) Identify(ctx context.Context, root, path string) (session.Header, error) {
	if !isDocument(path) {
		return r.Log.Identify(ctx, root, path)
	}
	h, err := documents.Identify(ctx, root, path)
	h.Version = ofDocuments
	return h, err
}

// Revise implements reader.Reader.
func (r *Reader) Revise(ctx context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	if !isDocument(src.Path) {
		return r.Log.Revise(ctx, src, at)
	}
	return documents.Revise(ctx, src, at)
}

// Read implements reader.Reader.
func (r *Reader) Read(ctx context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	if !isDocument(src.Path) {
		return r.Log.Read(ctx, src, from, emit)
	}
	return documents.Read(ctx, src, from, emit)
}

// Window implements reader.Reader.
func (r *Reader) Window(ctx context.Context, src reader.Source, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	if !isDocument(src.Path) {
		return r.Log.Window(ctx, src, at, from, to, natives, emit)
	}
	h, err := documents.Window(ctx, src, at, from, to, natives, emit)
	h.Version = ofDocuments
	return h, err
}

// Bounds of what is looked at to find the folder of a document.
const (
	mostFolders = 256     // projects
	firstBytes  = 1 << 16 // of a log of each
)

// folders lists the workspaces that the sessions of the later form below a root
// state, one for each project: a document names its own by a hash alone, and
// whoever worked in a folder then has mostly worked in it since.
func folders(root string) (all []string) {
	projects, err := os.ReadDir(filepath.Join(root, projectsDir))
	if err != nil {
		return nil
	}
	for _, p := range projects[:min(len(projects), mostFolders)] {
		if !p.IsDir() { // a link may lead out of the agent's folder
			continue
		}
		chats, err := os.ReadDir(filepath.Join(root, projectsDir, p.Name(), chatsDir))
		if err != nil {
			continue
		}
		for _, c := range chats {
			if !strings.HasSuffix(c.Name(), logSuffix) {
				continue
			}
			if folder := firstCwd(filepath.Join(root, projectsDir, p.Name(), chatsDir, c.Name())); folder != "" {
				all = append(all, folder)
				break
			}
		}
	}
	return all
}

// firstCwd is the folder that the first record of a log states; "" if it does not.
func firstCwd(path string) string {
	f, _, err := reader.OpenRegular(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, firstBytes))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if !jsonl.Valid([]byte(line)) {
		return ""
	}
	return jsonl.Text(jsonl.Field([]byte(line), "cwd"))
}
