package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// Whatever an answer may have missed makes it one in part.
func TestCovered(t *testing.T) {
	for _, tc := range []struct {
		c    session.Coverage
		want bool
	}{
		{session.Coverage{Sessions: 3}, false},
		{session.Coverage{Sessions: 3, Behind: 1}, true},
		{session.Coverage{Sessions: 3, Unreadable: 1}, true},
		{session.Coverage{Sessions: 3, Damaged: 1}, true},
		{session.Coverage{Sessions: 3, Clipped: 1}, true},
		{session.Coverage{Sessions: 3, Stale: true}, true},
	} {
		a := &app{}
		if a.covered(tc.c); a.partial != tc.want {
			t.Errorf("%+v: partial is %t", tc.c, a.partial)
		}
	}
}

func TestKnownAgent(t *testing.T) {
	for name, meant := range map[string]string{
		"dsh": "", "claude-code": "", "codex": "",
		"foo": "-", "": "-", "archive": "-", "x": "-", "a rather long name": "-",
		"claude": "claude-code", "Claude-Code": "claude-code", "claude_code": "claude-code", "dhs": "dsh", "codx": "codex", "codex-cli": "codex",
	} {
		agent, err := knownAgent(name)
		switch {
		case meant == "" && (err != nil || string(agent) != name):
			t.Errorf("%q: %q, %v", name, agent, err)
		case meant == "":
		case !errors.Is(err, fault.InvalidFilter) || !strings.Contains(err.Error(), "want dsh, claude-code, codex"):
			t.Errorf("%q: %v", name, err)
		case meant == "-" && strings.Contains(err.Error(), "did you mean"), meant != "-" && !strings.HasSuffix(err.Error(), "did you mean "+meant+"?"):
			t.Errorf("%q: %v", name, err)
		}
	}
}
