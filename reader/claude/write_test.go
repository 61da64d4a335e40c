package claude

import (
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

// rec is a record to write; members of extra win.
type rec struct {
	kind, id, parent string // parent "": none; "-": the member is missing
	extra            map[string]any
}

func (r rec) String() string {
	m := map[string]any{
		"type": r.kind, "sessionId": "s", "cwd": "/w", "timestamp": "2026-11-01T10:00:00.000Z", "isSidechain": false,
	}
	if r.id != "" {
		m["uuid"] = r.id
	}
	switch r.parent {
	case "-":
	case "":
		m["parentUuid"] = nil
	default:
		m["parentUuid"] = r.parent
	}
	for name, v := range r.extra {
		m[name] = v
		if v == nil && name != "parentUuid" {
			delete(m, name)
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(text)
}

type object = map[string]any

func user(id, parent, text string, more ...object) rec {
	return with(rec{"user", id, parent, object{"message": object{"role": "user", "content": text}}}, more)
}

func blocks(id, parent, kind string, list ...object) rec {
	return rec{kind, id, parent, object{"message": object{"role": kind, "content": list}}}
}

func textBlock(text string) object { return object{"type": "text", "text": text} }

func callBlock(id, name string, input object) object {
	return object{"type": "tool_use", "id": id, "name": name, "input": input}
}

func resultBlock(id, text string) object {
	return object{"type": "tool_result", "tool_use_id": id, "content": text}
}

// answer is one record of a model's response.
func answer(id, parent, msg string, list ...object) rec {
	return rec{"assistant", id, parent, object{"message": object{"role": "assistant", "id": msg, "model": "m", "content": list}}}
}

func result(id, parent, call, text string) rec {
	return blocks(id, parent, "user", resultBlock(call, text))
}

func compactBoundary(id string, meta object) rec {
	return rec{"system", id, "", object{"subtype": "compact_boundary", "compactMetadata": meta}}
}

func compactSummary(id, parent, text string) rec {
	return user(id, parent, text, object{"isCompactSummary": true, "isVisibleInTranscriptOnly": true})
}

func with(r rec, more []object) rec {
	for _, m := range more {
		for name, v := range m {
			r.extra[name] = v
		}
	}
	return r
}

// meta is a record without a uuid.
func meta(kind string, members object) rec {
	m := object{"timestamp": nil, "cwd": nil, "isSidechain": nil}
	for name, v := range members {
		m[name] = v
	}
	return rec{kind, "", "-", m}
}

// project writes a transcript and returns its source, identified if it can be.
func project(t testing.TB, text string) reader.Source {
	t.Helper()
	root := filepath.Join(t.TempDir(), "projects")
	return place(t, root, filepath.Join("-w", "s.jsonl"), text)
}

func place(t testing.TB, root, rel, text string) reader.Source {
	t.Helper()
	path := filepath.Join(root, rel)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	src := reader.Source{Agent: session.Claude, Root: root, Path: path}
	if h, err := New().Identify(t.Context(), root, path); err == nil {
		src.Header = h
	}
	return src
}

func lines(records ...rec) string {
	var b strings.Builder
	for _, r := range records {
		b.WriteString(r.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// readAll reads a source to its end and folds it.
func readAll(t testing.TB, src reader.Source) ([]session.Event, *session.Fold, reader.Tail) {
	t.Helper()
	events, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
	if err != nil {
		t.Fatal(err)
	}
	return events, folded(t, events), tail
}

func folded(t testing.TB, events []session.Event) *session.Fold {
	t.Helper()
	var f session.Fold
	for i := range events {
		if _, err := f.Apply(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	return &f
}

// names gives the events of a surface by the ids of their records; a result by
// its call.
func names(events []session.Event, seqs []int64) []string {
	list := []string{}
	for _, seq := range seqs {
		e := &events[seq]
		name := e.NativeID
		if e.Type == session.ToolResult {
			name += ":" + e.Body.CallID
		}
		list = append(list, name)
	}
	return list
}

// described gives one line for each event: type, what it does, and its text.
func described(events []session.Event) []string {
	var list []string
	for i := range events {
		e := &events[i]
		text := e.Type
		switch e.Op.Kind {
		case session.OpAppend:
			text += " append"
		case session.OpReplace:
			text += fmt.Sprintf(" replace %d-%d of %v", e.Op.Start, e.Op.End, e.Sources)
		case session.OpSelect:
			text += fmt.Sprintf(" select %d %v", e.Op.Keep, e.Op.Nodes)
		}
		if e.Step {
			text += " step"
		}
		if e.Body.Title != nil {
			text += fmt.Sprintf(" title=%q", *e.Body.Title)
		}
		if words := plainBody(e.Body.Blocks); words != "" {
			text += fmt.Sprintf(" %s: %s", speakers[e.Body.Speaker], words)
		}
		list = append(list, text)
	}
	return list
}

var speakers = map[session.Speaker]string{
	session.NoSpeaker: "nobody", session.Human: "human", session.Injected: "injected", session.Summary: "summary",
	session.Assistant: "assistant", session.Tool: "tool", session.Action: "action",
}

func plainBody(list []session.Block) string {
	var parts []string
	for _, b := range list {
		for _, part := range []string{b.Name, b.Text, plainBody(b.Content)} {
			if part != "" {
				parts = append(parts, part)
			}
		}
	}
	return strings.Join(parts, " ")
}
