package worktree

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// yard is a folder with real repositories and a record of its own.
type yard struct {
	t     *testing.T
	dir   string
	file  string
	clock time.Time
	log   bytes.Buffer
	r     *Resolver
}

func newYard(t *testing.T) *yard {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{t: t, dir: dir, file: filepath.Join(t.TempDir(), "config", "worktrees.json"), clock: time.Now()}
	y.open()
	return y
}

// open forgets everything but the file.
func (y *yard) open() {
	y.r = New(Options{File: y.file, Now: func() time.Time { return y.clock }, Logger: slog.New(slog.NewTextHandler(&y.log, nil))})
}

// path gives an absolute path in the yard, and leaves an absolute one alone.
func (y *yard) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return y.dir + string(filepath.Separator) + filepath.FromSlash(name)
}

// git runs the real git in a folder of the yard, whatever the environment says.
func (y *yard) git(in string, args ...string) {
	y.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = y.path(in)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + y.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
	if out, err := cmd.CombinedOutput(); err != nil {
		y.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// repo makes a repository with one commit.
func (y *yard) repo(name string) {
	y.t.Helper()
	y.git(".", "init", "-q", y.path(name))
	y.git(name, "commit", "-q", "--allow-empty", "-m", "first")
}

func (y *yard) worktree(repo, name string) {
	y.t.Helper()
	y.git(repo, "worktree", "add", "-q", "--detach", y.path(name))
}

func (y *yard) do(errs ...error) {
	y.t.Helper()
	if err := errors.Join(errs...); err != nil {
		y.t.Fatal(err)
	}
}

func (y *yard) write(name, text string) {
	y.t.Helper()
	y.do(os.MkdirAll(filepath.Dir(y.path(name)), 0o700), os.WriteFile(y.path(name), []byte(text), 0o600))
}

func (y *yard) mkdir(name string)         { y.t.Helper(); y.do(os.MkdirAll(y.path(name), 0o700)) }
func (y *yard) remove(name string)        { y.t.Helper(); y.do(os.RemoveAll(y.path(name))) }
func (y *yard) rename(from, to string)    { y.t.Helper(); y.do(os.Rename(y.path(from), y.path(to))) }
func (y *yard) symlink(target, at string) { y.t.Helper(); y.do(os.Symlink(y.path(target), y.path(at))) }

// quiet lets a folder look as if it had been left alone for a day.
func (y *yard) quiet(name string) {
	y.t.Helper()
	then := time.Now().Add(-24 * time.Hour)
	y.do(os.Chtimes(y.path(name), then, then))
}

// same asks for the workspaces that are the same as the first one, out of all.
func (y *yard) same(all ...string) []string {
	y.t.Helper()
	y.clock = y.clock.Add(fresh)
	var paths []string
	for _, name := range all {
		paths = append(paths, y.path(name))
	}
	got, err := y.r.Same(y.t.Context(), paths[0], func(context.Context) ([]string, error) { return paths, nil })
	if err != nil {
		y.t.Fatal(err)
	}
	for i, p := range got {
		got[i] = strings.TrimPrefix(p, y.dir+string(filepath.Separator))
	}
	return got
}

// want asks as the first workspace and compares: names after "|" are candidates
// that must be left out.
func (y *yard) want(line string) {
	y.t.Helper()
	in, out, _ := strings.Cut(line, "|")
	members, others := strings.Fields(in), strings.Fields(out)
	got := y.same(append(slices.Clone(members), others...)...)
	slices.Sort(members)
	if d := cmp.Diff(members, got); d != "" {
		y.t.Errorf("%s (-want +got):\n%s\nlog: %s", line, d, y.log.String())
	}
}

func TestWorktreesOfOneRepository(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.worktree("app", "app-fix")
	y.worktree("app", "app/.trees/inside")
	y.repo("other")
	y.worktree("other", "other-fix")
	y.repo("app2") // a prefix of nothing and a sibling by name
	y.mkdir("app/src")
	y.mkdir("app-fix/src")
	y.repo("app/nested")
	y.mkdir("plain")
	y.mkdir("App")
	others := " | other other-fix app2 app/src app-fix/src app/nested plain App appx app-fi"
	y.want("app app-fix app/.trees/inside" + others)
	y.want("app-fix app app/.trees/inside" + others)
	y.want("app/.trees/inside app app-fix" + others)
	y.want("other other-fix | app app-fix app/nested")
	y.want("app/nested | app app-fix app/.trees/inside")
	y.want("app/src | app app-fix app-fix/src")
	y.want("plain | app App")
	y.want("App | app app-fix")
	y.want("nowhere | app app-fix")
	if got := y.same("", "app"); !slices.Equal(got, []string{""}) && len(got) != 1 {
		t.Errorf("no path: %v", got)
	}
}

// Only what is asked for as a candidate is returned.
func TestOnlyCandidates(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.worktree("app", "one")
	y.worktree("app", "two")
	y.want("one two | app2")
}

func TestRelativeWorktrees(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.worktree("app", "fix")
	// As git writes them with worktree.useRelativePaths, since 2.48.
	y.write("fix/.git", "gitdir: ../app/.git/worktrees/fix\n")
	y.write("app/.git/worktrees/fix/gitdir", "../../../../fix/.git\n")
	y.want("app fix")
	y.want("fix app")
}

func TestPlanted(t *testing.T) {
	for name, plant := range map[string]func(y *yard){
		"a .git file that names the victim's worktree": func(y *yard) {
			y.write("evil/.git", "gitdir: "+y.path("app/.git/worktrees/fix")+"\n")
		},
		"a .git file that names the victim's repository": func(y *yard) {
			y.write("evil/.git", "gitdir: "+y.path("app/.git")+"\n")
		},
		"a copied worktree": func(y *yard) {
			y.do(os.CopyFS(y.path("evil"), os.DirFS(y.path("fix"))))
		},
		"a hard link of the victim's .git file": func(y *yard) {
			y.mkdir("evil")
			y.do(os.Link(y.path("fix/.git"), y.path("evil/.git")))
		},
		"a link to the victim's .git file": func(y *yard) {
			y.mkdir("evil")
			y.symlink("fix/.git", "evil/.git")
		},
		"a link to the victim's .git folder": func(y *yard) {
			y.mkdir("evil")
			y.symlink("app/.git", "evil/.git")
		},
		"a .git folder whose commondir leads to the victim": func(y *yard) {
			y.git(".", "init", "-q", y.path("evil"))
			y.write("evil/.git/commondir", y.path("app/.git")+"\n")
			y.write("evil/.git/gitdir", y.path("evil/.git")+"\n")
		},
		"a worktrees folder of its own that leads to the victim": func(y *yard) {
			y.write("evil/x/worktrees/w/commondir", y.path("app/.git")+"\n")
			y.write("evil/x/worktrees/w/gitdir", y.path("evil/.git")+"\n")
			y.write("evil/.git", "gitdir: "+y.path("evil/x/worktrees/w")+"\n")
		},
		"a repository that names the victim's folders as its worktrees": func(y *yard) {
			y.repo("evil")
			for _, w := range []string{"app", "fix"} {
				y.write("evil/.git/worktrees/"+w+"/gitdir", y.path(w+"/.git")+"\n")
				y.write("evil/.git/worktrees/"+w+"/commondir", "../..\n")
				y.write("evil/.git/worktrees/"+w+"/HEAD", "ref: refs/heads/main\n")
			}
		},
		"a worktrees folder that is a link to the victim's": func(y *yard) {
			y.repo("evil")
			y.symlink("app/.git/worktrees", "evil/.git/worktrees")
		},
		"core.worktree": func(y *yard) {
			y.repo("evil")
			y.git("evil", "config", "core.worktree", y.path("app"))
		},
		"alternates": func(y *yard) {
			y.repo("evil")
			y.write("evil/.git/objects/info/alternates", y.path("app/.git/objects")+"\n")
		},
		"a clone": func(y *yard) {
			y.git(".", "clone", "-q", y.path("app"), y.path("evil"))
		},
		"a copy of everything, times included": func(y *yard) {
			y.do(os.CopyFS(y.path("evil"), os.DirFS(y.path("app"))))
			info, err := os.Stat(y.path("app/.git/description"))
			y.do(err, os.Chtimes(y.path("evil/.git/description"), info.ModTime(), info.ModTime()))
		},
		"a folder called .git that is no repository": func(y *yard) {
			y.write("evil/.git/worktrees/fix/gitdir", y.path("fix/.git"))
		},
		"text that is no pointer": func(y *yard) {
			y.write("evil/.git", "gitdir: "+y.path("app/.git/worktrees/fix")+"\ngitdir: x\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.repo("app")
			y.worktree("app", "fix")
			y.worktree("app", "gone")
			y.want("app fix gone")
			y.git("app", "worktree", "remove", y.path("gone"))
			plant(y)
			y.want("app fix gone | evil")
			y.want("fix app gone | evil")
			y.want("evil | app fix gone")
			// Nor does it depend on what is recorded, or on who asks first.
			y.remove(y.file)
			y.want("evil | app fix gone")
			y.want("app fix | evil gone")
		})
	}
}

// A planted file in a folder of the victim's own proves nothing either.
func TestPlantedInAFolderBelow(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.worktree("app", "fix")
	y.mkdir("fix/sub")
	y.write("fix/sub/.git", "gitdir: "+y.path("app/.git/worktrees/fix")+"\n")
	y.want("app fix | fix/sub")
	y.want("fix/sub | app fix")
}

func TestSpellings(t *testing.T) {
	y := newYard(t)
	y.mkdir("data/plain/sub")
	y.mkdir("data/other")
	y.symlink("data", "code")
	y.symlink("data/plain", "short")
	y.do(os.Symlink("data/../short", y.path("chain")))
	y.symlink("nowhere", "dangling")
	y.do(os.Symlink("ring", y.path("ring")))
	y.want("data/plain code/plain short chain data/plain/ data/../data/plain | data/other data code/plain/sub short/sub data/plain/sub dangling ring")
	y.want("short code/plain data/plain | data/other code/other data")
	y.want("code/plain/sub short/sub | data/plain")
	y.want("dangling | data/plain nowhere")
	y.want("ring | data/plain")

	y.repo("data/app")
	y.worktree("data/app", "data/fix")
	y.want("code/app data/app data/fix code/fix | data code short")
	y.want("data/fix code/app | data")
}

// Who works in a folder can plant links in it.
func TestLinksInAWorkspaceAreNotBelieved(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.worktree("app", "fix")
	y.mkdir("evil/deep")
	y.symlink("app", "evil/deep/door")
	y.symlink("evil/deep/door", "detour") // leads through the planted one
	y.want("app fix | evil evil/deep/door detour")
	y.want("evil/deep/door | app fix evil")
	y.want("detour | app fix evil")
	// Outside of every workspace that is known it is a spelling like another.
	y.want("app evil/deep/door detour fix")
	// The caller's own folder counts as one, and so do worktrees nobody asked about.
	y.symlink("evil", "app/door")
	y.want("evil | app/door app")
	y.symlink("evil", "fix/door")
	y.want("evil | app app/door")
	y.want("app | fix/door app/door")
	y.symlink("app", "fix/home")
	y.want("app | fix/home")
}

// A worktree counts with every part of its proof and with none missing.
func TestEachPartOfTheProof(t *testing.T) {
	for name, spoil := range map[string]func(y *yard){
		"gitdir names another":  func(y *yard) { y.write("app/.git/worktrees/fix/gitdir", y.path("app/.git")+"\n") },
		"gitdir names a folder": func(y *yard) { y.write("app/.git/worktrees/fix/gitdir", y.path("fix")+"\n") },
		"no gitdir":             func(y *yard) { y.remove("app/.git/worktrees/fix/gitdir") },
		"commondir leads away": func(y *yard) {
			y.repo("other")
			y.write("app/.git/worktrees/fix/commondir", y.path("other/.git")+"\n")
		},
		"no commondir": func(y *yard) { y.remove("app/.git/worktrees/fix/commondir") },
		"commondir is a link": func(y *yard) {
			y.rename("app/.git/worktrees/fix/commondir", "commondir")
			y.symlink("commondir", "app/.git/worktrees/fix/commondir")
		},
		"not among the worktrees": func(y *yard) {
			y.rename("app/.git/worktrees", "app/.git/elsewhere")
			y.write("fix/.git", "gitdir: "+y.path("app/.git/elsewhere/fix")+"\n")
		},
		"the common directory belongs to another": func(y *yard) { y.write("app/.git/commondir", ".\n") },
		"no HEAD":    func(y *yard) { y.remove("app/.git/HEAD") },
		"no objects": func(y *yard) { y.remove("app/.git/objects") },
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.repo("app")
			y.worktree("app", "fix")
			y.want("app fix")
			y.remove(y.file)
			spoil(y)
			y.want("app | fix other")
			y.want("fix | app other")
		})
	}
}

