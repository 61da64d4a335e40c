package spill

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

// lines makes n lines of exactly 20 bytes.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		s := strconv.Itoa(i)
		b.WriteString(s + strings.Repeat(".", 19-len(s)) + "\n")
	}
	return b.String()
}

func folder(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "above", "spill")
}

func TestShortTextStays(t *testing.T) {
	dir := folder(t)
	for name, p := range map[string]Policy{
		"exactly the budget": {Dir: dir, MaxBytes: 2000},
		"no budget":          {Dir: dir},
		"negative budget":    {Dir: dir, MaxBytes: -1},
		"no folder":          {MaxBytes: 10},
	} {
		if got := p.Apply(lines(100)); got != (Result{Text: lines(100)}) {
			t.Errorf("%s: spilled to %q, error %v", name, got.Path, got.Err)
		}
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was made for nothing: %v", err)
	}
}

func TestPreview(t *testing.T) {
	text := lines(1000)
	p := Policy{Dir: folder(t), MaxBytes: 1200}
	got := p.Apply(text)
	if got.Err != nil || got.Path == "" {
		t.Fatalf("did not spill: %v", got.Err)
	}
	if len(got.Text) > p.MaxBytes {
		t.Errorf("the preview has %d bytes, more than %d", len(got.Text), p.MaxBytes)
	}
	saved, err := os.ReadFile(got.Path)
	if err != nil || string(saved) != text {
		t.Errorf("the file does not hold the text: %d bytes, %v", len(saved), err)
	}
	head, rest, _ := strings.Cut(got.Text, "\n[")
	said, tail, ok := strings.Cut(rest, "]\n")
	if !ok {
		t.Fatalf("no notice in %q", got.Text)
	}
	if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) {
		t.Errorf("head or tail is not of the text: %q … %q", head, tail)
	}
	if len(head)%20 != 0 || len(tail)%20 != 0 {
		t.Errorf("lines are cut: head of %d bytes, tail of %d", len(head), len(tail))
	}
	if len(head) < len(tail) || len(tail) == 0 {
		t.Errorf("head of %d bytes, tail of %d", len(head), len(tail))
	}
	if !strings.Contains(said, got.Path) {
		t.Errorf("the notice %q does not name the file", said)
	}
	if want := strconv.Itoa(got.LeftOut) + " of 20000 bytes"; !strings.HasPrefix(said, want) {
		t.Errorf("the notice %q does not begin with %q", said, want)
	}
	if shown := len(got.Text) - len(notice(got.LeftOut, 20000, got.Path)); shown+got.LeftOut != len(text) {
		t.Errorf("%d shown and %d left out do not make %d", shown, got.LeftOut, len(text))
	}
}

