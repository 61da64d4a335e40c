package claude

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// side is the folder of the results that the agent moved out of a session's
// transcript; "" is none.
type side string

// maxMoved is how much of a moved result is taken in, in bytes.
const maxMoved = 8<<20 + 64<<10

// movedMark opens the text that stands for a moved result.
const movedMark = "<persisted-output>"

// sideOf returns the side folder of a transcript. Subagents share the one of
// the session that they belong to.
func sideOf(root, path string) side {
	rel, err := filepath.Rel(root, reader.FileOf(path))
	if err != nil {
		return ""
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if len(parts) < 2 {
		return ""
	}
	return side(filepath.Join(root, parts[0], strings.TrimSuffix(parts[1], logSuffix), resultsDir))
}

// restore puts the whole text of a moved result in the place of what stands for
// it. Only the name of the file is taken from the text, never its folder: the
// text is the log's, and may come from another machine or from an enemy.
func (s side) restore(blocks []session.Block) (_ []session.Block, clipped bool) {
	for i := range blocks {
		text := blocks[i].Text
		if s == "" || !strings.HasPrefix(strings.TrimSpace(text), movedMark) {
			continue
		}
		whole, cut, ok := s.read(movedName(text))
		if ok {
			blocks[i].Text = whole
			clipped = clipped || cut
		}
	}
	return blocks, clipped
}

// movedName finds the name of the file in the text that stands for a result.
func movedName(text string) string {
	i := strings.Index(text, resultsDir)
	if i < 0 {
		return ""
	}
	rest := text[i+len(resultsDir):]
	if rest == "" || rest[0] != '/' && rest[0] != '\\' {
		return ""
	}
	rest = rest[1:]
	end := strings.IndexFunc(rest, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	if end >= 0 {
		rest = rest[:end]
	}
	return strings.TrimRight(rest, ".")
}

func (s side) read(name string) (text string, cut, ok bool) {
	if name == "" || strings.HasPrefix(name, ".") {
		return "", false, false
	}
	path := filepath.Join(string(s), name)
	// No link, neither the file nor its folders below the project's: it could
	// lead anywhere.
	for _, p := range [...]string{filepath.Dir(string(s)), string(s), path} {
		info, err := os.Lstat(p)
		if err != nil || info.Mode()&os.ModeSymlink != 0 {
			return "", false, false
		}
	}
	f, _, err := reader.OpenRegular(path)
	if err != nil {
		return "", false, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxMoved+1))
	if err != nil {
		return "", false, false
	}
	if len(data) > maxMoved {
		return string(data[:maxMoved]), true, true
	}
	if strings.HasSuffix(name, ".json") && jsonl.Valid(data) {
		if blocks := (&record{}).textBlocks(data[jsonl.SkipSpace(data, 0):]); len(blocks) > 0 {
			return plain(blocks), false, true
		}
	}
	return string(data), false, true
}
