package forget

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

var day = time.Date(2026, 11, 30, 23, 30, 0, 0, time.FixedZone("", -3600))

func key(id string) session.Key { return session.Key{Agent: session.Claude, ID: session.ID(id)} }

func now(t *testing.T, l *List) *Set {
	t.Helper()
	s, err := l.Now()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAddAndRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config", "yore", "forgotten")
	l, other := New(path), New(path)
	if s := now(t, l); s.Len() != 0 || s.Sum() != 0 || s.Has(key("a")) {
		t.Errorf("an absent list = %d sessions, sum %d", s.Len(), s.Sum())
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Error("looking made the folder")
	}
	if err := l.Add([]session.Key{key("a"), key("b/sub"), key("a")}, day); err != nil {
		t.Fatal(err)
	}
	s := now(t, other)
	if s.Len() != 2 || !s.Has(key("a")) || !s.Has(key("b/sub")) || s.Has(key("b")) || s.Since(key("a")) != "2026-12-01" {
		t.Errorf("list = %v", s.since)
	}
	if s.Has(session.Key{Agent: session.Codex, ID: "a"}) {
		t.Error("another agent's session of the same id is forgotten too")
	}
	if err := other.Remove([]session.Key{key("a"), key("never")}); err != nil {
		t.Fatal(err)
	}
	if s := now(t, l); s.Len() != 1 || s.Has(key("a")) || s.Sum() == 0 {
		t.Errorf("after removal: %v", s.since)
	}
	if err := l.Remove([]session.Key{key("b/sub")}); err != nil {
		t.Fatal(err)
	}
	if s := now(t, other); s.Len() != 0 || s.Sum() != 0 {
		t.Errorf("after all were removed: %v, sum %d", s.since, s.Sum())
	}
	if err := l.Add([]session.Key{key("a")}, day); err != nil || !now(t, l).Has(key("a")) {
		t.Errorf("forgotten once more: %v", err)
	}
	text, err := os.ReadFile(path)
	if err != nil || bytes.Contains(text, []byte("sub")) || bytes.Contains(text, []byte("claude")) {
		t.Errorf("the list shows whom it forgets: %q, %v", text, err)
	}
	if runtime.GOOS != "windows" {
		for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700 | os.ModeDir} {
			if info, err := os.Stat(name); err != nil || info.Mode() != want {
				t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
			}
		}
	}
}

// TestSalt: two lists do not tell whether they forget the same session.
func TestSalt(t *testing.T) {
	var lines []string
	for range 2 {
		path := filepath.Join(t.TempDir(), "forgotten")
		if err := New(path).Add([]session.Key{key("a")}, day); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(path)
		lines = append(lines, string(text[bytes.IndexByte(text, '+'):]))
	}
	if lines[0] == lines[1] {
		t.Errorf("both say %q", lines[0])
	}
}

// TestManyAtOnce adds from many processes' worth of lists to one that is not
// there yet. None may be lost.
func TestManyAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "forgotten")
	const writers, each = 16, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			l := New(path)
			for i := range each {
				if err := l.Add([]session.Key{key(fmt.Sprint(w, "-", i))}, day); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s := now(t, New(path))
	for w := range writers {
		for i := range each {
			if !s.Has(key(fmt.Sprint(w, "-", i))) {
				t.Errorf("%d-%d is lost", w, i)
			}
		}
	}
	if s.Len() != writers*each {
		t.Errorf("%d sessions, want %d", s.Len(), writers*each)
	}
	if names, _ := filepath.Glob(path + "*"); len(names) != 1 {
		t.Errorf("files left: %v", names)
	}
}

// TestCutShort ends the file at every byte: what stands whole before counts, the
// rest does not, and what is added behind it does.
func TestCutShort(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	if err := New(whole).Add([]session.Key{key("a"), key("b")}, day); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	first := bytes.IndexByte(text, '\n') + 1
	lines := bytes.Split(text[first:], []byte("\n"))
	endOfA := first + len(lines[0]) + 1 + len(lines[1])
	for cut := first; cut <= len(text); cut++ {
		path := filepath.Join(dir, fmt.Sprint("cut", cut))
		if err := os.WriteFile(path, text[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		l := New(path)
		s, err := l.Now()
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if got, want := s.Has(key("a")), cut >= endOfA; got != want {
			t.Errorf("cut at %d: a forgotten = %v, want %v", cut, got, want)
		}
		if err := l.Add([]session.Key{key("c")}, day); err != nil {
			t.Fatal(err)
		}
		if s := now(t, New(path)); !s.Has(key("c")) || s.Has(key("a")) != (cut >= endOfA) {
			t.Errorf("cut at %d, then added to: %v", cut, s.since)
		}
	}
}

// TestUnusable: a list that cannot be understood is never an empty one.
func TestUnusable(t *testing.T) {
	hash := strings.Repeat("ab", 32)
	for name, text := range map[string]string{
		"empty":         "",
		"newer":         "yore forgets 2 SALT\n",
		"no salt":       "yore forgets 1 \n",
		"cut heading":   "yore forgets 1 SA",
		"a longer line": "yore forgets 1 SALT\n+ " + hash + "ab 2026-01-01\n",
		"a stranger":    "yore forgets 1 SALT\n+ " + hash + " 2026-01-01\nsession-id\n",
		"capitals":      "yore forgets 1 SALT\n- " + strings.ToUpper(hash) + "\n",
	} {
		path := filepath.Join(t.TempDir(), "forgotten")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := New(path).Now(); !errors.Is(err, fault.InvalidConfig) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
		if err := New(path).Add([]session.Key{key("a")}, day); !errors.Is(err, fault.InvalidConfig) {
			t.Errorf("%s: Add = %v", name, err)
		}
		if after, _ := os.ReadFile(path); string(after) != text {
			t.Errorf("%s: it was written to", name)
		}
	}
	if s, err := New(t.TempDir()).Now(); !errors.Is(err, fault.InvalidConfig) {
		t.Errorf("a folder: %v, %v", s, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	path := filepath.Join(t.TempDir(), "forgotten")
	if err := New(path).Add([]session.Key{key("a")}, day); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o622); err != nil {
		t.Fatal(err)
	}
	if s, err := New(path).Now(); !errors.Is(err, fault.InvalidConfig) {
		t.Errorf("one that others can write: %v, %v", s, err)
	}
}

func TestNone(t *testing.T) {
	var l *List
	if s := now(t, l); s.Len() != 0 || s.Has(key("a")) {
		t.Error("no list forgets something")
	}
	if err := l.Add([]session.Key{key("a")}, day); !errors.Is(err, fault.InvalidConfig) {
		t.Errorf("Add to no list = %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(heading + "SALT\n+ " + strings.Repeat("0a", 32) + " 2026-01-01\n\n- " + strings.Repeat("0a", 32) + "\n+ 0"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := decode(text)
		if err == nil && (s.Len() == 0) != (s.Sum() == 0) {
			t.Errorf("%d sessions, sum %d", s.Len(), s.Sum())
		}
	})
}
