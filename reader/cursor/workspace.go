package cursor

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/rows"
)

// folderOf returns the local folder that a URI names, as the system writes paths;
// "" for whatever lies on another machine, in a container or nowhere.
func folderOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	return localPath(u.Host, u.Path)
}

// localPath makes a path of the decoded parts of a file URI: "/c:/x" names a
// drive, a host a share.
func localPath(host, path string) string {
	if host != "" && host != "localhost" {
		return `\\` + host + strings.ReplaceAll(path, "/", `\`)
	}
	if len(path) >= 3 && path[0] == '/' && path[2] == ':' && (path[1]|0x20 >= 'a' && path[1]|0x20 <= 'z') {
		drive := strings.ToUpper(path[1:2]) + ":"
		if path = strings.TrimRight(path[3:], "/"); path == "" {
			path = "/"
		}
		return drive + strings.ReplaceAll(path, "/", `\`)
	}
	if !strings.HasPrefix(path, "/") {
		return ""
	}
	if trimmed := strings.TrimRight(path, "/"); trimmed != "" {
		return trimmed
	}
	return "/"
}

// spaces are the workspaces that the editor knows, one folder of storage each.
type spaces struct {
	dir    string
	listed map[string]string // composers that a workspace lists, and its folder; nil: not looked up yet
}

const (
	storageDir = "workspaceStorage"
	storeFile  = "state.vscdb"
)

// spacesBeside returns the workspaces whose storage lies beside that of a database.
func spacesBeside(file string) *spaces {
	return &spaces{dir: filepath.Join(filepath.Dir(filepath.Dir(file)), storageDir)}
}

// folder returns the folder of a composer's workspace: the one that it states, else
// the one of the storage that it names, else that of the storage which lists it, as
// of earlier versions. "" is none.
func (s *spaces) folder(ctx context.Context, id string, h *head) string {
	switch {
	case h.folder != "":
		return h.folder
	case h.space != "":
		return s.of(h.space)
	}
	if s.listed == nil {
		s.listed = map[string]string{}
		s.look(ctx)
	}
	return s.listed[id]
}

// of returns the folder that the description of a storage names.
func (s *spaces) of(space string) string {
	if space == "." || space == ".." || strings.ContainsAny(space, `/\`) {
		return ""
	}
	return folderOf(jsonl.Text(jsonl.Field(object(filepath.Join(s.dir, space, "workspace.json")), "folder")))
}

// look reads which composers each storage lists. What cannot be read lists none.
func (s *spaces) look(ctx context.Context) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		folder := s.of(e.Name())
		if folder == "" || ctx.Err() != nil {
			continue
		}
		db, err := rows.Open(ctx, filepath.Join(s.dir, e.Name(), storeFile))
		if err != nil {
			continue
		}
		if list, err := item(ctx, db, "composer.composerData"); err == nil && db.Steady() {
			eachComposer(list, func(id string, _ []byte) { s.listed[id] = folder })
		}
		db.Close()
	}
}

// named returns the folder of the one workspace whose path gives a project's name.
func (s *spaces) named(project string) string {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return ""
	}
	found := ""
	for _, e := range entries {
		folder := s.of(e.Name())
		if folder == "" || folder == found || !named(folder, project) {
			continue
		}
		if found != "" {
			return "" // two paths have this name
		}
		found = folder
	}
	return found
}