func TestRemovedAndPruned(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.worktree("app", "removed")
	y.worktree("app", "pruned")
	y.worktree("app", "unseen")
	y.want("app removed pruned")
	y.git("app", "worktree", "remove", y.path("removed"))
	y.remove("pruned")
	y.git("app", "worktree", "prune")
	y.open()
	y.want("app removed pruned")
	y.want("removed app pruned") // the folder is gone under a running server
	y.worktree("app", "later")
	y.want("later removed pruned app | never")

	// A worktree is recorded before it has any session.
	y.git("app", "worktree", "remove", y.path("unseen"))
	y.want("app unseen")

	// Without the record nothing tells that they belonged together.
	y.do(os.Remove(y.file))
	y.want("app later | removed pruned unseen")
	y.want("removed | app")
}

func TestTheRepositoryIsGone(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.worktree("app", "fix")
	y.want("app fix")
	y.remove("app")
	y.remove("fix")
	y.want("fix | app")
	y.want("app | fix")
}

func TestMovedWorktree(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.worktree("app", "old")
	y.want("app old")
	y.git("app", "worktree", "move", y.path("old"), y.path("new"))
	y.want("app old new")
	y.want("new old app")

	// Renamed behind git's back, it is not named back until it is repaired.
	y.rename("new", "newer")
	y.want("app old new | newer")
	y.want("newer | app old new")
	y.git("app", "worktree", "repair", y.path("newer"))
	y.want("app old new newer")
}