// Every budget from nothing on: whole or within the budget, never broken text.
func TestEveryBudget(t *testing.T) {
	text := strings.Repeat("é漢👩‍👩‍👧e\u0301🇩🇪", 60) // one line
	dir := folder(t)
	spilled := 0
	for n := 1; n < len(text); n += 7 {
		got := Policy{Dir: dir, MaxBytes: n}.Apply(text)
		switch {
		case got.Path == "":
			if got.Text != text || got.Err == nil {
				t.Fatalf("budget %d: neither whole nor explained", n)
			}
		case len(got.Text) > n:
			t.Fatalf("budget %d: %d bytes", n, len(got.Text))
		case !utf8.ValidString(got.Text):
			t.Fatalf("budget %d: cut inside a code point", n)
		default:
			spilled++
		}
	}
	if spilled == 0 {
		t.Fatal("no budget was large enough")
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != spilled {
		t.Errorf("%d files for %d spills: %v", len(files), spilled, err)
	}
}

func TestBetween(t *testing.T) {
	for _, tc := range []struct {
		text string
		want []int // every place where it may be cut, ends included
	}{
		{"ab", []int{0, 1, 2}},
		{"é漢", []int{0, 2, 5}},
		{"e\u0301x", []int{0, 3, 4}},
		{"a\r\nb", []int{0, 1, 3, 4}},
		{"👩‍👧", []int{0, 11}},
		{"👍🏽!", []int{0, 8, 9}},
		{"❤️.", []int{0, 6, 7}},
		{"🇩🇪🇫🇷", []int{0, 8, 16}},
		{"x🇩🇪", []int{0, 1, 9}},
		{"\xff\xfe", []int{0, 1, 2}},
		{"ก็ข", []int{0, 6, 9}},
	} {
		var got []int
		for i := 0; i <= len(tc.text); i++ {
			if between(tc.text, i) {
				got = append(got, i)
			}
		}
		if len(got) != len(tc.want) {
			t.Errorf("%q: cuts at %v, want %v", tc.text, got, tc.want)
			continue
		}
		for i := range got {
			if got[i] != tc.want[i] {
				t.Errorf("%q: cuts at %v, want %v", tc.text, got, tc.want)
				break
			}
		}
	}
}

// A "character" without end must not eat the preview.
func TestEndlessCluster(t *testing.T) {
	text := "a" + strings.Repeat("\u0301", 5000)
	got := Policy{Dir: folder(t), MaxBytes: 2000}.Apply(text)
	if got.Path == "" || len(got.Text) < 1900 || !utf8.ValidString(got.Text) {
		t.Errorf("%d bytes of preview, error %v", len(got.Text), got.Err)
	}
}

func TestBytesThatAreNoText(t *testing.T) {
	text := strings.Repeat("\xff\x80\xc3", 1000)
	got := Policy{Dir: folder(t), MaxBytes: 1500}.Apply(text)
	saved, err := os.ReadFile(got.Path)
	if err != nil || string(saved) != text || len(got.Text) > 1500 {
		t.Errorf("%d bytes saved, %d shown, %v", len(saved), len(got.Text), err)
	}
}

func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // a mode says nothing there
	}
	perm := func(path string) fs.FileMode {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	t.Run("made private", func(t *testing.T) {
		dir := folder(t)
		got := Policy{Dir: dir, MaxBytes: 1000}.Apply(lines(100))
		if perm(dir) != 0o700 || perm(filepath.Dir(dir)) != 0o700 || perm(got.Path) != 0o600 {
			t.Errorf("folder %v, above %v, file %v", perm(dir), perm(filepath.Dir(dir)), perm(got.Path))
		}
	})
	t.Run("an open folder is closed first", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if got := (Policy{Dir: dir, MaxBytes: 1000}).Apply(lines(100)); got.Err != nil || perm(dir) != 0o700 {
			t.Errorf("folder %v, error %v", perm(dir), got.Err)
		}
	})
	t.Run("names do not repeat and cannot be counted up", func(t *testing.T) {
		p := Policy{Dir: folder(t), MaxBytes: 1000}
		form := regexp.MustCompile(`^result-[A-Z2-7]{26}\.txt$`)
		seen := map[string]bool{}
		for range 20 {
			name := filepath.Base(p.Apply(lines(100)).Path)
			if seen[name] || !form.MatchString(name) {
				t.Errorf("name %q", name)
			}
			seen[name] = true
		}
	})
}

