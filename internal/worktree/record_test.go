package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheRecordIsPrivateAndSmall(t *testing.T) {
	y := newYard(t)
	y.repo("app")
	y.worktree("app", "fix")
	y.mkdir("plain")
	y.want("plain | app")
	if _, err := os.Stat(y.file); err == nil {
		t.Error("a plain folder with one spelling is recorded")
	}
	y.want("app fix")
	info, err := os.Stat(y.file)
	y.do(err)
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	before := info.ModTime()
	y.want("fix app")
	if info, err = os.Stat(y.file); err != nil || info.ModTime() != before {
		t.Errorf("written although nothing changed: %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(y.file))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the record: %v, %v", entries, err)
	}
}

// In doubt about the record each workspace stands for itself, and the record
// stays as it is.
func TestARecordThatCannotBeUsed(t *testing.T) {
	for name, spoil := range map[string]func(y *yard){
		"no JSON":         func(y *yard) { y.do(os.WriteFile(y.file, []byte("{"), 0o600)) },
		"another version": func(y *yard) { y.do(os.WriteFile(y.file, []byte(`{"version":2,"members":[]}`), 0o600)) },
		"empty":           func(y *yard) { y.do(os.WriteFile(y.file, nil, 0o600)) },
		"too long":        func(y *yard) { y.do(os.WriteFile(y.file, make([]byte, maxRecord+1), 0o600)) },
		"a relative path": func(y *yard) {
			y.do(os.WriteFile(y.file, []byte(`{"version":1,"members":[{"path":"app","void":true}]}`), 0o600))
		},
		"a folder": func(y *yard) { y.do(os.Remove(y.file), os.Mkdir(y.file, 0o700)) },
		"a link": func(y *yard) {
			y.do(os.Rename(y.file, y.file+".real"), os.Symlink(y.file+".real", y.file))
		},
		"writable for others": func(y *yard) { y.do(os.Chmod(y.file, 0o622)) },
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.repo("app")
			y.worktree("app", "fix")
			y.want("app fix")
			spoil(y)
			before, _ := os.ReadFile(y.file)
			y.want("app | fix")
			y.want("fix | app")
			after, _ := os.ReadFile(y.file)
			if string(before) != string(after) {
				t.Errorf("the record was changed to %q", after)
			}
			if !strings.Contains(y.log.String(), "cannot be used") {
				t.Errorf("nothing is said of it: %s", y.log.String())
			}
		})
	}
}

// What cannot be recorded is still proved.
func TestARecordThatCannotBeWritten(t *testing.T) {
	y := newYard(t)
	y.symlink("nowhere/at/all", "dangling")
	y.file = y.path("dangling/worktrees.json")
	y.open()
	y.repo("app")
	y.worktree("app", "fix")
	y.want("app fix")
	if !strings.Contains(y.log.String(), "cannot be recorded") {
		t.Errorf("nothing is said of it: %s", y.log.String())
	}
	y.file = ""
	y.open()
	y.want("app fix")
}

func TestSaveMergesWithWhatOthersWrote(t *testing.T) {
	file := filepath.Join(t.TempDir(), "worktrees.json")
	root := t.TempDir()
	g := group{Git: true, Path: filepath.Join(root, "r", ".git"), Mark: "inode:1"}
	at := func(name string) string { return filepath.Join(root, name) }
	var wg sync.WaitGroup
	for _, changes := range [][]member{
		{{Path: at("a"), group: g}},
		{{Path: at("b"), group: g}, {Path: at("a"), Void: true}},
		{{Path: at("a"), group: g}, {Path: at("c"), group: g}}, // a is void by now
	} {
		if err := save(file, changes); err != nil {
			t.Fatal(err)
		}
	}
	b, err := load(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]member{at("a"): {Path: at("a"), Void: true}, at("b"): {Path: at("b"), group: g}, at("c"): {Path: at("c"), group: g}}
	if d := cmp.Diff(want, b.members, cmp.AllowUnexported(member{}, group{})); d != "" {
		t.Error(d)
	}
	// At no time is there half a file.
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				if err := save(file, []member{{Path: at(fmt.Sprintf("%d-%d", i, j)), group: g}}); err != nil {
					t.Error(err)
				}
				if _, err := load(file); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// The record is bounded: the oldest go first, what is void goes last.
func TestBounds(t *testing.T) {
	root := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	g := group{Git: true, Path: root, Mark: "inode:1"}
	var rec record
	rec.Version = recordVersion
	for i := range 2 * maxMembers {
		m := member{Path: filepath.Join(root, fmt.Sprint(i)), group: g}
		if i < 10 {
			m = member{Path: m.Path, Void: true}
		}
		rec.Members = append(rec.Members, m)
	}
	last := rec.Members[len(rec.Members)-1]
	text, err := encode(rec)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Members) > maxMembers || len(got.Members) < maxMembers/2 || got.Members[len(got.Members)-1] != last {
		t.Errorf("%d members, the last %v", len(got.Members), got.Members[len(got.Members)-1])
	}
	for i := range 10 {
		if !got.Members[i].Void {
			t.Fatalf("void members were dropped: %v", got.Members[i])
		}
	}
	for i := range rec.Members {
		rec.Members[i] = member{Path: rec.Members[i].Path, Void: true}
	}
	if text, err = encode(rec); err != nil {
		t.Fatal(err)
	}
	if got, err = decode(text); err != nil || len(got.Members) != maxMembers || got.Members[maxMembers-1].Path != last.Path {
		t.Errorf("all void: %d members, %v", len(got.Members), err)
	}
}

// Paths that JSON would change are not recorded: two of them could become one.
func TestUnrecordablePaths(t *testing.T) {
	b := &book{members: map[string]member{}}
	g := group{Git: true, Path: "/r/.git", Mark: "inode:1"}
	for _, path := range []string{"/r/\xff", "/r/" + strings.Repeat("x", maxPath)} {
		b.put(path, g)
		b.put("/r", group{Git: true, Path: path, Mark: "inode:1"})
	}
	if len(b.changes) > 0 {
		t.Errorf("recorded: %v", b.changes)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"version":1,"members":[{"path":"/a","git":true,"of":"/a/.git","mark":"inode:1 made:2","device":3},{"path":"/b","void":true}]}`))
	f.Add([]byte(`{"version":1,"members":[{"path":"/a"}]}`))
	f.Add([]byte(`{"version":1,"members":[{"path":"/a","void":true},{"path":"/a","void":true}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rec, err := decode(text)
		if err != nil || len(rec.Members) > maxMembers {
			return
		}
		again, err := encode(rec)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decode(again)
		if err != nil {
			t.Fatalf("%q: %v", again, err)
		}
		if !slices.Equal(rec.Members, back.Members) && len(text) < maxRecord/2 {
			t.Errorf("%v became %v", rec.Members, back.Members)
		}
	})
}

func FuzzParsePointer(f *testing.F) {
	for _, s := range []string{"gitdir: /a/.git/worktrees/b\n", "gitdir: ../x\r\n", "gitdir:/a", "gitdir: \n", "gitdir: a\nb\n", "gitdir: a\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, ok := parsePointer(text, "gitdir: ")
		if ok && (path == "" || strings.ContainsAny(path, "\x00\r\n") || !strings.HasPrefix(text, "gitdir: ")) {
			t.Errorf("%q gives %q", text, path)
		}
	})
}