// Two worktrees that take each other's names are still two of the same.
func TestSwappedNames(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.worktree("app", "a")
	y.worktree("app", "b")
	y.want("app a b")
	y.rename("a", "c")
	y.rename("b", "a")
	y.rename("c", "b")
	y.want("app | a b") // neither is named back
	y.git("app", "worktree", "repair", y.path("a"), y.path("b"))
	y.want("app a b")
}

func TestRenamedRepository(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.worktree("app", "fix")
	y.worktree("app", "gone")
	y.want("app fix gone")
	y.git("app", "worktree", "remove", y.path("gone"))
	y.rename("app", "app-new")
	y.want("fix | app-new gone") // it names a repository that is not there
	y.want("app-new app gone | fix")
	y.git("app-new", "worktree", "repair", y.path("fix"))
	y.want("app-new app gone fix")
	y.want("fix app app-new gone")

	// Something else under the old name is something else.
	y.repo("app")
	y.want("app-new fix gone | app")
	y.want("app | app-new fix gone")
}

// While the repository is where it was, nobody can pass for it renamed.
func TestNobodyPassesForTheRenamedRepository(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.repo("evil")
	y.want("app | evil")
	was, ok := repository(y.path("app/.git"))
	if !ok {
		t.Fatal("no repository")
	}
	twin := was
	twin.Path = y.path("evil/.git")
	if was.renamedTo(twin) {
		t.Error("a twin by every mark takes over what is still there")
	}
	y.rename("app", "app-new")
	for name, change := range map[string]func(*group){
		"another inode":      func(g *group) { g.Mark = strings.Replace(g.Mark, "inode:", "inode:9", 1) },
		"another time":       func(g *group) { g.Mark += "0" },
		"another device":     func(g *group) { g.Device++ },
		"a plain folder":     func(g *group) { g.Git = false },
		"nothing but inodes": func(g *group) { g.Mark, _, _ = strings.Cut(g.Mark, " "); was.Mark = g.Mark },
	} {
		kept := was
		now, ok := repository(y.path("app-new/.git"))
		if !ok || !was.renamedTo(now) {
			t.Fatalf("%s: %+v is not %+v renamed", name, now, was)
		}
		change(&now)
		if was.renamedTo(now) {
			t.Errorf("%s: believed", name)
		}
		was = kept
	}
}

