package cli

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// screen is an app whose output is taken for a terminal.
func screen(env map[string]string) (*app, *bytes.Buffer) {
	var b bytes.Buffer
	return &app{raw: &b, out: bufio.NewWriter(&b), errs: &b, screen: true, errScreen: true, getenv: func(k string) string { return env[k] }}, &b
}

func TestNothingSteersTheScreen(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext é 项目\n":    "plain\n\ttext é 项目\n",
		"a\x1b[31mb":              `a\u001b[31mb`,
		"c1 \u009b31m":            `c1 \u009b31m`,
		"bidi \u202e\u2066 marks": `bidi \u202e\u2066 marks`,
		"\x00\x07\r\x7f":          `\u0000\u0007\u000d\u007f`,
	} {
		a, b := screen(map[string]string{"TERM": "xterm"})
		for _, emit := range []func(string) error{a.emit, a.emitPainted} {
			b.Reset()
			if err := emit(in); err != nil {
				t.Fatal(err)
			}
			if err := a.out.Flush(); err != nil {
				t.Fatal(err)
			}
			got := strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(strings.TrimSuffix(b.String(), "\n"))
			if d := cmp.Diff(strings.TrimSuffix(want, "\n"), got); d != "" {
				t.Errorf("%q (-want +got):\n%s", in, d)
			}
		}
	}
}

// Into a file or pipe goes exactly what was rendered.
func TestPipesGetTheTextAsItIs(t *testing.T) {
	a, b := screen(nil)
	a.screen = false
	if err := a.emit("a\u009bb\u202e\n"); err != nil {
		t.Fatal(err)
	}
	if err := a.out.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != "a\u009bb\u202e\n" {
		t.Errorf("got %q", got)
	}
}

func TestColours(t *testing.T) {
	for _, tc := range []struct {
		env    map[string]string
		screen bool
		want   bool
	}{
		{map[string]string{"TERM": "xterm"}, true, true},
		{map[string]string{"TERM": "xterm"}, false, false},
		{map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, true, false},
		{map[string]string{"TERM": "dumb"}, true, false},
	} {
		a, _ := screen(tc.env)
		if got := a.paint(tc.screen, bold, "x") != "x"; got != tc.want {
			t.Errorf("%v on a screen %v: painted %v", tc.env, tc.screen, got)
		}
	}
	a, b := screen(map[string]string{"TERM": "xterm"})
	if err := a.emitPainted("id rest\n #1 user/message current 2026: text: more\n"); err != nil {
		t.Fatal(err)
	}
	if err := a.out.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "\x1b[1mid\x1b[0m rest\n\x1b[2m #1 user/message current 2026:\x1b[0m text: more\n"
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}

// A bar appears on a terminal alone, and goes away without a trace.
func TestBar(t *testing.T) {
	a, b := screen(nil)
	a.errScreen = false
	if progress, done := a.bar(); progress != nil {
		t.Error("a bar in a pipe")
	} else {
		done()
	}
	if b.Len() != 0 {
		t.Errorf("printed %q", b)
	}
}
