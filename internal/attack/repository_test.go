package attack

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/toolset"
)

// town is a folder of folders: two repositories with worktrees, and whatever
// somebody has planted who can write to a folder of his own, and now and then to a
// repository.
type town struct {
	t      *testing.T
	dir    string
	names  []string          // of folders in which agents worked
	honest map[string]bool   // those that git itself made, and links to them
	once   map[string]string // the repository of a folder that was proved once
}

func (w *town) at(name string) string { return filepath.Join(w.dir, name) }

func (w *town) git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
	out, err := cmd.Output()
	return strings.TrimSuffix(string(out), "\n"), err
}

func (w *town) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *town) put(text string, name ...string) {
	path := w.at(filepath.Join(name...))
	w.must(os.MkdirAll(filepath.Dir(path), 0o700))
	w.must(os.WriteFile(path, []byte(text), 0o600))
}

// newTown builds two repositories, a and b, with two worktrees each.
func newTown(t *testing.T) *town {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &town{t: t, dir: dir, honest: map[string]bool{}, once: map[string]string{}}
	for _, repo := range []string{"a", "b"} {
		for _, args := range [][]string{{"init", "-q", w.at(repo)}, {"-C", w.at(repo), "commit", "-q", "--allow-empty", "-m", "first"}} {
			_, err := w.git(w.dir, args...)
			w.must(err)
		}
		w.live(repo)
		for _, tree := range []string{repo + "-one", repo + "-two"} {
			_, err := w.git(w.at(repo), "worktree", "add", "-q", "--detach", w.at(tree))
			w.must(err)
			w.live(tree)
		}
	}
	return w
}

func (w *town) live(name string) {
	w.names = append(w.names, name)
	w.honest[name] = true
}

// plant makes one more folder that would like to be one of a repository's, or
// moves one that is.
func (w *town) plant(r *rand.Rand, n int) {
	repo := pick(r, "a", "b")
	tree := repo + pick(r, "-one", "-two")
	name := fmt.Sprint("planted-", n)
	admin := filepath.Join(w.at(repo), ".git", "worktrees", tree)
	w.must(os.MkdirAll(w.at(name), 0o700))
	w.names = append(w.names, name)
	relative := func(path string) string {
		rel, err := filepath.Rel(w.at(name), path)
		w.must(err)
		return rel
	}
	switch r.IntN(15) {
	case 0:
		w.put("gitdir: "+admin+"\n", name, ".git")
	case 1:
		w.put("gitdir: "+relative(admin)+"\n", name, ".git")
	case 2:
		w.must(os.Symlink(filepath.Join(w.at(repo), ".git"), filepath.Join(w.at(name), ".git")))
	case 3:
		w.must(os.Symlink(filepath.Join(w.at(tree), ".git"), filepath.Join(w.at(name), ".git")))
	case 4:
		if os.Link(filepath.Join(w.at(tree), ".git"), filepath.Join(w.at(name), ".git")) != nil {
			w.put("gitdir: "+admin+"\r\n", name, ".git")
		}
	case 5: // a folder that says that it has its repository elsewhere
		w.put("ref: refs/heads/main\n", name, ".git", "HEAD")
		w.put(filepath.Join(w.at(repo), ".git")+"\n", name, ".git", "commondir")
		w.put(filepath.Join(w.at(tree), ".git")+"\n", name, ".git", "gitdir")
	case 6: // a repository that names another one's folders as its worktrees
		_, err := w.git(w.dir, "init", "-q", w.at(name))
		w.must(err)
		w.put(filepath.Join(w.at(tree), ".git")+"\n", name, ".git", "worktrees", tree, "gitdir")
		w.put("../..\n", name, ".git", "worktrees", tree, "commondir")
		w.put("ref: refs/heads/main\n", name, ".git", "worktrees", tree, "HEAD")
	case 7: // the repository names a folder that has one of its own
		_, err := w.git(w.dir, "init", "-q", w.at(name))
		w.must(err)
		w.put(filepath.Join(w.at(name), ".git")+"\n", repo, ".git", "worktrees", "ghost"+name, "gitdir")
		w.put("../..\n", repo, ".git", "worktrees", "ghost"+name, "commondir")
		w.put("ref: refs/heads/main\n", repo, ".git", "worktrees", "ghost"+name, "HEAD")
	case 8: // a copy of a worktree
		w.must(os.CopyFS(w.at(name), os.DirFS(w.at(tree))))
	case 9: // a worktree that was moved without git's knowledge; something else may stand where it was
		if _, err := os.Lstat(filepath.Join(w.at(tree), ".git")); err == nil {
			w.must(os.Remove(w.at(name)))
			w.must(os.Rename(w.at(tree), w.at(name)))
			w.honest[tree] = false
			if r.IntN(2) == 0 {
				w.put(pick(r, "", "gitdir: "+filepath.Join(w.at(pick(r, "a", "b")), ".git", "worktrees", pick(r, "a-one", "b-two"))+"\n"), tree, ".git")
			}
		}
	case 10: // a folder within one
		w.names[len(w.names)-1] = filepath.Join(repo, "inside", name)
		w.must(os.MkdirAll(w.at(w.names[len(w.names)-1]), 0o700))
	case 11: // another spelling
		w.must(os.Remove(w.at(name)))
		w.must(os.Symlink(w.at(pick(r, repo, tree)), w.at(name)))
	case 12: // a link to a link to a folder that is none
		w.must(os.Remove(w.at(name)))
		w.must(os.Symlink(w.at(name+"-away"), w.at(name)))
	case 13: // as a submodule has it
		w.put("gitdir: "+filepath.Join(w.at(repo), ".git", "modules", "m")+"\n", name, ".git")
		w.put("ref: refs/heads/main\n", repo, ".git", "modules", "m", "HEAD")
	case 14: // a worktree that git moved
		w.must(os.Remove(w.at(name)))
		if _, err := w.git(w.at(repo), "worktree", "move", w.at(tree), w.at(name)); err == nil {
			w.honest[name], w.honest[tree] = w.honest[tree], false
		}
	}
}

