package attack

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/toolset"
)

// perMove is how many calls are made behind each move.
const perMove = 3

// mover is somebody who moves logs about while they are asked about. Whose a log
// is its header says, wherever it lies.
type mover struct {
	*rand.Rand
	t   *testing.T
	dir string
	put []string // logs that were taken away, outside of all roots
}

// logs are the files below the roots, and a folder of each root that may take one.
func (m *mover) logs() (files []string) {
	m.t.Helper()
	for root := range 3 {
		err := filepath.WalkDir(filepath.Join(m.dir, fmt.Sprint(root)), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			m.t.Fatal(err)
		}
	}
	slices.Sort(files)
	return files
}

// to renames a file, folders made; one that is there stays, and nothing is moved.
func (m *mover) to(from, to string) {
	m.t.Helper()
	if _, err := os.Lstat(to); err == nil {
		return
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.Rename(from, to)); err != nil {
		m.t.Fatal(err)
	}
}

// move moves a log and says how.
func (m *mover) move() string {
	m.t.Helper()
	files := m.logs()
	a, b := pick(m.Rand, files...), pick(m.Rand, files...)
	rel, err := filepath.Rel(m.dir, a)
	if err != nil {
		m.t.Fatal(err)
	}
	root, below := rel[:1], rel[2:]
	switch n := m.IntN(8); {
	case n < 2: // another name
		to := filepath.Join(filepath.Dir(filepath.Dir(a)), "moved-"+marker(m.Rand), filepath.Base(a))
		if root == "2" {
			to = filepath.Join(filepath.Dir(a), marker(m.Rand)+".jsonl")
		}
		m.to(a, to)
		return "renamed " + rel
	case n < 4: // another root
		other := map[string]string{"0": "1", "1": "0", "2": "0"}[root]
		m.to(a, filepath.Join(m.dir, other, below))
		return "moved to root " + other + ": " + rel
	case n < 6: // each in the other's place
		if a != b {
			if err := errors.Join(os.Rename(a, a+"~"), os.Rename(b, a), os.Rename(a+"~", b)); err != nil {
				m.t.Fatal(err)
			}
		}
		return "swapped " + a + " and " + b
	case n < 7 && len(m.put) < 4:
		away := filepath.Join(m.dir, "away", fmt.Sprint(len(m.put)), below)
		m.to(a, away)
		m.put = append(m.put, away, a)
		return "taken away: " + rel
	}
	if len(m.put) == 0 {
		return "nothing"
	}
	away, back := m.put[len(m.put)-2], m.put[len(m.put)-1]
	m.put = m.put[:len(m.put)-2]
	m.to(away, back)
	return "put back: " + back
}

// named notes what Claude Code's logs are called now: the file's name is the
// session's id, so a session in another's place has that one's.
func (m *mover) named(w *world) {
	m.t.Helper()
	for _, path := range m.logs() {
		if id, isClaude := strings.CutPrefix(strings.TrimSuffix(path, ".jsonl"), filepath.Join(m.dir, "2", "project")+"/"); isClaude {
			text, err := os.ReadFile(path)
			if err != nil {
				m.t.Fatal(err)
			}
			for _, s := range w.specs {
				if strings.Contains(string(text), s.words[0]) && !slices.Contains(s.words, id) {
					s.words = append(s.words, markers(id)...)
				}
			}
		}
	}
}

