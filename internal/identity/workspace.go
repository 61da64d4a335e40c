package identity

import (
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/yorehq/yore/fault"
)

// DSHClient is the name of a client that may serve several workspaces from one
// process and tells with no call which of them it comes from.
const DSHClient = "dsh-mcp-client"

// openClawClient is the name of another one: OpenClaw's gateway starts its servers
// in whichever folder it runs in itself.
const openClawClient = "openclaw-bundle-mcp"

// SandboxMeta is the capability a server advertises so that Codex sends the
// folder of each call, and the key it sends it under.
const SandboxMeta = "codex/sandbox-state-meta"

// workspace applies the rules in their order; the first that speaks decides.
//
// A configured workspace is a pin: nothing a call brings along moves it.
func (r *Resolver) workspace(call Call) (string, error) {
	if r.chosen != "" {
		return r.chosen, nil
	}
	if call.Remote {
		return "", refuse("The workspace of this call is not known. The server that is reached over a network must be started with --workspace DIR.")
	}
	if state, ok := call.Meta[SandboxMeta]; ok {
		return sandbox(state)
	}
	if call.Client == DSHClient || call.Client == openClawClient {
		return "", refuse("This host can serve several workspaces from one process and does not say which of them a call comes from, so nothing is shown. Give the server --workspace DIR in the host's configuration, one for each workspace.")
	}
	if call.fromCursor() {
		return r.cursor()
	}
	if r.dir == "" {
		return "", refuse("The working directory of this server is not known. Start it with --workspace DIR.")
	}
	if isRoot(r.dir) {
		return "", refuse("This server was started in the root folder, which is no project. Start it in the project's folder or with --workspace DIR.")
	}
	if project := r.getenv("CLAUDE_PROJECT_DIR"); project != "" && !sameFolder(project, r.dir) {
		return "", refuse("The host names another project folder than the one this server was started in, so the workspace is in doubt. Start the server with --workspace DIR.")
	}
	return r.dir, nil
}

// cursor is the folder of Cursor's window, whose editor starts servers in a folder
// that is no project's: the root or the user's home. Which separator stands between
// the folders of a window with several is not known, so that any is taken for one.
func (r *Resolver) cursor() (string, error) {
	switch open := r.getenv("WORKSPACE_FOLDER_PATHS"); {
	case strings.ContainsAny(open, ",;\n") || strings.Contains(filepath.ToSlash(open), ":/") && filepath.VolumeName(open) == "":
		return "", refuse("This window has several folders open and does not say which of them a call comes from, so nothing is shown. Start the server with --workspace DIR.")
	case filepath.IsAbs(open) && !isRoot(open):
		return filepath.Clean(open), nil
	case r.dir == "" || isRoot(r.dir) || sameFolder(r.dir, r.getenv("HOME")):
		return "", refuse("This server was started outside of any project. Start it with --workspace DIR.")
	}
	return r.dir, nil
}

func refuse(sentence string) error { return fault.New(fault.MissingAgent, "%s", sentence) }

// sandbox reads the folder that Codex sends, a path or a file URL by its
// version. It is compared with the logs as it stands, so it is not cleaned.
func sandbox(state any) (string, error) {
	fields, _ := state.(map[string]any)
	dir, _ := fields["sandboxCwd"].(string)
	if rest, ok := strings.CutPrefix(dir, "file:"); ok {
		dir = fromURL(rest)
	}
	switch {
	case !filepath.IsAbs(dir) || strings.ContainsRune(dir, 0):
		return "", refuse("The host sent a folder with this call that cannot be read, so the workspace is in doubt. Start the server with --workspace DIR.")
	case isRoot(dir):
		return "", refuse("This call comes from the root folder, which is no project. Start the server with --workspace DIR if that is meant.")
	}
	return dir, nil
}

// fromURL returns the path of a file URL without its scheme, "" if it names
// another machine or is malformed.
func fromURL(rest string) string {
	u, err := url.Parse("file:" + rest)
	if err != nil || u.Host != "" && u.Host != "localhost" || u.RawQuery != "" || u.Fragment != "" {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = filepath.FromSlash(strings.TrimPrefix(path, "/"))
	}
	return path
}

// isRoot reports whether a folder is the top of its volume, however spelled.
func isRoot(dir string) bool {
	dir = filepath.Clean(dir)
	return filepath.Dir(dir) == dir
}

// sameFolder reports whether two paths name one folder, links resolved.
func sameFolder(a, b string) bool {
	if a == b {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
