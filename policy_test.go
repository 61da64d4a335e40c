package yore_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// runGit runs the real git in a folder, without anybody's configuration.
func runGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// TestRepositoryPolicy gives a host's sessions in three worktrees and two other
// folders, and asks as each of them, by two processes' worth of histories.
func TestRepositoryPolicy(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	runGit(t, dir, "init", "-q", at("app"))
	runGit(t, at("app"), "commit", "-q", "--allow-empty", "-m", "first")
	runGit(t, at("app"), "worktree", "add", "-q", "--detach", at("fix"))
	runGit(t, at("app"), "worktree", "add", "-q", "--detach", at("gone"))
	runGit(t, dir, "init", "-q", at("other"))
	folders := []string{"app", "fix", "gone", "other", "fix2"}
	open := func(policy authz.Policy) *yore.History {
		t.Helper()
		h, err := yore.Open(t.Context(), yore.Options{IndexDir: t.TempDir(), Policy: policy, WorktreeFile: at("record.json")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Close() })
		for i, name := range folders {
			l, err := h.Register(session.Header{ID: session.ID("in-" + name), Cwd: at(name), CreatedAt: int64(i)})
			if err != nil {
				t.Fatal(err)
			}
			line := fmt.Sprintf(`{"type":"user/message","seq":0,"time":1,"data":{"id":"u","role":"user","content":[{"type":"text","text":"zephyr %s"}],"source":{"kind":"user"}},"surfaceOp":"append"}`, name)
			if err := l.Append([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		return h
	}
	sees := func(h *yore.History, from string) []string {
		t.Helper()
		view, err := h.View(t.Context(), authz.Caller{Workspace: at(from)})
		if err != nil {
			t.Fatal(err)
		}
		page, err := view.SearchSessions(t.Context(), query.SessionSearch{Query: "zephyr", Match: query.Literal, Limit: 9})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, hit := range page.Hits {
			names = append(names, filepath.Base(hit.Info.Header.Cwd))
		}
		slices.Sort(names)
		return names
	}
	check := func(h *yore.History, want map[string][]string) {
		t.Helper()
		got := map[string][]string{}
		for _, from := range folders {
			got[from] = sees(h, from)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("who sees what (-want +got):\n%s", d)
		}
	}
	three := []string{"app", "fix", "gone"}
	alone := map[string][]string{"app": {"app"}, "fix": {"fix"}, "gone": {"gone"}, "other": {"other"}, "fix2": {"fix2"}}
	joined := map[string][]string{"app": three, "fix": three, "gone": three, "other": {"other"}, "fix2": {"fix2"}}
	check(open(authz.Exact), alone)
	if _, err := os.Stat(at("record.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the exact policy records something: %v", err)
	}
	check(open(authz.Repository), joined)
	runGit(t, at("app"), "worktree", "remove", at("gone"))
	check(open(authz.Repository), joined)
	check(open(authz.Exact), alone)
}

func TestTheOwnersPolicyIsNoHostsChoice(t *testing.T) {
	for _, p := range []authz.Policy{authz.Owner, authz.Repository + 1} {
		if h, err := yore.Open(t.Context(), yore.Options{IndexDir: t.TempDir(), Policy: p}); !errors.Is(err, fault.InvalidConfig) {
			t.Errorf("policy %d: %v, %v", p, h, err)
		}
	}
}
