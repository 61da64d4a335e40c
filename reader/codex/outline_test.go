package codex

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// Ids of invented threads and segments, in the order of their making.
const (
	idA = "01a22bac-0000-7000-8000-00000000000a"
	idB = "01a22bac-1000-7000-8000-00000000000b"
	idC = "01a22bac-2000-7000-8000-00000000000c"
	idD = "01a22bac-3000-7000-8000-00000000000d"
)

const day = "sessions/2026/11/30"

// home is an agent's folder with the given files, by path relative to it.
func home(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for rel, content := range files {
		put(t, root, rel, content)
	}
	return root
}

func put(t testing.TB, root, rel, content string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// rollout is the path of a thread's file; more than one id makes a later segment.
func rollout(ids ...string) string {
	return day + "/rollout-2026-11-30T08-57-29-" + strings.Join(ids, "_") + ".jsonl"
}

// lines joins records to a log.
func lines(records ...string) string { return strings.Join(records, "\n") + "\n" }

// at is a second of the hour as logs write it.
func at(second int) string { return fmt.Sprintf("2026-11-30T09:%02d:%02d.000Z", second/60, second%60) }

// entry is a record without an ordinal.
func entry(second int, typ, payload string) string {
	return fmt.Sprintf(`{"timestamp":"%s","type":"%s","payload":%s}`, at(second), typ, payload)
}

func metaLine(id, more string) string {
	return entry(0, "session_meta", fmt.Sprintf(`{"id":"%s","timestamp":"%s","cwd":"/w","cli_version":"0.171.0"%s}`, id, at(0), more))
}

func userItem(id, text string) string {
	return fmt.Sprintf(`{"type":"message",%s"role":"user","content":[{"type":"input_text","text":%q}]}`, idField(id), text)
}

func assistantItem(id, text string) string {
	return fmt.Sprintf(`{"type":"message",%s"role":"assistant","content":[{"type":"output_text","text":%q}]}`, idField(id), text)
}

func callItem(id, name, args string) string {
	return fmt.Sprintf(`{"type":"function_call","name":%q,"arguments":%q,"call_id":%q}`, name, args, id)
}

func outputItem(id, text string) string {
	return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%q}`, id, text)
}

func idField(id string) string {
	if id == "" {
		return ""
	}
	return fmt.Sprintf(`"id":%q,`, id)
}

func itemLine(second int, item string) string   { return entry(second, "response_item", item) }
func eventLine(second int, event string) string { return entry(second, "event_msg", event) }

// numbered gives records ordinals, from first on.
func numbered(first int, records ...string) []string {
	out := make([]string, len(records))
	for i, r := range records {
		out[i] = fmt.Sprintf(`{"ordinal":%d,`, first+i) + r[1:]
	}
	return out
}

// source identifies a file of a home.
func source(t testing.TB, root, rel string) reader.Source {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(rel))
	h, err := New().Identify(context.Background(), root, path)
	if err != nil {
		t.Fatalf("%s: %v", rel, err)
	}
	return reader.Source{Agent: session.Codex, Root: root, Path: path, Header: h}
}

// readAll reads a thread whole and checks that it folds.
func readAll(t testing.TB, src reader.Source) ([]session.Event, reader.Tail) {
	t.Helper()
	events, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
	if err != nil {
		t.Fatal(err)
	}
	return events, tail
}

// surface folds events and shows what is current, by text.
func surface(t testing.TB, events []session.Event) []string {
	t.Helper()
	var f session.Fold
	for i := range events {
		if _, err := f.Apply(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	var out []string
	for _, seq := range f.Surface() {
		out = append(out, said(&events[seq]))
	}
	return out
}

// said shows who says what in an event.
func said(e *session.Event) string {
	who := [...]string{"", "human", "injected", "summary", "assistant", "tool", "action"}[e.Body.Speaker]
	return strings.TrimSuffix(who+": "+texts(e.Body.Blocks), ": ")
}

func texts(blocks []session.Block) string {
	var parts []string
	for _, b := range blocks {
		switch b.Kind {
		case session.TextBlock:
			parts = append(parts, b.Text)
		case session.CallBlock:
			parts = append(parts, b.Name+"("+b.Text+")")
		case session.ResultBlock:
			parts = append(parts, texts(b.Content))
		}
	}
	return strings.Join(parts, " | ")
}

// outline shows events, one line each.
func outline(events []session.Event) []string {
	var out []string
	for i := range events {
		e := &events[i]
		s := fmt.Sprintf("%d %s", e.Seq, e.Type)
		if e.Step {
			s += " step"
		}
		switch e.Op.Kind {
		case session.OpAppend:
			s += " append"
		case session.OpReplace:
			s += fmt.Sprintf(" replace %d-%d", e.Op.Start, e.Op.End)
		case session.OpSelect:
			s += fmt.Sprintf(" keep %d %v", e.Op.Keep, e.Op.Nodes)
		}
		if e.Body.CallID != "" {
			s += " #" + e.Body.CallID
		}
		if e.Body.Title != nil {
			s += fmt.Sprintf(" title=%q", *e.Body.Title)
		}
		if text := said(e); text != "" {
			s += " " + text
		}
		out = append(out, s)
	}
	return out
}
