package identity

import (
	"context"
	"errors"
	"testing"

	"github.com/yorehq/yore/fault"
)

// Cursor's editor starts servers in the user's home; the window's folder is told
// by a variable, and one of several is none.
func TestCursorWorkspace(t *testing.T) {
	home := t.TempDir()
	for _, tc := range []struct{ dir, open, want string }{
		{home, "/w/proj", "/w/proj"},
		{home, "/w/proj/", "/w/proj"},
		{"/", "/w/proj", "/w/proj"},
		{"/w/here", "", "/w/here"},
		{home, "", ""},
		{"/", "", ""},
		{home, "/", ""},
		{home, "/w/a,/w/b", ""},
		{home, "/w/a:/w/b", ""},
		{home, "relative", ""},
	} {
		r, err := New(Options{Dir: tc.dir, Getenv: func(name string) string {
			return map[string]string{"HOME": home, "WORKSPACE_FOLDER_PATHS": tc.open}[name]
		}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Caller(context.Background(), Call{Client: "cursor-vscode"})
		if got.Workspace != tc.want || (err != nil) != (tc.want == "") || err != nil && !errors.Is(err, fault.MissingAgent) {
			t.Errorf("in %s with %q: %q, %v; want %q", tc.dir, tc.open, got.Workspace, err, tc.want)
		}
	}
}
