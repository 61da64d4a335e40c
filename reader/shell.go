package reader

import (
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ShellCommand writes a command for a POSIX shell: the words, run in dir if
// that is not empty. Each word stands for itself whatever is in it. What could
// not be pasted into a terminal as it is (control and formatting characters,
// ill-formed text) is refused with "", and so is a dir that is relative to one
// that nobody knows.
func ShellCommand(dir string, words ...string) string {
	var quoted []string
	for _, w := range words {
		if !pastable(w) {
			return ""
		}
		quoted = append(quoted, shellWord(w))
	}
	command := strings.Join(quoted, " ")
	switch {
	case dir == "":
		return command
	case !pastable(dir), !strings.HasPrefix(dir, "/") && !filepath.IsAbs(dir):
		return ""
	}
	return "cd " + shellWord(dir) + " && " + command
}

func pastable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
	}) < 0
}

// shellWord quotes a word unless it is plain.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