// owner says what a folder's path leads to, and which repository it belongs to, by
// git's own word from both sides: the folder says whose it is, and that
// repository's list has the folder. A path that leads nowhere is itself, and stays
// with the repository that it belonged to.
func (w *town) owner(name string) (real, repository string) {
	real, err := filepath.EvalSymlinks(w.at(name))
	if err != nil {
		return w.at(name), w.once[name]
	}
	said, err := w.git(real, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir")
	top, common, _ := strings.Cut(said, "\n")
	if err != nil || top != real {
		return real, ""
	}
	listed, err := w.git(w.dir, "--git-dir="+common, "worktree", "list", "--porcelain")
	if err != nil || !slices.Contains(strings.Split(listed, "\n"), "worktree "+real) {
		return real, ""
	}
	w.once[name] = common
	return real, common
}

// together is the rule of the policy `repository`: worktrees of one repository,
// and spellings of one folder.
func (w *town) together() map[[2]string]bool {
	paths, owners := map[string]string{}, map[string]string{}
	for _, name := range w.names {
		paths[name], owners[name] = w.owner(name)
	}
	all := map[[2]string]bool{}
	for _, a := range w.names {
		for _, b := range w.names {
			all[[2]string{a, b}] = a == b || paths[a] == paths[b] || owners[a] != "" && owners[a] == owners[b]
		}
	}
	return all
}

// TestRepositoryPolicyIsNotFooled compares who sees whom, under the policy that
// joins the worktrees of a repository, with what git says from both sides. Nobody
// may see more; what git itself made has to be joined.
func TestRepositoryPolicyIsNotFooled(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Log("not run: git is not installed")
		return
	}
	joined, apart := 0, 0
	for n := range uint64(max(3, min(*calls/100, 300))) {
		at := *seed + n
		r := rand.New(rand.NewPCG(at, 9))
		w := newTown(t)
		for i := range 2 + r.IntN(5) {
			w.plant(r, i)
		}
		var plan []string
		before := map[[2]string]bool{} // pairs that have been together: a folder that is gone stays with its repository
		record := filepath.Join(w.dir, "record.json")
		for round := range 2 {
			h, err := yore.Open(t.Context(), yore.Options{IndexDir: filepath.Join(w.dir, fmt.Sprint("index", round)), Policy: authz.Repository, WorktreeFile: record})
			if err != nil {
				t.Fatal(err)
			}
			for i, name := range w.names {
				l, err := h.Register(session.Header{ID: session.ID(fmt.Sprint("id-", i)), Cwd: w.at(name), CreatedAt: 1})
				if err != nil {
					t.Fatal(err)
				}
				w.must(l.Append([]byte(fmt.Sprintf(`{"type":"user/message","seq":0,"time":1,"data":{"id":"u","role":"user","content":[{"type":"text","text":"zephyr qzin%d."}],"source":{"kind":"user"}},"surfaceOp":"append"}`, i))))
			}
			together := w.together()
			for i, from := range w.names {
				o := h.Tools().Call(t.Context(), toolset.Call{Caller: authz.Caller{Workspace: w.at(from)}, Tool: "session_search", Args: json.RawMessage(`{"query":"zephyr","limit":20}`)})
				for j, to := range w.names {
					pair := [2]string{from, to}
					want := together[pair]
					before[pair] = before[pair] || want
					switch got := strings.Contains(o.Text, fmt.Sprintf("qzin%d.", j)); {
					case got && !want && !before[pair]:
						t.Errorf("seed %d, round %d: from %s one sees %s, which git does not say: %v\n%s", at, round, from, to, plan, o.Text)
					case !got && (i == j || want && w.honest[from] && w.honest[to]):
						t.Errorf("seed %d, round %d: from %s one does not see %s: %v\n%s", at, round, from, to, o.Err, o.Text)
					case got:
						joined++
					default:
						apart++
					}
				}
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			w.plant(r, 10+round) // and the next look, with what was recorded
			plan = w.names
		}
		if t.Failed() {
			return
		}
	}
	if joined < 30 || apart < 30 {
		t.Errorf("%d pairs were joined, %d apart: make better towns", joined, apart)
	}
}
