package yore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// Marks at the head of a line in a described session.
const (
	markContext = '~' // injected context
	markUser    = '>'
	markModel   = '<'
	markCall    = '$' // a tool's name, then its arguments
	markResult  = '|' // of the call before it; @name quotes
	markTodo    = '*' // status, then content
	markSummary = '=' // takes the place of all that is in the context
)

// part is a run of lines with the same mark.
type part struct {
	mark byte
	text string
}

// describedLog writes the DSH log of a described session. n is the session's
// number, which sets its time.
func describedLog(f txtar.File, quotes map[string]string, n int) ([]byte, error) {
	parts, err := describedParts(string(f.Data), quotes)
	if err != nil {
		return nil, err
	}
	start := time.Date(2026, 4, 1, 8, 0, 0, 0, time.UTC).Add(time.Duration(n) * 7 * time.Hour).UnixMilli()
	w := &logWriter{id: f.Name, time: start}
	w.line(object{"type": "session", "version": 0, "id": f.Name, "createdAt": start, "cwd": relevanceWorkspace, "delegationDepth": 0})
	for i, p := range parts {
		var next part
		if i+1 < len(parts) {
			next = parts[i+1]
		}
		w.part(p, next)
	}
	w.endTurn()
	return w.out.Bytes(), w.err
}

func describedParts(text string, quotes map[string]string) ([]part, error) {
	var parts []part
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			continue
		}
		mark := line[0]
		if !strings.ContainsRune("~><$|*=", rune(mark)) || len(line) > 1 && line[1] != ' ' {
			return nil, fmt.Errorf("no mark at the head of %q", line)
		}
		body := strings.TrimPrefix(line[1:], " ")
		if name, ok := strings.CutPrefix(body, "@"); ok {
			if body, ok = quotes[name]; !ok {
				return nil, fmt.Errorf("nothing is called %q", name)
			}
		}
		last := len(parts) - 1
		if last >= 0 && parts[last].mark == mark && mark != markCall {
			parts[last].text += "\n" + body
			continue
		}
		if (mark == markResult) != (last >= 0 && parts[last].mark == markCall) {
			return nil, fmt.Errorf("a call without a result, or the reverse, at %q", line)
		}
		parts = append(parts, part{mark, body})
	}
	return parts, nil
}

type object map[string]any

// logWriter writes one DSH log. The first error stays.
type logWriter struct {
	id         string
	out        bytes.Buffer
	err        error
	time       int64
	seq        int64
	turn, step int
	inTurn     bool
	inStep     bool
	calls      int
	surface    []int64 // the seqs in the context
}

func (w *logWriter) line(o object) {
	text, err := json.Marshal(o)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.out.Write(append(text, '\n'))
}

// event adds an event; more holds what its record has beside data.
func (w *logWriter) event(kind string, data, more object) int64 {
	seq := w.seq
	w.seq++
	w.time += 1500
	record := object{"type": kind, "seq": seq, "time": w.time, "data": data}
	for name, value := range more {
		record[name] = value
	}
	w.line(record)
	return seq
}

// onSurface adds an event that joins the model's context.
func (w *logWriter) onSurface(kind string, data object) {
	w.surface = append(w.surface, w.event(kind, data, object{"surfaceOp": "append"}))
}