// TestAuthorityOfMovedLogs moves logs between the calls: renames them, moves them
// to another root, puts each of two in the other's place, takes them away and
// back. No word of a foreign session gets out, and what is answered is what an
// index says that is made of the logs as they lie now.
func TestAuthorityOfMovedLogs(t *testing.T) {
	moves, answered := 0, 0
	for n := uint64(0); moves*perMove < max(*calls/2, 60); n++ {
		at := *seed + n
		t.Run(fmt.Sprint("seed ", at), func(t *testing.T) {
			world, dir := newWorld(at), t.TempDir()
			h := world.open(t, dir, nil)
			defer h.Close()
			a := newAsker(world, 2)
			m := &mover{Rand: rand.New(rand.NewPCG(at, 3)), t: t, dir: dir}
			for range 8 {
				moves++
				did := m.move()
				m.named(world)
				fresh, err := yore.Open(t.Context(), yore.Options{Sources: roots(dir), IndexDir: t.TempDir()})
				if err != nil {
					t.Fatal(err)
				}
				world.register(t, fresh, nil)
				for range perMove {
					c := a.caller()
					tool, args := a.call()
					call := toolset.Call{Caller: c, Tool: tool, Args: args}
					got, want := h.Tools().Call(t.Context(), call), fresh.Tools().Call(t.Context(), call)
					text := whole(got)
					if word := leaked(text, a.world.foreign(c, string(args)+c.Workspace, false)); word != "" {
						t.Errorf("%s: %s %s as %s gives %q away:\n%s", did, tool, args, who(c), word, text)
					}
					// By now every folder has been looked at.
					if _, err := h.Refresh(t.Context(), session.Scope{All: true}, nil); err != nil {
						t.Fatal(err)
					}
					text = whole(h.Tools().Call(t.Context(), call))
					if mine, theirs := apart(text, whole(want)); text != whole(want) {
						t.Errorf("%s: %s %s as %s:\n%s\nand by an index made anew:\n%s", did, tool, args, who(c), mine, theirs)
					}
					if got.Err == nil {
						answered++
					}
				}
				if err := fresh.Close(); err != nil {
					t.Fatal(err)
				}
				if t.Failed() {
					return
				}
			}
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d moves, %d answers", moves, answered)
	if answered < moves/2 {
		t.Errorf("%d answers behind %d moves: ask better ones", answered, moves)
	}
}

// TestAuthorityOverAStealthyLog writes another workspace's log over one that was
// read: in the same file, of the same size, with the same time. No stat tells, and
// what opens the log meets bytes that are not its session's.
func TestAuthorityOverAStealthyLog(t *testing.T) {
	dir := t.TempDir()
	var both [2]*spec
	for i, cwd := range []string{"/w/app", "/w-app"} {
		both[i] = &spec{words: []string{"qzaaaaaaaa" + string(rune('a'+i)), "qzbbbbbbbb" + string(rune('a'+i)), "qzcccccccc" + string(rune('a'+i)), "qzdddddddd" + string(rune('a'+i))}}
		both[i].header = session.Header{Agent: session.DSH, ID: "qzsamesame1", Cwd: cwd, CreatedAt: 1_772_000_000_000}
	}
	world := &world{specs: both[:1]}
	h := world.open(t, dir, nil)
	defer h.Close()
	ask := func(workspace string, foreign []string) (all string) {
		t.Helper()
		for _, call := range [][2]string{
			{"session_search", `{"query":"zephyr"}`}, {"session_event_search", `{"session_id":"qzsamesame1","query":"zephyr"}`}, {"session_trace", `{"session_id":"qzsamesame1"}`},
			{"session_event_read", `{"session_id":"qzsamesame1","seq":1,"after":5}`}, {"session_event_read", `{"session_id":"qzsamesame1","seq":4}`},
			{"session_event_trace", `{"session_id":"qzsamesame1","seq":5}`}, {"session_search", `{"query":"` + foreign[0] + `"}`},
		} {
			text := whole(h.Tools().Call(t.Context(), toolset.Call{Caller: authz.Caller{Workspace: workspace}, Tool: call[0], Args: []byte(call[1])}))
			if word := leaked(text, slices.DeleteFunc(slices.Clone(foreign), func(w string) bool { return strings.Contains(call[1], w) })); word != "" {
				t.Errorf("%s %s in %s gives %q away:\n%s", call[0], call[1], workspace, word, text)
			}
			all += text + "\n"
		}
		return all
	}
	if all := ask("/w/app", both[1].words); !strings.Contains(all, both[0].words[0]) {
		t.Fatalf("nothing is found to begin with:\n%s", all)
	}
	path := filepath.Join(dir, "0", both[0].path())
	was, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(both[1].text())) != was.Size() {
		t.Fatalf("%d bytes over %d", len(both[1].text()), was.Size())
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte(both[1].text()), 0)
	if err := errors.Join(err, f.Close(), os.Chtimes(path, was.ModTime(), was.ModTime())); err != nil {
		t.Fatal(err)
	}
	ask("/w/app", both[1].words)
	ask("/w-app", both[0].words)
	// Now a stat tells.
	if err := os.Chtimes(path, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	ask("/w/app", both[1].words)
	if all := ask("/w-app", both[0].words); !strings.Contains(all, both[1].words[0]) {
		t.Errorf("whose log it is now does not find it:\n%s", all)
	}
}
