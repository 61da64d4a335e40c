package reader_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yorehq/yore/reader"
)

func TestShellCommand(t *testing.T) {
	for _, c := range []struct {
		dir   string
		words []string
		want  string
	}{
		{"", []string{"agent", "--resume", "s-1.a_b"}, "agent --resume s-1.a_b"},
		{"/w/it's here", []string{"agent", "x"}, `cd '/w/it'\''s here' && agent x`},
		{"-", []string{"agent"}, ""},
		{"proj", []string{"agent"}, ""},
		{"", []string{"agent", ""}, "agent ''"},
		{"", []string{"agent", "$(touch x)`y`;&|"}, "agent '$(touch x)`y`;&|'"},
		{"", []string{"agent", "a\nrm -rf b"}, ""},
		{"/w\x1b[2J", []string{"agent"}, ""},
		{"/w\u202e", []string{"agent"}, ""},
		{"", []string{"\xff"}, ""},
	} {
		if got := reader.ShellCommand(c.dir, c.words...); got != c.want {
			t.Errorf("%q %q: %s, want %s", c.dir, c.words, got, c.want)
		}
	}
}

// FuzzShellCommand lets a shell say what a command means.
func FuzzShellCommand(f *testing.F) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		f.Logf("no shell: %v", err)
		return
	}
	for _, s := range []string{"a b", "it's", `back\slash`, "$HOME", "*", "~", "!x", "a=b", "#c", `"`, "''", "-n", "é 漢"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, word string) {
		command := reader.ShellCommand("", "printf", "%s", word)
		if command == "" || strings.HasPrefix(word, "-") {
			return
		}
		cmd := exec.Command(sh, "-c", command)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != word {
			t.Fatalf("%s printed %q, %v", command, out, err)
		}
		if left, _ := filepath.Glob(filepath.Join(cmd.Dir, "*")); len(left) > 0 {
			t.Fatalf("%s made %q", command, left)
		}
	})
}