func (w *logWriter) part(p, next part) {
	switch p.mark {
	case markContext:
		w.beginTurn()
		w.onSurface("user/message", w.user(p.text, object{"kind": "plugin", "plugin": "project-rules"}))
	case markUser:
		if w.step > 0 {
			w.endTurn()
		}
		w.beginTurn()
		w.onSurface("user/message", w.user(p.text, object{"kind": "user"}))
	case markModel:
		if next.mark == markCall {
			w.call(p.text, next.text)
			return
		}
		w.beginStep()
		w.model(textBlock(p.text))
		w.endStep()
	case markCall:
		// With text before it, it was made together with that.
		if !w.inStep {
			w.call("", p.text)
		}
	case markResult:
		id := w.callID()
		w.onSurface("tool/result", object{"turn": w.turn, "step": w.step, "message": object{
			"id": fmt.Sprintf("r-%d", w.seq), "role": "user", "source": object{"kind": "tool", "callId": id},
			"content": []object{{"type": "tool-result", "toolCallId": id, "content": []object{textBlock(p.text)}}},
		}})
		w.endStep()
	case markTodo:
		w.beginStep()
		var todos []object
		for line := range strings.SplitSeq(p.text, "\n") {
			status, content, _ := strings.Cut(line, " ")
			todos = append(todos, object{"status": status, "content": content})
		}
		w.event("todo/write", object{"todos": todos}, nil)
		w.endStep()
	case markSummary:
		w.summary(p.text)
	}
}

// summary compacts the whole context into one message.
func (w *logWriter) summary(text string) {
	w.endTurn()
	if len(w.surface) == 0 {
		if w.err == nil {
			w.err = fmt.Errorf("a summary of nothing")
		}
		return
	}
	first, last := w.surface[0], w.surface[len(w.surface)-1]
	begin := w.event("compaction/start", object{"compactionId": "c-1"}, nil)
	end := w.event("compaction/summary", object{
		"compactionId": "c-1", "summary": "summed up", "shadowedRange": object{"start": first, "end": last},
		"shadowedSeqs": w.surface, "shadowedTokenCount": 4000, "provider": "acme", "model": "acme-large",
	}, nil)
	seq := w.event("user/message", w.user(text, object{"kind": "plugin", "plugin": "compaction"}), object{
		"surfaceOp":       object{"op": "replace", "start": first, "end": last},
		"sourceEventSeqs": append([]int64{begin, end}, w.surface...),
	})
	w.event("compaction/end", object{"compactionId": "c-1", "outcome": "replaced"}, nil)
	w.surface = []int64{seq}
}

// call adds a message with a tool call, and the call's own event.
func (w *logWriter) call(text, call string) {
	w.beginStep()
	w.calls++
	name, arguments, _ := strings.Cut(call, " ")
	var content []object
	if text != "" {
		content = append(content, textBlock(text))
	}
	content = append(content, object{"type": "tool-call", "id": w.callID(), "name": name, "arguments": arguments})
	w.model(content...)
	w.event("tool/call", object{"turn": w.turn, "step": w.step, "callId": w.callID(), "name": name, "arguments": arguments}, nil)
}

func (w *logWriter) callID() string { return fmt.Sprintf("call-%s-%d", w.id, w.calls) }

func (w *logWriter) user(text string, source object) object {
	return object{"id": fmt.Sprintf("u-%d", w.seq), "role": "user", "content": []object{textBlock(text)}, "source": source}
}

func (w *logWriter) model(content ...object) {
	w.onSurface("assistant/message", object{"turn": w.turn, "step": w.step, "message": object{
		"id": fmt.Sprintf("a-%d", w.seq), "role": "assistant", "content": content,
		"source": object{"kind": "model", "provider": "acme", "model": "acme-large"},
	}})
}

func textBlock(text string) object { return object{"type": "text", "text": text} }

func (w *logWriter) beginTurn() {
	if w.inTurn {
		return
	}
	w.inTurn = true
	w.turn, w.step = w.turn+1, 0
	w.event("turn/start", object{"turn": w.turn}, nil)
}

func (w *logWriter) beginStep() {
	w.beginTurn()
	w.inStep = true
	w.step++
	w.event("step/start", object{"turn": w.turn, "step": w.step}, nil)
}

func (w *logWriter) endStep() {
	w.inStep = false
	w.event("step/end", object{"turn": w.turn, "step": w.step}, nil)
}

func (w *logWriter) endTurn() {
	if !w.inTurn {
		return
	}
	w.inTurn = false
	w.event("turn/end", object{"turn": w.turn, "reason": object{"kind": "completed"}}, nil)
}
