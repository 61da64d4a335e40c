package gemini

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// Each way in which a log of the agent is not what it seems, with what was said
// and what the model had before it, read off by hand.
func TestTraps(t *testing.T) {
	ack := "Got it. Thanks for the additional context!"
	sum := "<state_snapshot>\nthe goal\n</state_snapshot>"
	for _, tc := range []struct {
		name    string
		log     []string
		want    []string
		surface []int64
	}{
		{
			"a message is written again with its calls, and a copy of the results follows",
			[]string{user("u1", "go"), model("m1", "I look."), modelCalls("m1", "I look.", returned("c1", "one"), returned("c2", "two")),
				responses("r1", response("c1", "one"), response("c2", "two")), model("m2", "Done.")},
			[]string{"0 user/message go", "1 assistant/message I look.", "2 tool/call read_file(c1)", "3 tool/result c1=one",
				"4 tool/call read_file(c2)", "5 tool/result c2=two", "6 assistant/message Done."},
			[]int64{0, 1, 3, 5, 6},
		},
		{
			"a call is written before it has returned",
			[]string{user("u1", "go"), modelCalls("m1", "", returned("c1", "")), modelCalls("m1", "", returned("c1", "one")), modelCalls("m1", "", returned("c1", "one"))},
			[]string{"0 user/message go", "1 assistant/message", "2 tool/call read_file(c1)", "3 tool/result c1=one"},
			[]int64{0, 1, 3},
		},
		{
			"a result stands in the user's message alone: the agent was killed in between",
			[]string{user("u1", "go"), modelCalls("m1", "", returned("c1", "")), responses("r1", response("c1", "one"))},
			[]string{"0 user/message go", "1 assistant/message", "2 tool/call read_file(c1)", "3 tool/result c1=one"},
			[]int64{0, 1, 3},
		},
		{
			"a text is written again and is another",
			[]string{user("u1", "go"), model("m1", "Hel"), model("m1", "Hello."), user("u2", "more")},
			[]string{"0 user/message go", "1 assistant/message Hel", "2 assistant/message Hello. instead of 1", "3 user/message more"},
			[]int64{0, 2, 3},
		},
		{
			"a resumption repeats header, context and history, with other times, calls as parts, and results under ids of their own",
			[]string{setMessages(user("s", startup)), user("u1", "go"), modelCalls("m1", "I look.", returned("c1", "one")), responses("r1", response("c1", "one")),
				headerLine(idA, 59), setMessages(user("s", startup)), `{"$set":{"sessionId":"` + idA + `"}}`,
				setMessages(user("s", startup), user("u1", "go"),
					`{"id":"m1","type":"gemini","content":[{"text":"thinking","thought":true},{"text":"I look."},{"functionCall":{"id":"c1","name":"read_file","args":{}}}]}`,
					responses("m1_response", response("c1", "one"))),
				user("u2", "more")},
			[]string{"0 user/message", "1 user/message go", "2 assistant/message I look.", "3 tool/call read_file(c1)", "4 tool/result c1=one",
				"5 gemini/resume", "6 gemini/history keeps 0, takes []", "7 gemini/history keeps 0, takes [1 2 4]", "8 user/message more"},
			[]int64{0, 1, 2, 4, 8},
		},
		{
			"the same history again is no event",
			[]string{user("u1", "go"), model("m1", "Yes."), setMessages(user("u1", "go"), model("m1", "Yes."))},
			[]string{"0 user/message go", "1 assistant/message Yes."},
			[]int64{0, 1},
		},
		{
			"a compaction writes the new history first message by message, then as a list; what it keeps has new ids",
			[]string{user("u1", "first"), model("m1", "One."), user("u2", "second"), modelCalls("m2", "Two.", returned("c1", "out")), responses("r2", response("c1", "out")),
				user("k1", sum), model("k2", ack), user("k3", "second"), `{"id":"k4","type":"gemini","content":[{"text":"Two."},{"functionCall":{"id":"c1","name":"read_file","args":{}}}]}`,
				responses("k5", response("c1", "out")),
				setMessages(user("k1", sum), model("k2", ack), user("k3", "second"), model("k4", "Two."), responses("k5", response("c1", "out"))),
				user("u3", "second"), rewindTo("k3"), user("u4", "last")},
			[]string{"0 user/message first", "1 assistant/message One.", "2 user/message second", "3 assistant/message Two.", "4 tool/call read_file(c1)", "5 tool/result c1=out",
				"6 user/message " + sum, "7 assistant/message " + ack, "8 gemini/history keeps -1, takes [6 7 2 3 5]",
				"9 user/message second", "10 gemini/rewind keeps 7, takes []", "11 user/message last"},
			[]int64{6, 7, 11},
		},
		{
			"a compaction in which nothing but the list tells what is kept",
			[]string{user("u1", "first"), model("m1", "One."), user("u2", "second"), model("m2", "Two."),
				setMessages(user("k1", sum), model("k2", ack), user("k3", "second"), model("k4", "Two."))},
			[]string{"0 user/message first", "1 assistant/message One.", "2 user/message second", "3 assistant/message Two.",
				"4 user/message " + sum, "5 assistant/message " + ack, "6 gemini/history keeps -1, takes [4 5 2 3]"},
			[]int64{4, 5, 2, 3},
		},
		{
			"what is typed twice is two messages",
			[]string{user("u1", "on"), model("m1", "Yes."), user("u2", "on"), model("m2", "Yes."), setMessages(user("u1", "on"), model("m1", "Yes."), user("u2", "on"), model("m2", "Yes."), user("u3", "on"))},
			[]string{"0 user/message on", "1 assistant/message Yes.", "2 user/message on", "3 assistant/message Yes.", "4 user/message on"},
			[]int64{0, 1, 2, 3, 4},
		},
		{
			"an aborted turn: the list is shorter at its end",
			[]string{user("u1", "go"), model("m1", "Yes."), user("u2", "stop"), setMessages(user("u1", "go"), model("m1", "Yes.")), user("u3", "on")},
			[]string{"0 user/message go", "1 assistant/message Yes.", "2 user/message stop", "3 gemini/history keeps 1, takes []", "4 user/message on"},
			[]int64{0, 1, 4},
		},
		{
			"an output is masked: the same ids with another content",
			[]string{user("u1", "go"), modelCalls("m1", "", returned("c1", "long"), returned("c2", "other")), responses("r1", response("c1", "long"), response("c2", "other")),
				setMessages(user("u1", "go"), modelCalls("m1", "", `{"id":"c1","name":"read_file","args":{},"status":"success","result":[`+response("c1", "masked")+`,`+response("c2", "other")+`]}`,
					`{"id":"c2","name":"read_file","args":{},"status":"success","result":[`+response("c1", "masked")+`,`+response("c2", "other")+`]}`),
					responses("r1", response("c1", "masked"), response("c2", "other")))},
			[]string{"0 user/message go", "1 assistant/message", "2 tool/call read_file(c1)", "3 tool/result c1=long", "4 tool/call read_file(c2)", "5 tool/result c2=other",
				"6 tool/result c1=masked instead of 3"},
			[]int64{0, 1, 6, 5},
		},
		{
			"a rewind to a message, and one to a message that is not known",
			[]string{user("u1", "go"), model("m1", "Yes."), user("u2", "on"), model("m2", "No."), rewindTo("u2"), user("u3", "else"), rewindTo("nobody"), user("u4", "anew")},
			[]string{"0 user/message go", "1 assistant/message Yes.", "2 user/message on", "3 assistant/message No.", "4 gemini/rewind keeps 1, takes []",
				"5 user/message else", "6 gemini/rewind keeps -1, takes []", "7 user/message anew"},
			[]int64{7},
		},
		{
			"notes to the person are no part of the conversation, and a title is",
			[]string{user("u1", "go"), `{"id":"i1",` + when + `,"type":"error","content":"It failed."}`, `{"$set":{"summary":"What it was about"}}`, `{"$set":{"memoryScratchpad":{}}}`, `{"$set":{"new":1}}`, `{"odd":true}`, `nonsense`},
			[]string{"0 user/message go", "1 gemini/error It failed.", "2 session/title", "3 gemini/set", "4 gemini/unknown", "5 x/unparsed"},
			[]int64{0},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := chatOf(t, append([]string{headerLine(idA, 55)}, tc.log...)...)
			events := read(t, src)
			if diff := cmp.Diff(tc.want, toldAll(events)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := surface(t, events); !slices.Equal(got, tc.surface) {
				t.Errorf("the surface is %v, want %v", got, tc.surface)
			}
			readertest.Grow(t, New(), src)
			readertest.Cut(t, New(), src)
			readertest.Stop(t, New(), src)
			readertest.Window(t, New(), src)
		})
	}
}

