package codex

import (
	"path"
	"time"

	"github.com/yorehq/yore/reader"
)

var (
	_ reader.Placer = (*Reader)(nil)
	_ reader.Loner  = (*Reader)(nil)
)

// Alone implements reader.Loner: a thread may lie in several files, or wait for
// one.
func (*Reader) Alone(_ reader.Source, at reader.Position) bool {
	st, err := parseState(at.State)
	return err == nil && len(st.Parts) == 1 && len(st.Missing) == 0
}

// Places implements reader.Placer: the folder of the day, which goes by the
// local time of whoever started the agent, and those around it. Files come into
// other days' folders by hand only.
func (*Reader) Places(_ string, now time.Time) (folders []string, others reader.Elsewhere) {
	// A new day, month or year begins with a new folder above.
	above := map[string]bool{}
	for _, off := range [...]int{-1, 0, 1} {
		day := now.UTC().AddDate(0, 0, off)
		folder := path.Join(liveDir, day.Format("2006/01/02"))
		for at := folder; at != "."; at = path.Dir(at) {
			if !above[at] {
				above[at] = true
				folders = append(folders, at)
			}
		}
	}
	return append(folders, archivedDir), reader.ByHand
}
