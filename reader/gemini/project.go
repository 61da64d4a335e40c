package gemini

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
)

// maxSettings bounds what is read of the agent's small files, in bytes.
const maxSettings = 4 << 20

// workspace returns the folder of a project: the one whose hash the log states,
// of those that the agent has written down anywhere; else the one that the
// project's own folder names. No log states it, and the folder's name says
// nothing: it is a shortened name, or the hash.
func (r *Reader) workspace(root, path, hash string) string {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return ""
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if len(parts) < 3 || parts[0] != projectsDir {
		return ""
	}
	project := parts[1]
	marked := strings.TrimSpace(string(small(filepath.Join(root, projectsDir, project, ".project_root"))))
	if marked != "" && hashOf(marked) == hash {
		return marked
	}
	listed, named := projects(root, project)
	of := func(folder string) bool { return hashOf(folder) == hash }
	if i := slices.IndexFunc(listed, of); i >= 0 {
		return listed[i]
	}
	if r.folders != nil {
		more := r.folders(root) // which opens many files
		if i := slices.IndexFunc(more, of); i >= 0 {
			return more[i]
		}
	}
	if marked != "" {
		return marked
	}
	return named
}

// projects lists the folders that the agent knows, and which of them a project's
// folder is registered for.
func projects(root, project string) (all []string, named string) {
	registry := object(filepath.Join(root, "projects.json"))
	if list := jsonl.Field(registry, "projects"); jsonl.IsObject(list) {
		c := jsonl.Enter(list)
		for folder, name, ok := c.Member(); ok; folder, name, ok = c.Member() {
			all = append(all, string(folder))
			if jsonl.Is(name, project) {
				named = string(folder)
			}
		}
	}
	if trusted := object(filepath.Join(root, "trustedFolders.json")); trusted != nil {
		c := jsonl.Enter(trusted)
		for folder, _, ok := c.Member(); ok; folder, _, ok = c.Member() {
			all = append(all, string(folder))
		}
	}
	slices.Sort(all)
	return slices.Compact(all), named
}

func hashOf(folder string) string {
	sum := sha256.Sum256([]byte(folder))
	return hex.EncodeToString(sum[:])
}

// object reads a small file that holds a JSON object; nil if it does not.
func object(path string) []byte {
	text := small(path)
	text = text[jsonl.SkipSpace(text, 0):]
	if !jsonl.Valid(text) || !jsonl.IsObject(text) {
		return nil
	}
	return text
}

// small reads a small file; nil if there is none.
func small(path string) []byte {
	f, _, err := reader.OpenRegular(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSettings))
	if err != nil {
		return nil
	}
	return text
}

// usualDays is how long the agent keeps sessions unless its settings say
// otherwise, in days.
const usualDays = 30

// PrunesAfter implements reader.Pruner: general.sessionRetention of the user's
// settings.json, which is on with 30 days where it says nothing. A number of
// sessions to keep (maxCount) has no age and is not told.
func (*Reader) PrunesAfter(root string) (time.Duration, bool) {
	retention := jsonl.Field(jsonl.Field(object(filepath.Join(root, "settings.json")), "general"), "sessionRetention")
	if string(jsonl.Field(retention, "enabled")) == "false" {
		return 0, false
	}
	if age, ok := ageOf(jsonl.Text(jsonl.Field(retention, "maxAge"))); ok {
		return age, true
	}
	return usualDays * 24 * time.Hour, true
}

// ageOf reads an age as the settings give it: a number and h, d, w or m for
// hours, days, weeks or months of 30 days.
func ageOf(text string) (time.Duration, bool) {
	if len(text) < 2 || len(text) > 8 {
		return 0, false
	}
	n, ok := jsonl.Natural([]byte(text[:len(text)-1]))
	hours := map[byte]int64{'h': 1, 'd': 24, 'w': 7 * 24, 'm': 30 * 24}[text[len(text)-1]]
	if !ok || n == 0 || hours == 0 || n > 100_000 {
		return 0, false
	}
	return time.Duration(n*hours) * time.Hour, true
}