func TestReusedByAnotherRepository(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.repo("other")
	y.worktree("app", "task")
	y.worktree("other", "other-fix")
	y.want("app task | other")
	y.git("app", "worktree", "remove", y.path("task"))
	y.want("app task")
	y.worktree("other", "task")
	// Sessions of both lie under one name: it belongs to neither.
	y.want("other other-fix | task app")
	y.want("app | task other")
	y.want("task | app other other-fix")
	y.symlink("task", "alias")
	y.want("other other-fix | task alias")
	y.want("alias | other other-fix task")
	// Nor when the other one has gone again, or the first is back.
	y.git("other", "worktree", "remove", y.path("task"))
	y.open()
	y.want("app | task")
	y.want("other other-fix | task")
	y.want("task | app other")
	y.worktree("app", "task")
	y.want("app | task")
	y.want("task | app")
	if !strings.Contains(y.log.String(), "taken by something else") {
		t.Errorf("nothing is said of it: %s", y.log.String())
	}
}

// It does not matter which of the two repositories looks first.
func TestReusedSeenFromTheFirst(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.repo("other")
	y.worktree("app", "task")
	y.want("app task")
	y.git("app", "worktree", "remove", y.path("task"))
	y.repo("task")
	y.want("app | task other")
	y.remove("task")
	y.want("app | task")
}