// The time of a message is the one it was first written with.
func TestFirstTimesStay(t *testing.T) {
	late := `{"id":"u1","timestamp":"2026-11-30T10:00:00.000Z","type":"user","content":[{"text":"go"}]}`
	src := chatOf(t, headerLine(idA, 55), user("u1", "go"), headerLine(idA, 59), setMessages(late), model("m1", "Yes."))
	events := read(t, src)
	const first = 1796028901000 // 2026-11-30T08:55:01Z
	if events[0].Time != first || src.Header.CreatedAt != first-1000 {
		t.Errorf("the message is of %d, the session of %d", events[0].Time, src.Header.CreatedAt)
	}
}

// A resumption in a later minute leaves a file behind in which nothing was said.
func TestStubIsNoSession(t *testing.T) {
	stub := "tmp/proj/chats/session-2026-11-30T09-10-11111111.jsonl"
	root := home(t, map[string]string{
		chat: lines(headerLine(idA, 55), user("u1", "go")),
		stub: lines(headerLine(idA, 10), setMessages(user("s", startup))),
	})
	found := readertest.Discover(t, New(), root)
	if len(found) != 1 || filepath.Base(found[0].Path) != filepath.Base(chat) {
		t.Errorf("found %+v", found)
	}
	path := filepath.Join(root, filepath.FromSlash(stub))
	if _, err := New().Identify(context.Background(), root, path); !errors.Is(err, reader.ErrPending) {
		t.Errorf("the stub: %v", err)
	}
	// Another session's beginning is one as soon as something is said.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(lines(user("u9", "hello"))); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := New().Identify(context.Background(), root, path); err != nil {
		t.Error(err)
	}
}

