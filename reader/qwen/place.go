package qwen

import (
	"strings"
	"time"

	"github.com/yorehq/yore/reader"
)

// Places implements reader.Placer: the folder that is named after the workspace,
// with a dash for whatever is no letter and no digit. Several workspaces may share
// one, which is why a session's own is read from its records.
func (*Reader) Places(workspace string, _ time.Time) (folders []string, others reader.Elsewhere) {
	name := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, workspace)
	project := projectsDir + "/" + name
	return []string{projectsDir, project, project + "/" + chatsDir, project + "/" + chatsDir + "/" + archivedDir, project + "/" + subagentsDir}, reader.Possible
}