func TestReusedByAPlainFolder(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.worktree("app", "task")
	y.worktree("app", "broken")
	y.want("app task broken")
	y.git("app", "worktree", "remove", y.path("task"))
	y.mkdir("task") // for a moment: git makes worktrees step by step
	y.want("app broken | task")
	y.remove("task")
	y.want("app broken task")
	y.mkdir("task")
	y.quiet("task")
	y.want("app broken | task")
	y.remove("task")
	y.want("app broken | task")

	// A worktree that still names the repository is not taken by anything.
	y.remove("app/.git/worktrees/broken")
	y.quiet("broken")
	y.want("app | broken")
	y.remove("broken")
	y.want("app broken | task")
}

func TestReusedByALink(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.repo("victim")
	y.worktree("app", "task")
	y.symlink("app", "short")
	y.want("app task short | victim")
	y.git("app", "worktree", "remove", y.path("task"))
	y.symlink("victim", "task")
	y.want("victim | task app")
	y.want("task | victim app")
	y.do(os.Remove(y.path("short")))
	y.want("app short")
	y.symlink("victim", "short")
	y.want("victim | short app")
	y.want("app | short task victim")
}

// The spelling of a plain folder is remembered as well, and stays with it when
// the folder becomes a repository.
func TestALinkThatIsTurned(t *testing.T) {
	y := newYard(t)
	y.mkdir("a")
	y.mkdir("b")
	y.symlink("a", "door")
	y.want("a door | b")
	y.do(os.Remove(y.path("door")))
	y.want("a door | b")
	y.symlink("a", "door")
	y.git(".", "init", "-q", y.path("a"))
	y.want("a door | b")
	y.do(os.Remove(y.path("door")))
	y.symlink("b", "door")
	y.want("b | door a")
	y.want("a | door b")
	y.want("door | a b")
}

// A repository that is made anew in the same place is another one.
func TestMadeAnewInTheSamePlace(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.worktree("app", "gone")
	y.want("app gone")
	y.git("app", "worktree", "remove", y.path("gone"))
	y.remove("app")
	y.repo("app")
	y.worktree("app", "fresh")
	y.want("fresh | app gone")
	y.want("app | gone fresh")
}

// The inode alone does not make it the same: file systems give it out again.
func TestTheSameInodeIsNotTheSameRepository(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.worktree("app", "gone")
	y.want("app gone")
	y.git("app", "worktree", "remove", y.path("gone"))
	later := time.Now().Add(time.Hour)
	y.do(os.Chtimes(y.path("app/.git/description"), later, later))
	y.want("app | gone")
}

func TestBareRepository(t *testing.T) {
	y := newYard(t)
	y.repo("seed")
	y.git(".", "clone", "-q", "--bare", y.path("seed"), y.path("store.git"))
	y.worktree("store.git", "one")
	y.worktree("store.git", "two")
	y.want("one two | store.git seed")
	y.want("store.git | one two seed")
	// The habit of one folder with a bare repository and its worktrees.
	y.git(".", "clone", "-q", "--bare", y.path("seed"), y.path("hub/.bare"))
	y.write("hub/.git", "gitdir: ./.bare\n")
	y.worktree("hub/.bare", "hub/main")
	y.worktree("hub/.bare", "hub/topic")
	y.want("hub/main hub/topic | hub hub/.bare one seed")
	y.want("hub | hub/main hub/topic")
}

