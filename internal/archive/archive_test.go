package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/archive"
	"github.com/yorehq/yore/reader"
	format "github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/reader/claude"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

const workspace = "/w/one"

// store is a folder of DSH logs and an archive beside it.
type store struct {
	t         *testing.T
	root, dir string
}

func newStore(t *testing.T) *store {
	return &store{t, t.TempDir(), filepath.Join(t.TempDir(), "kept")}
}

func (s *store) path(id string) string {
	return filepath.Join(s.root, "--w-one--", id, "session.jsonl")
}

func header(id string) string {
	return fmt.Sprintf(`{"type":"session","version":0,"id":%q,"createdAt":1790000000000,"cwd":%q,"delegationDepth":0}`+"\n", id, workspace)
}

func user(seq int, text string) string {
	return fmt.Sprintf(`{"type":"user/message","seq":%d,"time":%d,"data":{"id":"u-%d","role":"user","content":[{"type":"text","text":%q}],"source":{"kind":"user"}},"surfaceOp":"append"}`+"\n",
		seq, 1790000000000+seq, seq, text)
}

// summary replaces the messages from one to another.
func summary(seq, from, to int) string {
	var cited []string
	for i := from; i <= to; i++ {
		cited = append(cited, fmt.Sprint(i))
	}
	line := strings.TrimSuffix(user(seq, "in short"), `"append"}`+"\n")
	return line + fmt.Sprintf(`{"op":"replace","start":%d,"end":%d},"sourceEventSeqs":[%s]}`+"\n", from, to, strings.Join(cited, ","))
}

