package packaging

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Needs       string
		Steps       []struct{ Uses, Run string }
	}
}

func workflows(t *testing.T) map[string]workflow {
	t.Helper()
	paths, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	all := map[string]workflow{}
	for _, path := range paths {
		var w workflow
		if err := yaml.Unmarshal([]byte(file(t, path)), &w); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[filepath.Base(path)] = w
	}
	return all
}

// TestPinnedActions: an action is named by a commit, for whoever holds its
// repository can move a tag; the version beside it is for people. One action has
// one commit.
func TestPinnedActions(t *testing.T) {
	pinned := regexp.MustCompile(`^([\w.-]+/[\w./-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+$`)
	commits := map[string]string{}
	for name := range workflows(t) {
		for _, line := range strings.Split(file(t, "../.github/workflows/"+name), "\n") {
			_, uses, ok := strings.Cut(line, "uses: ")
			if !ok {
				continue
			}
			m := pinned.FindStringSubmatch(uses)
			if m == nil {
				t.Errorf("%s uses %s: want OWNER/NAME@COMMIT # vVERSION", name, uses)
				continue
			}
			if before := commits[m[1]]; before != "" && before != m[2] {
				t.Errorf("%s is %s and %s", m[1], before, m[2])
			}
			commits[m[1]] = m[2]
		}
	}
	if len(commits) < 7 {
		t.Errorf("only %d actions found: the test looks in the wrong place", len(commits))
	}
}

// TestPermissions: a workflow gives nothing by itself, each job says what its
// steps need, and the job that runs what it has just built, as root, can publish
// nothing and comes before all that can.
func TestPermissions(t *testing.T) {
	for name, w := range workflows(t) {
		if len(w.Permissions) != 0 || !strings.Contains(file(t, "../.github/workflows/"+name), "\npermissions: {}\n") {
			t.Errorf("%s gives %v to every job", name, w.Permissions)
		}
		for job, j := range w.Jobs {
			writes := ""
			for scope, kind := range j.Permissions {
				if kind != "read" {
					writes += " " + scope
				}
			}
			if len(j.Permissions) == 0 {
				t.Errorf("%s: %s does not say what it may", name, job)
			}
			if writes != "" && j.Needs == "" {
				t.Errorf("%s: %s may write%s and waits for nothing", name, job, writes)
			}
			for _, s := range j.Steps {
				if strings.Contains(s.Run, "sudo ") && writes != "" {
					t.Errorf("%s: %s may write%s and runs %s", name, job, writes, s.Run)
				}
			}
		}
	}
}

// TestOneGoreleaser: the release machine runs the version that is tried.
func TestOneGoreleaser(t *testing.T) {
	m := regexp.MustCompile(`version=(\S+) toolchain=(\S+)`).FindStringSubmatch(file(t, "goreleaser.sh"))
	if m == nil {
		t.Fatal("goreleaser.sh names no version")
	}
	text := file(t, "../.github/workflows/release.yml")
	for _, want := range []string{fmt.Sprintf("goreleaser/v2@%s\n", m[1]), fmt.Sprintf("GOTOOLCHAIN: %s }", m[2])} {
		if !strings.Contains(text, want) {
			t.Errorf("release.yml does not say %q", want)
		}
	}
}