func TestSubmodules(t *testing.T) {
	y := newYard(t)
	y.repo("lib")
	y.repo("app")
	y.git("app", "submodule", "--quiet", "add", y.path("lib"), "lib")
	y.git("app", "commit", "-q", "-m", "lib")
	y.worktree("app", "fix")
	y.git("fix", "submodule", "--quiet", "update", "--init")
	y.want("app fix | lib app/lib fix/lib")
	y.want("app/lib | app fix lib fix/lib")
	// Worktrees of a submodule are members of each other, its checkout is none.
	y.worktree("app/lib", "lib-one")
	y.worktree("app/lib", "lib-two")
	y.want("lib-one lib-two | app/lib lib app fix")
	y.git(".", "init", "-q", "--separate-git-dir", y.path("apart.git"), y.path("apart"))
	y.want("apart | apart.git app")
}

// Git's own variables are not read.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.mkdir("evil")
	t.Setenv("GIT_DIR", y.path("app/.git"))
	t.Setenv("GIT_WORK_TREE", y.path("evil"))
	t.Setenv("GIT_COMMON_DIR", y.path("app/.git"))
	y.want("evil | app")
	y.want("app | evil")
}

func TestAnswersAreFreshOrGivenAgain(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.worktree("app", "fix")
	asked := 0
	ask := func() int {
		t.Helper()
		set, err := y.r.Same(t.Context(), y.path("app"), func(context.Context) ([]string, error) {
			asked++
			return []string{y.path("fix")}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		set[0] = "overwritten by whom it was given to"
		return len(set)
	}
	if a, b := ask(), ask(); a != 2 || b != 2 || asked != 1 {
		t.Errorf("%d, %d members, asked %d times", a, b, asked)
	}
	y.clock = y.clock.Add(fresh)
	if n := ask(); n != 2 || asked != 2 {
		t.Errorf("%d members, asked %d times", n, asked)
	}
	if got := y.same("app", "fix"); !slices.Equal(got, []string{"app", "fix"}) {
		t.Error(got)
	}
}

func TestFailures(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	broken := errors.New("no list")
	if _, err := y.r.Same(t.Context(), y.path("app"), func(context.Context) ([]string, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := y.r.Same(ctx, y.path("app"), func(context.Context) ([]string, error) { return []string{"/x"}, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestRandomYards compares random yards with what git was told to do: a model
// that never looks at the file system. Members are the same to each other in
// both directions, whoever asks.
func TestRandomYards(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 3))
		y := newYard(t)
		repos := []string{"p", "pp", "p-q"}
		owner := map[string]string{} // live or removed worktrees
		live := map[string]bool{}
		void := map[string]bool{}
		for _, name := range repos {
			y.repo(name)
			owner[name], live[name] = name, true
		}
		slots := []string{"t/a", "t/b", "t/a b", "p/c", "pp/c"}
		slots[2] = "t/ab"
		all := append(slices.Clone(repos), slots...)
		check := func() {
			t.Helper()
			for _, w := range all {
				want := []string{w}
				for _, c := range all {
					if c != w && owner[w] != "" && owner[c] == owner[w] && !void[c] && !void[w] {
						want = append(want, c)
					}
				}
				slices.Sort(want)
				got := y.same(append([]string{w}, all...)...)
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("seed %d: from %s (-want +got):\n%s", seed, w, d)
				}
			}
		}
		for range 12 {
			w, repo := slots[r.IntN(len(slots))], repos[r.IntN(len(repos))]
			if live[w] {
				y.git(owner[w], "worktree", "remove", "--force", y.path(w))
				live[w] = false
			} else {
				y.worktree(repo, w)
				void[w] = void[w] || owner[w] != "" && owner[w] != repo
				owner[w], live[w] = repo, true
			}
			check()
		}
	}
}

func TestCaseTwinsOnAFileSystemThatIgnoresCase(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	_, err := os.Stat(y.path("APP"))
	if folded := err == nil; folded {
		y.want("app APP")
		return
	}
	if runtime.GOOS == "windows" {
		t.Error("Windows tells case apart here")
	}
	y.repo("APP")
	y.want("app | APP App")
}
