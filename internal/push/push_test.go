package push_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/push"
	format "github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
)

// Nothing is sent but what was chosen, and without a choice there is no sender.
func TestOnlyWhatWasChosen(t *testing.T) {
	if _, err := push.New(push.Options{}); !errors.Is(err, fault.InvalidConfig) {
		t.Errorf("without a choice: %v", err)
	}
	f, d := newFar(t), newDesk(t, map[string]string{"/home/ada/app": "app"})
	for _, cwd := range []string{"/home/ada/app", "/home/ada/app2", "/home/ada", "/home/ada/app/sub", "/home/ada/APP"} {
		d.log(cwd, "in-"+strings.ReplaceAll(cwd[1:], "/", "."), "said in "+cwd)
	}
	r, err := d.run(f)
	if err != nil || r.Sessions != 1 || r.Sent != 1 || r.Events != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, q := range f.sent("/v1/push") {
		o, _, err := format.Decode(t.Context(), q.body, q.from, 1<<20, func(format.Piece) error { return nil })
		if err != nil || o.Header.Cwd != "app" || o.Header.ID != "in-home.ada.app" {
			t.Errorf("%+v, %v", o, err)
		}
	}
}

// A preview counts what a run would send and touches neither server nor memory.
func TestPreview(t *testing.T) {
	f, d := newFar(t), newDesk(t, map[string]string{"/a": "app", "/b": "b"})
	d.log("/a", "one", "first", "second")
	d.log("/a", "two", "key AK"+"IAQ3EGRIZ4UBHTZX5W of the third")
	d.log("/b", "gone", "forgotten")
	d.forgotten["gone"] = true
	want := []push.WorkspacePreview{{Workspace: "/a", Name: "app", Sessions: 2, New: 2, Events: 3, Masked: 1}, {Workspace: "/b", Name: "b"}}
	look := func(f *far) []push.WorkspacePreview {
		p, err := d.pusher(f).Preview(t.Context())
		if err != nil || len(p.Skips) != 0 {
			t.Fatal(p.Skips, err)
		}
		for i := range p.Workspaces {
			if w := &p.Workspaces[i]; (w.Bytes > 0) != (w.Events > 0) {
				t.Errorf("%+v", w)
			}
			p.Workspaces[i].Bytes = 0
		}
		return p.Workspaces
	}
	for _, server := range []*far{nil, f} {
		if diff := cmp.Diff(want, look(server)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if len(f.requests) != 0 {
		t.Errorf("a preview asked the server: %+v", f.requests)
	}
	if _, err := os.Stat(d.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a preview remembers something: %v", err)
	}
	// And the run that follows sends that.
	r, err := d.run(f)
	if err != nil || r.Events != 3 || r.Masked != 1 || r.Sent != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	for i := range want {
		want[i].New, want[i].Events, want[i].Masked = 0, 0, 0
	}
	if diff := cmp.Diff(want, look(f)); diff != "" {
		t.Errorf("afterwards (-want +got):\n%s", diff)
	}
}

// long is a session of some stretches.
func long() []string {
	var texts []string
	for i := range 9 {
		texts = append(texts, strings.Repeat(string(rune('a'+i))+" ", 200_000))
	}
	return texts
}

// A connection that breaks before a stretch arrives, or behind it, costs that
// stretch: it is sent again, and nothing is there twice or not at all.
func TestBrokenConnections(t *testing.T) {
	f, d := newFar(t), newDesk(t, map[string]string{"/w": "w"})
	d.log("/w", "s", long()...)
	f.before = func(n int) (int, http.Header) {
		if n == 0 || n == 3 {
			return broken, nil
		}
		return 0, nil
	}
	f.after = func(n int) (int, http.Header) {
		if n == 2 || n == 4 {
			return broken, nil
		}
		return 0, nil
	}
	r, err := d.run(f)
	if err != nil || r.Events != 9 || len(r.Skips) != 0 || r.Anew != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if diff := cmp.Diff(messages(long()...), f.has("w s")); diff != "" {
		t.Error(diff)
	}
	var froms []int64
	for _, q := range f.sent("/v1/push") {
		froms = append(froms, q.from)
	}
	// Three messages of 400 KB, each with its text and its bytes, are more than 2 MB: a stretch.
	if want := []int64{0, 0, 3, 3, 3, 3, 6}; !slices.Equal(froms, want) {
		t.Errorf("stretches from %v, want %v", froms, want)
	}
}

// A run that ended in the middle goes on there, whether or not the answer to its
// last stretch arrived, and whether or not the log has grown.
func TestResume(t *testing.T) {
	for name, stored := range map[string]bool{"lost on the way": false, "stored, and its answer lost": true} {
		t.Run(name, func(t *testing.T) {
			f, d := newFar(t), newDesk(t, map[string]string{"/w": "w"})
			d.log("/w", "s", long()...)
			d.patience = time.Nanosecond // nothing is tried again
			down := func(n int) (int, http.Header) {
				if n >= 1 {
					return broken, nil
				}
				return 0, nil
			}
			if stored {
				f.after = down
			} else {
				f.before = down
			}
			r, err := d.run(f)
			if err == nil || r.Events != 3 {
				t.Fatalf("%+v, %v", r, err)
			}
			f.before, f.after = nil, nil
			grown := append(long(), "and one more")
			d.log("/w", "s", grown...)
			begin := len(f.sent("/v1/push"))
			if r, err = d.run(f); err != nil || r.Anew != 0 || len(r.Skips) != 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if diff := cmp.Diff(messages(grown...), f.has("w s")); diff != "" {
				t.Error(diff)
			}
			again := f.sent("/v1/push")[begin:]
			events := 0
			for _, q := range again {
				if q.from < 3 || q.anew {
					t.Errorf("what had been acknowledged was sent again, from %d, anew %v", q.from, q.anew)
				}
				if q.status == 200 {
					events += q.sessionEvents
				}
			}
			if want := map[bool]int{false: 7, true: 4}[stored]; events != want {
				t.Errorf("%d events were stored by the second run, want %d", events, want)
			}
			if r, err = d.run(f); err != nil || r.Sent != 0 {
				t.Errorf("a third run: %+v, %v", r, err)
			}
		})
	}
}

// Credentials are masked in text, bytes, ids and titles before they leave; the
// body is one of zstd, and shorter than what it says.
func TestWhatLeaves(t *testing.T) {
	const secret = "gh" + "p_x8Kq2mVn4Rt7Wz1Yb5Lc9Dh3Jf6Ps0AeGuQi" // in two parts: this file is no place of a credential
	f, d := newFar(t), newDesk(t, map[string]string{"/home/ada/app": "app"})
	text := strings.Repeat("the linker fails again ", 500) + "with " + secret
	d.log("/home/ada/app", "s", text, "plain")
	path := d.path("/home/ada/app", "s")
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(log), `"id":"u-1"`, `"id":"`+secret+`"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := d.run(f); err != nil || r.Masked != 2 || r.Events != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	q := f.sent("/v1/push")[0]
	if q.kind != "application/zstd" || q.token != "Bearer yore_t" || strings.Contains(string(q.body), "linker") {
		t.Errorf("%s %s %q", q.kind, q.token, q.body)
	}
	if len(q.body) > len(text)/4 {
		t.Errorf("%d bytes for a text of %d", len(q.body), len(text))
	}
	var said strings.Builder
	origin, _, err := format.Decode(t.Context(), q.body, 0, 1<<20, func(p format.Piece) error {
		said.WriteString(p.Event.NativeID)
		for _, b := range p.Event.Body.Blocks {
			said.WriteString(b.Text)
		}
		for _, n := range p.Native {
			said.Write(n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	said.WriteString(origin.Title + string(origin.Header.ID) + origin.Header.Cwd)
	for _, never := range []string{secret, secret[8:24], "/home/ada", d.root} {
		if strings.Contains(said.String(), never) {
			t.Errorf("%q left the machine", never)
		}
	}
	if !strings.Contains(said.String(), "the linker fails again") || !strings.Contains(said.String(), "plain") {
		t.Error("what is no credential is gone as well")
	}
}

// A log that was written anew takes the place of what was sent of it, from its
// beginning; one that is forgotten is taken back, as soon as the server can.
func TestReplacedAndForgotten(t *testing.T) {
	f, d := newFar(t), newDesk(t, map[string]string{"/w": "w"})
	d.log("/w", "s", "one", "two")
	d.log("/w", "other", "stays")
	if _, err := d.run(f); err != nil {
		t.Fatal(err)
	}
	d.log("/w", "s", "another beginning")
	r, err := d.run(f)
	if err != nil || r.Events != 1 || r.Sent != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if diff := cmp.Diff(messages("another beginning"), f.has("w s")); diff != "" {
		t.Error(diff)
	}
	last := f.sent("/v1/push")
	if q := last[len(last)-1]; q.from != 0 || !q.anew {
		t.Errorf("from %d, anew %v", q.from, q.anew)
	}
	// While the server cannot take it back, it is remembered that it has it.
	d.forgotten["s"] = true
	d.patience = time.Nanosecond
	f.before = func(int) (int, http.Header) { return 503, nil }
	if r, err := d.run(f); err == nil || r.Withdrawn != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	f.before = nil
	if r, err := d.run(f); err != nil || r.Withdrawn != 1 || r.Sent != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if f.has("w s") != nil || f.has("w other") == nil {
		t.Errorf("there are %v and %v", f.has("w s"), f.has("w other"))
	}
	var gone []string
	for _, q := range f.sent("/v1/withdraw") {
		gone = append(gone, string(q.body))
	}
	const asks = `{"workspace":"w","agent":"dsh","id":"s"}`
	if diff := cmp.Diff([]string{asks, asks}, gone); diff != "" {
		t.Error(diff)
	}
	if r, err := d.run(f); err != nil || r.Withdrawn != 0 || r.Sent != 0 {
		t.Errorf("again: %+v, %v", r, err)
	}
	// Remembered no more, it is sent again from its beginning.
	d.forgotten = map[session.ID]bool{}
	if r, err := d.run(f); err != nil || r.Events != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Another version on the server is replaced; one that only the memory is wrong
// about is gone on from.
func TestConflicts(t *testing.T) {
	f, d := newFar(t), newDesk(t, map[string]string{"/w": "w"})
	d.log("/w", "s", "one", "two", "three")
	if _, err := d.run(f); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	f.sessions["w s"] = f.sessions["w s"][:2] // set back to a backup
	f.applied = map[string]int64{}
	f.mu.Unlock()
	d.log("/w", "s", "one", "two", "three", "four")
	r, err := d.run(f)
	if err != nil || r.Anew != 0 || r.Events != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if diff := cmp.Diff(messages("one", "two", "three", "four"), f.has("w s")); diff != "" {
		t.Error(diff)
	}
	f.mu.Lock()
	f.sessions["w s"][1].Native = []byte(`"something else"`)
	f.sessions["w s"] = f.sessions["w s"][:3]
	f.mu.Unlock()
	d.log("/w", "s", "one", "two", "three", "four", "five")
	if r, err = d.run(f); err != nil || r.Anew != 1 || r.Events != 5 {
		t.Errorf("%+v, %v", r, err)
	}
	if diff := cmp.Diff(messages("one", "two", "three", "four", "five"), f.has("w s")); diff != "" {
		t.Error(diff)
	}
	// A server that never agrees is given up on, and the other sessions are sent.
	f.before = func(n int) (int, http.Header) {
		if f.of(n) == "s" {
			return 409, nil
		}
		return 0, nil
	}
	d.log("/w", "s", "one", "two", "three", "four", "five", "six")
	d.log("/w", "t", "elsewhere")
	r, err = d.run(f)
	if err != nil || len(f.has("w t")) != 1 || len(r.Skips) != 1 || !strings.Contains(r.Skips[0].Reason, "another version") {
		t.Errorf("%+v, %v", r, err)
	}
}