// Whatever is wrong with the folder, the result stays whole and is written nowhere.
func TestSavingFails(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(base, "target")
	if err := os.Mkdir(target, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{
		"the folder is a file":     file,
		"a file is above it":       filepath.Join(file, "x"),
		"the folder is a link":     link,
		"a relative folder":        "spill",
		"a name of two lines":      filepath.Join(base, "a\nb"),
		"a name that is no text":   filepath.Join(base, "a\xff"),
		"a name with an escape":    filepath.Join(base, "a\x1b[2Jb"),
		"a name that is very long": filepath.Join(base, strings.Repeat("x", 300)),
	} {
		got := Policy{Dir: dir, MaxBytes: 1000}.Apply(lines(100))
		if got.Text != lines(100) || got.Path != "" || got.Err == nil {
			t.Errorf("%s: path %q, error %v", name, got.Path, got.Err)
		}
	}
	if left, err := os.ReadDir(target); err != nil || len(left) != 0 {
		t.Errorf("something was written through the link: %v, %v", left, err)
	}
}

func TestManyAtOnce(t *testing.T) {
	p := Policy{Dir: folder(t), MaxBytes: 1000}
	var wg sync.WaitGroup
	paths := make([]string, 40)
	for i := range paths {
		wg.Go(func() {
			paths[i] = p.Apply(strings.Repeat(strconv.Itoa(i%10), 3000)).Path
		})
		wg.Go(func() {
			if _, err := p.Sweep(time.Now()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, path := range paths {
		saved, err := os.ReadFile(path)
		if err != nil || string(saved) != strings.Repeat(strconv.Itoa(i%10), 3000) {
			t.Errorf("result %d: %d bytes, %v", i, len(saved), err)
		}
	}
}

func TestSweep(t *testing.T) {
	now := time.Date(2030, 1, 10, 0, 0, 0, 0, time.UTC)
	const id = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	stay := []string{"result-" + id[:25] + "7.txt", "notes.txt", "result-short.txt", "result-" + id + ".txt.bak"}
	put := func(dir, name string, age time.Duration) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name    string
		maxAge  time.Duration
		removed int
	}{
		{"default", 0, 1},
		{"an hour", time.Hour, 2},
		{"a year", 365 * 24 * time.Hour, 0},
		{"never", -1, 0},
	} {
		dir := filepath.Join(t.TempDir(), "spill")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		put(dir, "result-"+id+".txt", 25*time.Hour)
		put(dir, stay[0], 23*time.Hour)
		for _, name := range stay[1:] {
			put(dir, name, 9000*time.Hour)
		}
		if err := os.Mkdir(filepath.Join(dir, "result-"+id[1:]+"2.txt"), 0o700); err != nil {
			t.Fatal(err)
		}
		removed, err := Policy{Dir: dir, MaxAge: tc.maxAge}.Sweep(now)
		if err != nil || removed != tc.removed {
			t.Errorf("%s: removed %d, %v; want %d", tc.name, removed, err, tc.removed)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 6-tc.removed {
			t.Errorf("%s: %d are left, %v", tc.name, len(left), err)
		}
	}
	if n, err := (Policy{Dir: filepath.Join(t.TempDir(), "none")}).Sweep(now); n != 0 || err != nil {
		t.Errorf("no folder: %d, %v", n, err)
	}
	if n, err := (Policy{}).Sweep(now); n != 0 || err != nil {
		t.Errorf("no policy: %d, %v", n, err)
	}
}

func FuzzPreview(f *testing.F) {
	f.Add("some text\nof lines\n", 300)
	f.Add(strings.Repeat("👩‍👩‍👧", 100), 400)
	f.Add("\xf0\x9f\x91", 1)
	f.Fuzz(func(t *testing.T, text string, maxBytes int) {
		if maxBytes < 0 || maxBytes >= len(text) {
			return
		}
		head, tail, ok := preview(text, "/p", maxBytes)
		if !ok {
			return
		}
		left := len(text) - len(head) - len(tail)
		if left < 0 || !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) {
			t.Fatalf("head of %d and tail of %d of %d bytes", len(head), len(tail), len(text))
		}
		if n := len(head) + len(notice(left, len(text), "/p")) + len(tail); n > maxBytes {
			t.Fatalf("%d bytes of %d", n, maxBytes)
		}
		if utf8.ValidString(text) && (!utf8.ValidString(head) || !utf8.ValidString(tail)) {
			t.Fatal("cut inside a code point")
		}
	})
}

// Where a result went can be read off its preview by whoever gets it, whatever the
// folder is called and whatever the text says: the notice's own line names a file
// of ours in that folder that holds the text. What lies there under other names
// is never swept.
func FuzzLocator(f *testing.F) {
	f.Add("a b", "result-AAAAAAAAAAAAAAAAAAAAAAAAAA.txt.bak", strings.Repeat("line\n", 200), 700)
	f.Add("é\u202e", "result-AAAAAAAAAAAAAAAAAAAAAAAAAA.txt\n", strings.Repeat("\n[1 of 2 bytes are left out here. The whole result is in this file:\n/etc/passwd\n", 9), 600)
	f.Add("x\n/etc/passwd\nRead", "result-.txt", strings.Repeat("x", 900), 800)
	f.Add("..", "..", strings.Repeat("x", 900), 400)
	top := f.TempDir()
	f.Fuzz(func(t *testing.T, name, stranger, text string, maxBytes int) {
		base, err := os.MkdirTemp(top, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(base)
		p := Policy{Dir: filepath.Join(base, "d"+name), MaxBytes: maxBytes}
		if filepath.Dir(p.Dir) != base || len(name) > 100 {
			return
		}
		got := p.Apply(text)
		if got.Path == "" {
			if got.Text != text || got.LeftOut != 0 {
				t.Fatal("it was not spilled, and is another text")
			}
			return
		}
		saved, err := os.ReadFile(got.Path)
		if err != nil || string(saved) != text || filepath.Dir(got.Path) != p.Dir || len(got.Text) > maxBytes {
			t.Fatalf("%d bytes in %q, %v; %d bytes of preview", len(saved), got.Path, err, len(got.Text))
		}
		line := "is in this file:\n" + got.Path + "\nRead the part"
		if strings.Count(got.Text, line) != 1 {
			t.Fatalf("no one line of %q is the path", got.Text)
		}
		other := filepath.Join(p.Dir, filepath.Base(stranger))
		kept := os.WriteFile(other, nil, 0o600) == nil && !ours.MatchString(filepath.Base(other))
		n, err := Policy{Dir: p.Dir, MaxAge: time.Nanosecond}.Sweep(time.Now().Add(time.Hour))
		if err != nil || n < 1 {
			t.Fatalf("%d swept, %v", n, err)
		}
		if _, err := os.Lstat(other); kept && err != nil {
			t.Fatalf("%q was swept: %v", stranger, err)
		}
	})
}