// A session of the older layout is one document, written anew each time; resumed,
// it goes on in a file beside it with the same header.
func TestDocument(t *testing.T) {
	document := `{
  "sessionId": "` + idA + `",
  "projectHash": "` + hashOf(folder) + `",
  "startTime": "2026-11-30T08:55:00.000Z",
  "lastUpdated": "2026-11-30T08:56:00.000Z",
  "messages": [
    ` + user("u1", "go") + `,
    ` + modelCalls("m1", "I look.", returned("c1", "one")) + `,
    ` + model("m2", "Done.") + `
  ],
  "summary": "A look"
}`
	hashed := "tmp/" + hashOf(folder) + "/chats/session-2026-11-30T08-55-11111111.json"
	root := home(t, map[string]string{
		hashed:          document,
		hashed + "l":    lines(headerLine(idA, 55), user("u1", "go"), modelCalls("m1", "I look.", returned("c1", "one")), model("m2", "Done."), user("u2", "more")),
		"projects.json": `{"projects":{"/home/dev/other":"other","` + folder + `":"proj"}}`,
	})
	src := sourceOf(t, root, hashed)
	if want := (session.Header{Agent: session.Gemini, ID: idA, CreatedAt: 1796028900000, Cwd: folder}); src.Header != want {
		t.Errorf("the header is %+v", src.Header)
	}
	if again := sourceOf(t, root, hashed+"l"); again.Header != src.Header {
		t.Errorf("resumed, the header is %+v, before it was %+v", again.Header, src.Header)
	}
	want := []string{"0 user/message go", "1 assistant/message I look.", "2 tool/call read_file(c1)", "3 tool/result c1=one", "4 assistant/message Done.", "5 session/title"}
	events, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
	if diff := cmp.Diff(want, toldAll(events)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	readertest.Window(t, New(), src)
	readertest.Stop(t, New(), src)
	if rev, _, err := New().Revise(context.Background(), src, tail.Position); rev != reader.Unchanged || err != nil {
		t.Errorf("unchanged: %d, %v", rev, err)
	}
	if err := os.WriteFile(src.Path, []byte(document+" "), 0o600); err != nil {
		t.Fatal(err)
	}
	if rev, _, err := New().Revise(context.Background(), src, tail.Position); rev != reader.Replaced || err != nil {
		t.Errorf("written anew and longer: %d, %v", rev, err)
	}
}

// An exact read gives the bytes of what the event was made of.
func TestNatives(t *testing.T) {
	call := returned("c1", "one")
	line := modelCalls("m1", "I look.", call)
	listed := user("u2", "listed")
	src := chatOf(t, headerLine(idA, 55), user("u1", "go"), line, setMessages(user("u1", "go"), line, listed))
	want := []string{user("u1", "go"), line, call, "[" + response("c1", "one") + "]", listed}
	var got []string
	_, err := New().Window(context.Background(), src, session.Checkpoint{}, 0, 99, session.Every(), func(r session.Raw) error {
		got = append(got, string(r.Native))
		return nil
	})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// A log that is longer than a position holds is read on without another look at
// what came before, and again as a whole where a record needs that.
func TestLongLog(t *testing.T) {
	records := []string{headerLine(idA, 55)}
	id := func(i int) string {
		return "id-" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))
	}
	for i := range 3000 {
		records = append(records, user(id(i), "prompt "+id(i)))
	}
	src := chatOf(t, records...)
	events, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
	if err != nil || len(events) != 3000 {
		t.Fatal(len(events), err)
	}
	if n := len(tail.Position.State); n > 64<<10 {
		t.Errorf("the state takes %d bytes", n)
	}
	more := func(record string) []session.Event {
		t.Helper()
		f, err := os.OpenFile(src.Path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(record + "\n"); err != nil {
			t.Fatal(err)
		}
		events, now, err := readertest.ReadFrom(New(), src, tail.Position)
		if err != nil {
			t.Fatal(err)
		}
		again := now.Bytes > int64(len(record))+1
		if needed := record == rewindTo(id(7)); again != needed {
			t.Errorf("%.40s: %d bytes were parsed", record, now.Bytes)
		}
		tail = now
		return events
	}
	for i := range 20 {
		if got := more(user("new-"+id(i), "new")); len(got) != 1 {
			t.Fatalf("%d events", len(got))
		}
	}
	if got := more(user("new-"+id(19), "new")); len(got) != 0 {
		t.Errorf("written again: %v", toldAll(got))
	}
	got := more(rewindTo(id(7)))
	if diff := cmp.Diff([]string{"3020 gemini/rewind keeps 6, takes []"}, toldAll(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
