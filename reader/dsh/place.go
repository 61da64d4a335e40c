package dsh

import (
	"strings"
	"time"
	"unicode/utf16"

	"github.com/yorehq/yore/reader"
)

var (
	_ reader.Placer = (*Reader)(nil)
	_ reader.Loner  = (*Reader)(nil)
)

// Alone implements reader.Loner: a log is one file.
func (*Reader) Alone(reader.Source, reader.Position) bool { return true }

// Places implements reader.Placer. A log in another folder than its header
// names is no session (see Identify). Half a surrogate pair in a header gives
// another folder name than its replacement in a workspace does, so such
// workspaces may lie elsewhere.
func (*Reader) Places(workspace string, _ time.Time) (folders []string, others reader.Elsewhere) {
	if workspace == "" {
		return []string{noCwd}, reader.Possible // an empty cwd and none have two folders
	}
	key := projectKey(utf16.Encode([]rune(workspace)))
	if strings.ContainsRune(workspace, '\uFFFD') {
		return []string{key}, reader.Possible
	}
	return []string{key}, reader.Never
}
