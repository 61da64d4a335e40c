package claude

import (
	"io"
	"path/filepath"
	"time"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
)

// usualDays is how long the agent keeps transcripts unless its settings say
// otherwise, in days.
const usualDays = 30

// mostDays bounds what a setting can say, so that it stays a duration.
const mostDays = 100_000

var _ reader.Pruner = (*Reader)(nil)

// PrunesAfter implements reader.Pruner. At its start the agent deletes
// transcripts that have not changed for cleanupPeriodDays of its settings.json,
// which lies beside the folder projects.
func (*Reader) PrunesAfter(root string) (time.Duration, bool) {
	return time.Duration(keptDays(filepath.Join(filepath.Dir(root), "settings.json"))) * 24 * time.Hour, true
}

// keptDays reads the setting; what is not there or not understood is the usual.
func keptDays(path string) int64 {
	f, _, err := reader.OpenRegular(path)
	if err != nil {
		return usualDays
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxMeta))
	if err != nil || !jsonl.Valid(data) {
		return usualDays
	}
	days, ok := jsonl.Natural(jsonl.Field(data[jsonl.SkipSpace(data, 0):], "cleanupPeriodDays"))
	if !ok {
		return usualDays
	}
	return min(days, mostDays)
}
