package copilot

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

const (
	earliest = "testdata/0.0.340"
	former   = historyDir + "/session_" + id + "_1767258000000.json"
)

// The document was written by 0.0.340 under a scripted model; what was said and done
// in it was read off by hand, the times off what was on the screen.
func TestDocument(t *testing.T) {
	found := readertest.Discover(t, New(), earliest)
	if len(found) != 1 {
		t.Fatalf("%d sessions", len(found))
	}
	want := session.Header{Agent: session.Copilot, ID: "ba299fc7-129e-41d9-8e49-1056f7cf7e75", CreatedAt: 1796097606185}
	if command := New().ResumeCommand(want); command != "" {
		t.Errorf("it is resumed by %q, and the agent of today does not know it", command)
	}
	if found[0].Header != want {
		t.Errorf("the header is %+v", found[0].Header)
	}
	events, _ := readAll(t, found[0])
	if diff := cmp.Diff([]string{
		`0 user/message append title="Count the lanterns in the hall." human: Count the lanterns in the hall.`,
		`1 assistant/message step append assistant: I look at both ends.`,
		`2 tool/call #call_t00_0 action: bash({"command":"echo seven lanterns","description":"looks","async":false,"sessionId":"s1"})`,
		`3 tool/call #call_t00_1 action: str_replace_editor({"command":"view","path":"/nowhere"})`,
		"4 tool/result append from [2] #call_t00_0 tool: seven lanterns\n<exited with exit code 0>",
		`5 tool/result append from [3] #call_t00_1 !error tool: Path /nowhere does not exist. Please provide a valid path.`,
		`6 assistant/message step append assistant: There are seven lanterns.`,
		`7 user/message append human: Now count the candles.`,
		`8 assistant/message step append assistant: Nine candles, two of wax.`,
	}, readertest.Outline(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var seconds []int64 // since 04:00:00
	for i := range events {
		seconds = append(seconds, (events[i].Time-1796097600000)/1000)
	}
	if diff := cmp.Diff([]int64{11, 24, 24, 24, 24, 24, 26, 29, 33}, seconds); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
}

// What the client sent to its model is the proof of the surface.
func TestDocumentIsWhatWasSent(t *testing.T) {
	var requests [][]string
	text, err := os.ReadFile("testdata/requests-0.0.340.json")
	if err == nil {
		err = json.Unmarshal(text, &requests)
	}
	if err != nil || len(requests) != 3 {
		t.Fatal(len(requests), err)
	}
	events, _ := readAll(t, readertest.Discover(t, New(), earliest)[0])
	var f session.Fold
	next := 0
	for i := range events {
		if _, err := f.Apply(&events[i]); err != nil {
			t.Fatal(err)
		}
		var shown []string
		for _, seq := range f.Surface() {
			shown = append(shown, strings.Replace(readertest.Said(&events[seq]), "human: ", "user: ", 1))
		}
		for next < len(requests) && slices.Equal(shown, requests[next]) {
			next++
		}
	}
	if next < len(requests) {
		t.Errorf("request %d was never the surface: %q", next, requests[next])
	}
}

// A document satisfies what does not depend on being appended to, whatever lies how
// deep in it.
func TestDocumentsConform(t *testing.T) {
	src := readertest.Discover(t, New(), earliest)[0]
	readertest.Stop(t, New(), src)
	readertest.Window(t, New(), src)
	readertest.Cancel(t, New(), src)
	want, _ := readAll(t, src)
	text, err := os.ReadFile(src.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, deep := range []string{strings.Repeat("[", 500_000) + strings.Repeat("]", 500_000), strings.Repeat(`{"a":`, 9_000) + "0" + strings.Repeat("}", 9_000)} {
		path := filepath.Join(t.TempDir(), filepath.Base(src.Path))
		put(t, path, `{"zz":`+deep+","+string(text[1:]))
		src.Path = path
		events, _, err := readertest.ReadFrom(New(), src, reader.Position{})
		var problem *reader.Problem
		if err != nil && !errors.As(err, &problem) {
			t.Error(err)
		} else if diff := cmp.Diff(want, events); err == nil && diff != "" {
			t.Errorf("(-without +with):\n%s", diff)
		}
	}
}

// formerly is a document of the earliest form.
func formerly(messages, timeline string) string {
	return `{"sessionId":"` + id + `","startTime":"2026-01-01T09:00:00.000Z","chatMessages":[` + messages + `],"timeline":[` + timeline + `]}`
}

const (
	asked    = `{"role":"user","content":"go\n\n<current_datetime>x</current_datetime>\n\n<reminder>r</reminder>"}`
	answered = `{"role":"assistant","content":"Yes."}`
	onScreen = `{"id":"1","type":"user","text":"go","timestamp":"2026-01-01T09:00:02.000Z"},` +
		`{"id":"2","type":"error","text":"Execution failed","timestamp":"2026-01-01T09:00:03.000Z"},` +
		`{"id":"3","type":"copilot","text":"Yes.","timestamp":"2026-01-01T09:00:04.000Z"},` +
		`{"id":"4","type":"error","text":"Disk full","timestamp":"2026-01-01T09:00:05.000Z"}`
)

// Each way in which a document is not what it seems.
func TestDocumentTraps(t *testing.T) {
	for _, tc := range []struct {
		name, messages, timeline string
		want                     []string
	}{
		{
			"failures stand where they were shown", asked + "," + answered, onScreen,
			[]string{`0 user/message append title="go" human: go`, `1 copilot/session.error : Execution failed`, `2 assistant/message step append assistant: Yes.`, `3 copilot/session.error : Disk full`},
		},
		{
			"nothing was shown", `{"role":"system","content":"rules"},` + asked + `,{"role":"assistant","content":null}`, "",
			[]string{`0 request/header`, `1 user/message append title="go" human: go`, `2 assistant/message step append assistant`},
		},
		{
			"parts, a picture, a custom tool, a call of no tool, a message that is none",
			`{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:,x"}},{"type":"text","text":"this"}]},7,` +
				`{"role":"assistant","content":[{"type":"text","text":"A"}],"tool_calls":[{"id":"c","type":"custom","custom":{"name":"patch","input":"*** Begin"}},9,{"id":"d"}]}`, "",
			[]string{
				"0 user/message append title=\"see this\" human: see\nthis", `1 request/header`, `2 assistant/message step append assistant: A`,
				`3 tool/call #c action: patch(*** Begin)`, `4 tool/call #d action: ()`,
			},
		},
		{
			"who speaks of reminders did not get one", `{"role":"user","content":"why\n\n<reminder> is there a mark"}`, "",
			[]string{"0 user/message append title=\"why <reminder> is there a mark\" human: why\n\n<reminder> is there a mark"},
		},
	} {
		events, _ := readAll(t, source(t, former, formerly(tc.messages, tc.timeline)))
		if diff := cmp.Diff(tc.want, readertest.Outline(events)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// A document is a session once something was said in it.
func TestDocumentsThatAreNone(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		pending    bool
	}{
		{"nothing was said", formerly("", ""), true},
		{"half of it is written", formerly(asked, "")[:40], false},
		{"another document", `{"sessionId":"` + id + `"}`, false},
		{"of no session", `{"chatMessages":[` + asked + `]}`, false},
	} {
		root := t.TempDir()
		put(t, filepath.Join(root, former), tc.text)
		_, err := New().Identify(context.Background(), root, filepath.Join(root, former))
		var problem *reader.Problem
		if errors.Is(err, reader.ErrPending) != tc.pending || errors.As(err, &problem) == tc.pending {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// A later release takes a document into its log, as one event; the log counts.
func TestImported(t *testing.T) {
	log := lines(first, event(1, "session.import_legacy", `{"legacySession":`+formerly(asked+","+answered, onScreen)+`,"importTime":"2026-01-01T09:01:00.000Z","sourceFile":"f"}`), user(90, "on"))
	src := source(t, stateDir+"/"+id+".jsonl", log)
	events, _ := readAll(t, src)
	if diff := cmp.Diff([]string{
		`0 copilot/session.start`, `1 copilot/session.import_legacy`,
		`2 user/message append title="go" human: go`, `3 copilot/session.error : Execution failed`, `4 assistant/message step append assistant: Yes.`, `5 copilot/session.error : Disk full`,
		`6 user/message append human: on`,
	}, readertest.Outline(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := events[4].Time - nine; got != 4000 {
		t.Errorf("the answer came after %d ms", got)
	}
	var natives []string
	_, err := New().Window(context.Background(), src, session.Checkpoint{}, 2, 5, session.Range{First: 2, End: 6}, func(raw session.Raw) error {
		natives = append(natives, string(raw.Native))
		return nil
	})
	entries := strings.Split(onScreen, ",{")
	if diff := cmp.Diff([]string{asked, "{" + entries[1], answered, "{" + entries[3]}, natives); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	// Equal headers: what reads a header alone takes both for one session.
	h, err := New().Identify(context.Background(), filepath.Dir(src.Root), source(t, former, formerly(asked, "")).Path)
	if want := src.Header; err != nil || h.ID != want.ID || h.CreatedAt != want.CreatedAt || h.Version != want.Version {
		t.Errorf("the document states %+v, %v, the log %+v", h, err, want)
	}
	r := New()
	if r.Rank(src.Root, src.Path) <= r.Rank(src.Root, filepath.Join(src.Root, former)) {
		t.Error("the document counts although a log holds it")
	}
}

// A document that was written anew is read anew; one that was not costs a stat.
func TestDocumentIsRewritten(t *testing.T) {
	src := source(t, former, formerly(asked, onScreen))
	_, tail := readAll(t, src)
	revise := func() reader.Revision {
		got, _, err := New().Revise(context.Background(), src, tail.Position)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := revise(); got != reader.Unchanged {
		t.Errorf("an unchanged document is %d", got)
	}
	put(t, src.Path, formerly(asked+","+answered, onScreen))
	if got := revise(); got != reader.Replaced {
		t.Errorf("a changed document is %d", got)
	}
	if err := os.Remove(src.Path); err != nil {
		t.Fatal(err)
	}
	if got := revise(); got != reader.Gone {
		t.Errorf("a document that is gone is %d", got)
	}
}
