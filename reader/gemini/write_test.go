package gemini

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// The tests write logs as the agent does, one record a line.

const (
	idA    = "11111111-aaaa-4bbb-8ccc-000000000001"
	folder = "/home/dev/proj"
	chat   = "tmp/proj/chats/session-2026-11-30T08-55-11111111.jsonl"
)

func headerLine(id string, minute int) string {
	return fmt.Sprintf(`{"sessionId":%q,"projectHash":%q,"startTime":"2026-11-30T08:%02d:00.000Z","lastUpdated":"2026-11-30T08:%02d:00.000Z","kind":"main"}`,
		id, hashOf(folder), minute, minute)
}

func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(out)
}

const when = `"timestamp":"2026-11-30T08:55:01.000Z"`

func user(id, text string) string {
	return fmt.Sprintf(`{"id":%q,%s,"type":"user","content":[{"text":%s}]}`, id, when, quoted(text))
}

func model(id, text string) string {
	return fmt.Sprintf(`{"id":%q,%s,"type":"gemini","content":%s,"thoughts":[],"model":"m"}`, id, when, quoted(text))
}

// returned is an entry of toolCalls; without an output it is at work.
func returned(id, output string) string {
	if output == "" {
		return fmt.Sprintf(`{"id":%q,"name":"read_file","args":{"file_path":"a"},"status":"executing"}`, id)
	}
	return fmt.Sprintf(`{"id":%q,"name":"read_file","args":{"file_path":"a"},"status":"success","result":[%s]}`, id, response(id, output))
}

func response(id, output string) string {
	return fmt.Sprintf(`{"functionResponse":{"id":%q,"name":"read_file","response":{"output":%s}}}`, id, quoted(output))
}

func modelCalls(id, text string, calls ...string) string {
	return fmt.Sprintf(`{"id":%q,%s,"type":"gemini","content":%s,"toolCalls":[%s]}`, id, when, quoted(text), strings.Join(calls, ","))
}

func responses(id string, parts ...string) string {
	return fmt.Sprintf(`{"id":%q,%s,"type":"user","content":[%s]}`, id, when, strings.Join(parts, ","))
}

func setMessages(messages ...string) string {
	return fmt.Sprintf(`{"$set":{"messages":[%s],"lastUpdated":"2026-11-30T09:00:00.000Z"}}`, strings.Join(messages, ","))
}

func rewindTo(id string) string { return fmt.Sprintf(`{"$rewindTo":%q}`, id) }

const startup = "<session_context>\nThis is the Gemini CLI.\n</session_context>"

func lines(all ...string) string { return strings.Join(all, "\n") + "\n" }

// home writes files below a root.
func home(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// chatOf writes a chat of the project and returns its source.
func chatOf(t testing.TB, records ...string) reader.Source {
	t.Helper()
	root := home(t, map[string]string{chat: lines(records...), "tmp/proj/.project_root": folder})
	return sourceOf(t, root, chat)
}

func sourceOf(t testing.TB, root, name string) reader.Source {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	h, err := New().Identify(context.Background(), root, path)
	if err != nil {
		t.Fatal(err)
	}
	return reader.Source{Agent: session.Gemini, Root: root, Path: path, Header: h}
}

func read(t testing.TB, src reader.Source) []session.Event {
	t.Helper()
	events, _, err := readertest.ReadFrom(New(), src, reader.Position{})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// told writes an event down in a line: its number, type and what it says, and
// what it does to the surface beside joining it.
func told(e *session.Event) string {
	var text []string
	for _, b := range e.Body.Blocks {
		switch b.Kind {
		case session.CallBlock:
			text = append(text, b.Name+"("+e.Body.CallID+")")
		case session.ResultBlock:
			for _, c := range b.Content {
				text = append(text, e.Body.CallID+"="+c.Text)
			}
		default:
			text = append(text, b.Text)
		}
	}
	out := strings.TrimSpace(fmt.Sprintf("%d %s %s", e.Seq, e.Type, strings.Join(text, "|")))
	switch e.Op.Kind {
	case session.OpReplace:
		out += fmt.Sprintf(" instead of %d", e.Op.Start)
	case session.OpSelect:
		out += fmt.Sprintf(" keeps %d, takes %v", e.Op.Keep, e.Op.Nodes)
	}
	return out
}

func toldAll(events []session.Event) []string {
	var out []string
	for i := range events {
		out = append(out, told(&events[i]))
	}
	return out
}

// surface folds events and returns what is current.
func surface(t testing.TB, events []session.Event) []int64 {
	t.Helper()
	var f session.Fold
	for i := range events {
		if _, err := f.Apply(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	return f.Surface()
}
