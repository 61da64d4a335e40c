package opencode

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// recorded are homes that releases of the client left, from before there was a
// database; see testdata/README.md.
func recorded(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/*/wire.json")
	if err != nil || len(found) == 0 {
		t.Fatalf("no recorded homes: %v", err)
	}
	var dirs []string
	for _, path := range found {
		dirs = append(dirs, filepath.Dir(path))
	}
	return dirs
}

// Every session of them can be read in pieces, stopped, looked into and cancelled.
func TestRecordedConform(t *testing.T) {
	for _, dir := range recorded(t) {
		for _, src := range readertest.Discover(t, New(), dir) {
			t.Run(filepath.Base(dir)+"/"+string(src.Header.ID), func(t *testing.T) {
				readertest.Stop(t, New(), src)
				readertest.Cancel(t, New(), src)
				readertest.Window(t, New(), src)
				_, at := read(t, New(), src, reader.Position{})
				if rev, _, err := New().Revise(t.Context(), src, at); err != nil || rev != reader.Unchanged {
					t.Errorf("read to its end, it is a revision %d, %v", rev, err)
				}
			})
		}
	}
}

// What a client sent to its model is the proof of the surface: each request, in
// order, is what some session shows at some moment. wire.json lists the requests
// of the run that left the files beside it.
func TestSurfaceIsWhatWasSent(t *testing.T) {
	for _, dir := range recorded(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, "wire.json"))
			if err != nil {
				t.Fatal(err)
			}
			var sent [][]string
			if err := json.Unmarshal(text, &sent); err != nil {
				t.Fatal(err)
			}
			var moments []string
			for _, src := range readertest.Discover(t, New(), dir) {
				events, _ := read(t, New(), src, reader.Position{})
				var f session.Fold
				for i := range events {
					if _, err := f.Apply(&events[i]); err != nil {
						t.Fatal(err)
					}
					moments = append(moments, strings.Join(inOrder(asSent(events, f.Surface())), "\n"))
				}
			}
			for i, q := range sent {
				q = inOrder(asShown(q))
				if want := strings.Join(q, "\n"); !slices.Contains(moments, want) {
					t.Errorf("request %d was never a surface:\n%s", i, want)
				}
			}
			if len(sent) < 7 {
				t.Errorf("%d requests are little", len(sent))
			}
		})
	}
}

// asShown takes out what the client puts around a summary: it sends one as the
// answer to a question that no file has.
func asShown(request []string) (all []string) {
	for _, l := range request {
		if l == "user: What did we do so far?" {
			continue
		}
		if summary, ok := strings.CutPrefix(l, "assistant: <state_snapshot>"); ok {
			l = "user: <state_snapshot>" + summary
		}
		if head, said, ok := strings.Cut(l, `: "`); ok && strings.HasPrefix(l, "result of ") {
			// The oldest release sent results as JSON.
			var text string
			if json.Unmarshal([]byte(`"`+said), &text) == nil {
				l = head + ": " + strings.TrimSpace(text)
			}
		}
		all = append(all, l)
	}
	return all
}

// asSent writes a surface down as the requests are listed.
func asSent(events []session.Event, surface []int64) (all []string) {
	for _, seq := range surface {
		e := &events[seq]
		role := "user: "
		switch e.Type {
		case session.ToolResult:
			_, said, _ := strings.Cut(readertest.Said(e), ": ")
			all = append(all, "result of "+strings.TrimPrefix(e.Body.CallID, "call_")+": "+strings.TrimSpace(said))
			continue
		case session.AssistantMessage:
			role = "assistant: "
		}
		for _, b := range e.Body.Blocks {
			if said := strings.TrimSpace(b.Text); said != "" {
				all = append(all, role+said)
			}
		}
	}
	return all
}

// inOrder sorts the results of one answer among themselves.
func inOrder(list []string) []string {
	for i := 0; i < len(list); i++ {
		j := i
		for j < len(list) && strings.HasPrefix(list[j], "result of ") {
			j++
		}
		slices.Sort(list[i:j])
		i = max(i, j-1)
	}
	return list
}

// What the releases leave, read off their files by hand: the first session was
// summed up, killed and taken up again, the second one had a prompt taken back
// where the release can do that.
func TestReleases(t *testing.T) {
	last := []string{
		"user/message <state_snapshot>\nThe hall has seven lanterns and nine candles.\n</state_snapshot>", "user/message And what of the mirrors?",
		"assistant/message No mirrors at all.", "user/message Now the windows, please.", "assistant/message The windows are many, and the",
		`user/message "Go on with the carpets."`, "assistant/message Two carpets, both red.",
	}
	plain := slices.Clone(last) // "run" put marks around a prompt later
	plain[5] = "user/message Go on with the carpets."
	short := slices.Delete(slices.Clone(plain), 4, 5) // it wrote a text down when it was whole
	steps := []string{"user/message Forget the doors, count steps.", "assistant/message Nineteen steps."}
	for _, c := range []struct {
		dir   string
		id    session.ID
		at    int64
		turns int // that came to an end
		last  []string
	}{
		{"0.1.174", "ses_dd100fd17ffe0yM6YnX7jFbNGJ", 1796084794088, 4, plain},
		{"0.5.29", "ses_dd10508c0ffeb56yL9vdOvDiY9", 1796084528960, 4, short},
		{"0.5.29", "ses_dd104fc3dffeh1OnlKt5j5MI78", 1796084532162, 1, steps},
		{"1.0.0", "ses_dd104840affeuKt2WqDQQzaCj9", 1796084563023, 4, plain},
		{"1.0.0", "ses_dd1044044ffe7XnKMe5MD6SjKk", 1796084580283, 3, steps},
		{"1.1.65", "ses_dd103692effeahIocK0NAXitW2", 1796084635357, 4, last},
		{"1.1.65", "ses_dd1034ed9ffeXgX8eFzsSl6uBI", 1796084642086, 3, steps},
	} {
		found := false
		for _, src := range readertest.Discover(t, New(), filepath.Join("testdata", c.dir)) {
			if src.Header.ID != c.id {
				continue
			}
			found = true
			if want := (session.Header{Agent: session.OpenCode, ID: c.id, CreatedAt: c.at, Cwd: "/home/dev/proj"}); src.Header != want {
				t.Errorf("%s: %+v", c.dir, src.Header)
			}
			events, _ := read(t, New(), src, reader.Position{})
			shown := current(t, events)
			if got := shown[max(0, len(shown)-len(c.last)):]; !slices.Equal(got, c.last) {
				t.Errorf("%s, %s ends with %q", c.dir, c.id, got)
			}
			if len(shown) != len(c.last) && c.last[0] != steps[0] {
				t.Errorf("%s, %s shows %q", c.dir, c.id, shown)
			}
			ends := 0
			for _, e := range events {
				if e.Type == session.TurnEnd {
					ends++
				}
				if e.Type == unparsed {
					t.Errorf("%s, %s: event %d is %s", c.dir, c.id, e.Seq, e.Type)
				}
			}
			if ends != c.turns {
				t.Errorf("%s, %s: %d turns have ended, want %d", c.dir, c.id, ends, c.turns)
			}
		}
		if !found {
			t.Errorf("%s: %s is not found", c.dir, c.id)
		}
	}
	// A fork's copies are known again.
	copies := map[string]int{}
	for _, src := range readertest.Discover(t, New(), "testdata/1.1.65") {
		events, _ := read(t, New(), src, reader.Position{})
		for _, e := range events {
			if e.NativeID != "" {
				copies[e.NativeID]++
			}
		}
	}
	shared := 0
	for _, n := range copies {
		if n == 2 {
			shared++
		}
	}
	// A prompt is two; an answer its step's start and end, its text if there is one, a
	// call and a result for each tool, and the end of the turn if it is the last.
	if want := 2 + (2 + 1 + 4) + (2 + 1 + 1) + 2 + (2 + 2) + (2 + 1 + 1); shared != want {
		t.Errorf("%d events are in both, want %d", shared, want)
	}
}