func (s *store) write(id string, lines ...string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(id)), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path(id), []byte(strings.Join(lines, "")), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *store) append(id string, lines ...string) {
	s.t.Helper()
	f, err := os.OpenFile(s.path(id), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(strings.Join(lines, ""))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *store) archiver() *archive.Archiver {
	s.t.Helper()
	a, err := archive.New(s.dir, []archive.Root{{Reader: dsh.New(), Path: s.root}})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// counts is how many sessions a run treated how.
type counts map[archive.Outcome]int

func (s *store) run(want counts) archive.Report {
	s.t.Helper()
	report, err := s.archiver().Run(s.t.Context(), nil, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	got := counts{}
	for o, n := range report.Count {
		if n > 0 {
			got[archive.Outcome(o)] = n
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("outcomes (-want +got):\n%s\n%v", diff, report.Skips)
	}
	return report
}

// kept is the archived log of a session.
func (s *store) kept(id string) reader.Source {
	s.t.Helper()
	h := session.Header{Agent: session.DSH, ID: session.ID(id), CreatedAt: 1790000000000, Cwd: workspace}
	return reader.Source{Agent: format.Agent, Root: s.dir, Path: format.Path(s.dir, h), Header: h}
}

// natives are the bytes that the archive has of a session's events.
func (s *store) natives(id string) []string {
	s.t.Helper()
	var all []string
	_, err := format.New().Window(context.Background(), s.kept(id), session.Checkpoint{}, 0, 1<<40, session.Every(), func(raw session.Raw) error {
		all = append(all, string(raw.Native)+"\n")
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

func TestGrowth(t *testing.T) {
	s := newStore(t)
	lines := []string{user(0, "zero"), user(1, "one"), user(2, "two"), summary(3, 1, 2), user(4, "four"), summary(5, 3, 4)}
	s.write("a", header("a"), lines[0], lines[1])
	s.run(counts{archive.Added: 1})
	s.run(counts{archive.Unchanged: 1})
	// Growth that needs nothing earlier, half a line, and one that replaces what came before.
	s.append("a", lines[2], lines[3][:20])
	s.run(counts{archive.Continued: 1})
	s.run(counts{archive.Unchanged: 1})
	if diff := cmp.Diff(lines[:3], s.natives("a")); diff != "" {
		t.Errorf("(-written +archived):\n%s", diff)
	}
	s.append("a", lines[3][20:])
	s.run(counts{archive.Continued: 1})
	s.append("a", lines[4:]...)
	s.run(counts{archive.Continued: 1})
	if diff := cmp.Diff(lines, s.natives("a")); diff != "" {
		t.Errorf("(-written +archived):\n%s", diff)
	}
	// In steps or at once, the same events.
	b := *s
	b.dir = filepath.Join(t.TempDir(), "again")
	b.run(counts{archive.Added: 1})
	at := func(s *store) []session.Event {
		events, _, err := readertest.ReadFrom(format.New(), s.kept("a"), reader.Position{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range events {
			events[i].Place = session.Place{}
		}
		return events
	}
	if diff := cmp.Diff(at(&b), at(s)); diff != "" {
		t.Errorf("(-at once +in steps):\n%s", diff)
	}
}

func TestRewrite(t *testing.T) {
	s := newStore(t)
	s.write("a", header("a"), user(0, "zero"), user(1, "one"))
	s.write("b", header("b"), user(0, "zero"))
	s.run(counts{archive.Added: 2})
	s.write("a", header("a"), user(0, "other"))
	s.run(counts{archive.Rewritten: 1, archive.Unchanged: 1})
	if diff := cmp.Diff([]string{user(0, "other")}, s.natives("a")); diff != "" {
		t.Errorf("(-written +archived):\n%s", diff)
	}
	// A damaged file of the archive is made anew, wherever it is damaged at its end.
	path := s.kept("b").Path
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 5, 20, len(whole) / 2, len(whole) - 1} {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		s.run(counts{archive.Rewritten: 1, archive.Unchanged: 1})
		if again, err := os.ReadFile(path); err != nil || !bytes.Equal(whole, again) {
			t.Errorf("cut at %d: not what it was, %v", n, err)
		}
	}
}

// What the archive has survives what happens to the original.
func TestOriginalIsGoneOrBroken(t *testing.T) {
	s := newStore(t)
	s.write("gone", header("gone"), user(0, "kept"))
	s.write("broken", header("broken"), user(0, "kept"))
	s.write("empty", header("empty"))
	s.run(counts{archive.Added: 3})
	if err := os.RemoveAll(filepath.Dir(s.path("gone"))); err != nil {
		t.Fatal(err)
	}
	// A surface rule: the replaced event is not on the surface.
	s.append("broken", summary(1, 7, 7))
	report := s.run(counts{archive.Skipped: 1, archive.Unchanged: 1})
	if len(report.Skips) != 1 || report.Skips[0].ID != "broken" || report.Skips[0].Path != s.path("broken") || report.Skips[0].Reason == "" {
		t.Errorf("skips %+v", report.Skips)
	}
	for _, id := range []string{"gone", "broken"} {
		if diff := cmp.Diff([]string{user(0, "kept")}, s.natives(id)); diff != "" {
			t.Errorf("%s (-written +archived):\n%s", id, diff)
		}
	}
	st, err := s.archiver().Status(t.Context(), nil)
	if err != nil || st.Sessions != 3 || st.Alone != 1 || st.Behind != 1 || st.Current != 1 || st.Missing != 0 || st.Damaged != 0 {
		t.Errorf("status %+v, %v", st, err)
	}
}

func TestContradiction(t *testing.T) {
	s := newStore(t)
	s.write("a", header("a"), user(0, "x"))
	other := t.TempDir()
	path := filepath.Join(other, "--w-one--", "a", "session.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(header("a"), "1790000000000", "5", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := archive.New(s.dir, []archive.Root{{Reader: dsh.New(), Path: s.root}, {Reader: dsh.New(), Path: other}})
	if err != nil {
		t.Fatal(err)
	}
	report, err := a.Run(t.Context(), nil, nil)
	if err != nil || report.Count[archive.Skipped] != 2 || report.Count[archive.Added] != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// The folder is the person's alone, files carry the original's time, and
// nothing else is left there.
func TestFiles(t *testing.T) {
	s := newStore(t)
	s.write("a", header("a"), user(0, "zero"))
	changed := time.Now().Add(-26 * 24 * time.Hour).Truncate(time.Second)
	if err := os.Chtimes(s.path("a"), changed, changed); err != nil {
		t.Fatal(err)
	}
	s.run(counts{archive.Added: 1})
	stale := filepath.Join(filepath.Dir(s.kept("a").Path), ".yore-1")
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(stale, changed, changed); err != nil {
		t.Fatal(err)
	}
	s.run(counts{archive.Unchanged: 1})
	files := 0
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		} else {
			files++
			if !info.ModTime().Equal(changed) {
				t.Errorf("%s is of %v, the original of %v", path, info.ModTime(), changed)
			}
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil || files != 1 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestNeverInAnAgentsFolder(t *testing.T) {
	root := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{root, filepath.Join(root, "a", "b"), filepath.Dir(root), filepath.Join(link, "x"), "relative", ""} {
		if _, err := archive.New(dir, []archive.Root{{Reader: dsh.New(), Path: root}}); !errors.Is(err, fault.InvalidConfig) {
			t.Errorf("%q: %v", dir, err)
		}
	}
	if _, err := archive.New(root+"-archive", []archive.Root{{Reader: dsh.New(), Path: root}}); err != nil {
		t.Errorf("beside it: %v", err)
	}
}

// The agent's folder is the same before and after.
func TestAgentsFilesAreNotTouched(t *testing.T) {
	for root, r := range map[string]reader.Reader{
		"../../testdata/claude/projects":       claude.New(),
		"../../testdata/golden/corpus/bad-gap": dsh.New(),
	} {
		mine := t.TempDir()
		if err := os.CopyFS(mine, os.DirFS(root)); err != nil {
			t.Fatal(err)
		}
		look := func() map[string]string {
			all := map[string]string{}
			err := filepath.WalkDir(mine, func(path string, d fs.DirEntry, err error) error {
				info, err2 := d.Info()
				if err := errors.Join(err, err2); err != nil {
					return err
				}
				all[path] = fmt.Sprint(info.Mode(), info.Size(), info.ModTime().UnixNano())
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		before := look()
		a, err := archive.New(filepath.Join(t.TempDir(), "kept"), []archive.Root{{Reader: r, Path: mine}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Run(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, look()); diff != "" {
			t.Errorf("%s (-before +after):\n%s", root, diff)
		}
	}
}

// A run that ends early leaves whole files and goes on later.
func TestInterrupted(t *testing.T) {
	s := newStore(t)
	for i := range 5 {
		id := fmt.Sprint("s", i)
		s.write(id, header(id), user(0, "text"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.archiver().Run(ctx, nil, func(done, total int) {
		if done == 2 && total == 5 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	s.run(counts{archive.Added: 3, archive.Unchanged: 2})
}

func TestWhich(t *testing.T) {
	s := newStore(t)
	s.write("a", header("a"), user(0, "x"))
	report, err := s.archiver().Run(t.Context(), func(w string) bool { return w == "/elsewhere" }, nil)
	if err != nil || report.Count != [archive.Skipped + 1]int{} {
		t.Errorf("%+v, %v", report, err)
	}
	report, err = s.archiver().Run(t.Context(), func(w string) bool { return w == workspace }, nil)
	if err != nil || report.Count[archive.Added] != 1 || report.Bytes == 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestFindDue(t *testing.T) {
	const day = 24 * time.Hour
	config := t.TempDir()
	root := filepath.Join(config, "projects")
	if err := os.CopyFS(root, os.DirFS("../../testdata/claude/projects")); err != nil {
		t.Fatal(err)
	}
	roots := []archive.Root{{Reader: claude.New(), Path: root}, {Reader: dsh.New(), Path: "../../testdata/dsh/sessions"}}
	now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	ages := []time.Duration{24 * day, 26 * day, 40 * day}
	paths := []string{
		"-home-dev-proj/383185b8-6109-4b67-8987-327d41cf174f.jsonl", "-home-dev-proj/7624157f-e99f-4018-9d2b-6855b7b6092a.jsonl",
		"-home-dev-proj/383185b8-6109-4b67-8987-327d41cf174f/subagents/agent-a8b18abb66e9e2359.jsonl",
	}
	for i, p := range paths {
		at := now.Add(-ages[i])
		if err := os.Chtimes(filepath.Join(root, filepath.FromSlash(p)), at, at); err != nil {
			t.Fatal(err)
		}
	}
	due := func(dir string) map[session.ID]time.Duration {
		t.Helper()
		list, err := archive.FindDue(t.Context(), roots, dir, now)
		if err != nil {
			t.Fatal(err)
		}
		got := map[session.ID]time.Duration{}
		for _, d := range list {
			got[d.ID] = d.Left
		}
		return got
	}
	dir := filepath.Join(t.TempDir(), "kept")
	want := map[session.ID]time.Duration{
		"7624157f-e99f-4018-9d2b-6855b7b6092a":                         4 * day,
		"383185b8-6109-4b67-8987-327d41cf174f/agent-a8b18abb66e9e2359": -10 * day,
	}
	for _, where := range []string{"", dir} {
		if diff := cmp.Diff(want, due(where)); diff != "" {
			t.Errorf("nothing archived (-want +got):\n%s", diff)
		}
	}
	if err := os.WriteFile(filepath.Join(config, "settings.json"), []byte(`{"cleanupPeriodDays":45}`), 0o600); err != nil {
		t.Fatal(err)
	}
	want = map[session.ID]time.Duration{"383185b8-6109-4b67-8987-327d41cf174f/agent-a8b18abb66e9e2359": 5 * day}
	if diff := cmp.Diff(want, due(dir)); diff != "" {
		t.Errorf("kept for longer (-want +got):\n%s", diff)
	}
	a, err := archive.New(dir, roots[:1])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Run(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if got := due(dir); len(got) != 0 {
		t.Errorf("everything is archived: %v", got)
	}
}

// What an id is made of never leads out of the archive.
func TestHostileIDs(t *testing.T) {
	s := newStore(t)
	for id, folder := range map[string]string{"../../x": "..~002F..~002Fx", ".yore-1": ".yore-1", "..": "~002E~002E", "A": "A"} {
		path := filepath.Join(s.root, "--w-one--", folder, "session.jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(header(id)+user(0, "text of "+id)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.run(counts{archive.Added: 4})
	for _, id := range []string{"../../x", ".yore-1", "..", "A"} {
		if diff := cmp.Diff([]string{user(0, "text of "+id)}, s.natives(id)); diff != "" {
			t.Errorf("%s (-written +archived):\n%s", id, diff)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(s.dir))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the archive: %v, %v", entries, err)
	}
}

// Two archivers at once leave whole files.
func TestTwoAtOnce(t *testing.T) {
	s := newStore(t)
	for i := range 20 {
		id := fmt.Sprint("s", i)
		s.write(id, header(id), user(0, "text"))
	}
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		a := s.archiver()
		wg.Go(func() { _, errs[i] = a.Run(t.Context(), nil, nil) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	s.run(counts{archive.Unchanged: 20})
	st, err := s.archiver().Status(t.Context(), nil)
	if err != nil || st.Sessions != 20 || st.Damaged != 0 || st.Current != 20 {
		t.Errorf("%+v, %v", st, err)
	}
}

// A reader's new mapping makes archived events anew, while the log is there.
func TestNewMapping(t *testing.T) {
	s := newStore(t)
	s.write("a", header("a"), user(0, "text"))
	s.run(counts{archive.Added: 1})
	a, err := archive.New(s.dir, []archive.Root{{Reader: newer{dsh.New()}, Path: s.root}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []archive.Outcome{archive.Rewritten, archive.Unchanged} {
		if report, err := a.Run(t.Context(), nil, nil); err != nil || report.Count[want] != 1 {
			t.Errorf("%+v, %v; want outcome %d", report, err, want)
		}
	}
}

// newer is a reader after a change of its mapping.
type newer struct{ *dsh.Reader }

func (n newer) Version() int { return n.Reader.Version() + 1 }
