package yore_test

import (
	"errors"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// A live session's workspace is what a log could state.
func TestRegisterWantsAnAbsoluteWorkspace(t *testing.T) {
	h, err := yore.Open(t.Context(), yore.Options{IndexDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for cwd, ok := range map[string]bool{
		"": true, "/": true, "/srv/code": true, `C:\code`: true, "d:/code": true, `\\host\share`: true,
		"relative": false, "./here": false, "../up": false, "~": false, "c:": false, "c:code": false, "1:/code": false, " /srv": false,
	} {
		l, err := h.Register(session.Header{ID: "s", Cwd: cwd})
		if ok && err != nil || !ok && !errors.Is(err, fault.CorruptSession) {
			t.Errorf("workspace %q: %v", cwd, err)
		}
		if l != nil {
			if err := l.Release(); err != nil {
				t.Error(err)
			}
		}
	}
}
