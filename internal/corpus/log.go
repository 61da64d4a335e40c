package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/klauspost/compress/zstd"
)

// keepForForks is how many events of a session a fork may inherit.
const keepForForks = 80

// turnLength is how many events a turn has on average.
const turnLength = 40

// surfaceLimit is how many entries the model's context holds before it is
// summed up in one.
const surfaceLimit = 150

// node is an entry of the surface as the writer remembers it. result is the
// record of a tool result up to its text, for a later one that prunes it.
type node struct {
	seq    int64
	result string
}

// writer writes one log.
type writer struct {
	g       *generator
	s       *Session
	out     *os.File
	encoder *zstd.Encoder
	batch   []byte // lines of the append that is being made
	bytes   int64
	surface []node
	step    int
	prompt  string // the next user's text, if it is given
	short   bool   // turns of eleven events: one call, one answer
	rich    bool   // with all that is no searchable text

	lines [][]byte // the first events, for a fork
	marks []mark   // ends of turns within lines
	seed  [][]byte // inherited lines
}

// mark is a place where a fork may begin: after lines lines and events events.
type mark struct {
	lines   int
	events  int64
	surface []node
	turns   int
}

// fork makes the log begin with turns of another one.
func (w *writer) fork(from *writer) {
	if len(from.marks) == 0 {
		return
	}
	m := from.marks[w.g.r.IntN(len(from.marks))]
	w.seed = from.lines[:m.lines]
	w.surface, w.s.Turns = slices.Clone(m.surface), m.turns
	w.s.Parent, w.s.Seed = from.s.ID, m.events
}

// write makes the whole log, of about size events.
func (w *writer) write(dir string, size int64, chunks bool) (err error) {
	at := folder(dir, w.s)
	if err := os.MkdirAll(at, 0o700); err != nil {
		return err
	}
	w.s.Path = filepath.Join(at, "session.jsonl")
	if w.s.Encoding == Zstd {
		w.s.Path += ".zstd"
	}
	if w.out, err = os.OpenFile(w.s.Path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.out.Close()) }()

	w.header()
	if err := w.flush(); err != nil {
		return err
	}
	w.s.Changed = w.s.CreatedAt
	if w.seed != nil {
		for _, line := range w.seed {
			w.batch = append(w.batch, line...)
		}
		w.lines = slices.Clone(w.seed)
		w.s.Events = w.s.Seed
		w.event("session/end-seed", `{}`, "")
	}
	for w.s.Events+turnLength/2 < size || w.s.Events == w.s.Seed {
		if err := w.turn(chunks); err != nil {
			return err
		}
		if w.s.Events <= keepForForks {
			w.marks = append(w.marks, mark{len(w.lines), w.s.Events, slices.Clone(w.surface), w.s.Turns})
		}
	}
	w.s.surface = w.surface
	return w.flush()
}

func (w *writer) header() {
	w.batch = fmt.Appendf(w.batch, `{"type":"session","version":0,"id":%q,"createdAt":%d,"cwd":%q`, w.s.ID, w.s.CreatedAt, w.s.Cwd)
	if w.s.Parent != "" {
		w.batch = fmt.Appendf(w.batch, `,"parentSession":%q,"seedLength":%d`, w.s.Parent, w.s.Seed)
	}
	w.batch = append(w.batch, `,"delegationDepth":0}`+"\n"...)
}

// flush ends an append: in a compressed log it is one frame.
func (w *writer) flush() error {
	if len(w.batch) == 0 {
		return nil
	}
	w.bytes += int64(len(w.batch))
	out := w.batch
	if w.s.Encoding == Zstd {
		if w.encoder == nil {
			var err error
			if w.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20)); err != nil {
				return err
			}
		}
		out = w.encoder.EncodeAll(w.batch, nil)
	}
	_, err := w.out.Write(out)
	w.batch = w.batch[:0]
	return err
}

// line adds a finished line of so many events.
func (w *writer) line(line []byte, events int64) {
	if w.s.Events+events <= keepForForks {
		w.lines = append(w.lines, bytes.Clone(line))
	}
	w.batch = append(w.batch, line...)
	w.s.Events += events
}

// event adds an event; op is the rest of its record, from a comma on. It
// returns the event's seq.
func (w *writer) event(kind, data, op string) int64 {
	seq := w.s.Events
	w.s.Changed += int64(1 + w.g.r.IntN(3000))
	line := fmt.Appendf(nil, `{"type":%q,"seq":%d,"time":%d,"data":`, kind, seq, w.s.Changed)
	line = append(line, data...)
	line = append(line, op...)
	w.line(append(line, '}', '\n'), 1)
	return seq
}

// chunks adds the stream of a text as one packed row.
func (w *writer) chunks(kind, text string) {
	n := 24
	if w.rich {
		n = 4
	}
	parts := pieces(text, n)
	if len(parts) < 3 {
		return
	}
	w.s.Changed++
	head, list := "", "texts"
	if kind == "tool-call-chunks" {
		head, list = `"id":"call_0","name":"bash",`, "args"
	}
	line := fmt.Appendf(nil, `{"type":%q,"seq0":%d,"time0":%d,"data":{"turn":%d,"step":%d,"index":0,%s"dt":[`,
		kind, w.s.Events, w.s.Changed, w.s.Turns, w.step, head)
	for i := range parts[1:] {
		if i > 0 {
			line = append(line, ',')
		}
		dt := int64(w.g.r.IntN(40))
		w.s.Changed += dt
		line = strconv.AppendInt(line, dt, 10)
	}
	line = fmt.Appendf(line, `],%q:[`, list)
	for i, p := range parts {
		if i > 0 {
			line = append(line, ',')
		}
		line = appendJSON(line, p)
	}
	w.line(append(line, "]}}\n"...), int64(len(parts)))
}

// pieces cuts a text into parts of about n bytes, between characters.
func pieces(text string, n int) []string {
	var parts []string
	start := 0
	for i := range text {
		if i-start >= n {
			parts = append(parts, text[start:i])
			start = i
		}
	}
	return append(parts, text[start:])
}

const appendOp = `,"surfaceOp":"append"`

// user adds a prompt.
func (w *writer) user() {
	text := w.prompt
	w.prompt = ""
	if text == "" {
		text = w.g.userText()
	}
	seq := w.event("user/message", fmt.Sprintf(`{"id":%q,"role":"user","content":[{"type":"text","text":%s}],"source":{"kind":"user"}}`,
		uuid(w.g.r), quote(text)), appendOp)
	w.surface = append(w.surface, node{seq: seq})
	if w.s.Turns == 1 {
		w.event("session/title", fmt.Sprintf(`{"title":%s,"messageSeqs":[%d],"source":{"kind":"fallback"}}`,
			quote(w.g.title()), seq), "")
		w.event("request/header", `{"header":{"config":{"provider":"acme","model":"acme-large"},"system":"You are a careful engineer."},"reason":"initial"}`, "")
	}
}

// turn adds one turn: a prompt, steps with tool calls, an end; before it a
// compaction if the context is full.
func (w *writer) turn(chunks bool) error {
	r := w.g.r
	w.compact()
	w.s.Turns++
	w.step = 0
	w.event("turn/start", fmt.Sprintf(`{"turn":%d}`, w.s.Turns), "")
	w.user()
	for more := true; more; {
		w.step++
		more = r.IntN(5) > 0 && w.step < 12
		if w.short {
			more = w.step < 2
		}
		w.event("step/start", fmt.Sprintf(`{"turn":%d,"step":%d}`, w.s.Turns, w.step), "")
		w.answer(more, chunks)
		w.event("step/end", fmt.Sprintf(`{"turn":%d,"step":%d}`, w.s.Turns, w.step), "")
		if !w.short && r.IntN(2) == 0 {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	reason := `{"kind":"completed"}`
	switch r.IntN(60) {
	case 0:
		reason = `{"kind":"error","error":{"message":"upstream gateway overloaded","code":"OVERLOADED"}}`
	case 1:
		reason = `{"kind":"max-tokens"}`
	}
	w.event("turn/end", fmt.Sprintf(`{"turn":%d,"reason":%s}`, w.s.Turns, reason), "")
	return w.flush()
}

// answer adds what the model says and, if tools is set, what it calls and gets.
func (w *writer) answer(tools, chunks bool) {
	r := w.g.r
	first := w.s.Events
	var content []byte
	if r.IntN(3) == 0 {
		text := w.g.reasoning()
		if chunks {
			w.chunks("reasoning-chunks", text)
		}
		content = append(appendJSON(append(content, `{"type":"reasoning","text":`...), text), '}', ',')
	}
	if !tools || r.IntN(2) == 0 {
		text := w.g.assistantText()
		if chunks {
			w.chunks("text-chunks", text)
		}
		content = append(appendJSON(append(content, `{"type":"text","text":`...), text), '}', ',')
	}
	type call struct{ id, name, arguments string }
	var calls []call
	if tools {
		n := 1
		if !w.short {
			n += r.IntN(2)
		}
		for range n {
			c := call{id: fmt.Sprintf("call_%016x", r.Uint64())}
			c.name, c.arguments = w.g.call()
			content = fmt.Appendf(content, `{"type":"tool-call","id":%q,"name":%q,"arguments":%s},`, c.id, c.name, quote(c.arguments))
			calls = append(calls, c)
		}
	}
	content = bytes.TrimSuffix(content, []byte(","))
	state := ""
	if w.rich {
		for _, c := range calls {
			w.chunks("tool-call-chunks", c.arguments)
		}
		w.request()
		state = `,"replayState":{"encrypted":"` + w.g.base64(w.g.logn(4500, 0.8, 500, 60_000)) + `"}`
	}
	seq := w.event("assistant/message", fmt.Sprintf(
		`{"turn":%d,"step":%d,"message":{"id":%q,"role":"assistant","content":[%s],"source":{"kind":"model","provider":"acme","model":"acme-large"%s}},"usage":{"inputTokens":%d,"outputTokens":%d}}`,
		w.s.Turns, w.step, uuid(r), content, state, r.IntN(200000), r.IntN(4000)), sources(first, w.s.Events)+appendOp)
	w.surface = append(w.surface, node{seq: seq})
	for _, c := range calls {
		from := w.event("tool/call", fmt.Sprintf(`{"turn":%d,"step":%d,"callId":%q,"name":%q,"arguments":%s}`,
			w.s.Turns, w.step, c.id, c.name, quote(c.arguments)), "")
		w.result(c.id, c.name, from)
	}
	if w.short {
		return
	}
	if tools && r.IntN(25) == 0 {
		w.event("todo/write", fmt.Sprintf(`{"todos":[{"content":%s,"status":"in_progress"},{"content":%s,"status":"pending"}]}`,
			quote(w.g.title()), quote(w.g.title())), "")
	}
	if r.IntN(40) == 0 {
		w.prune()
	}
}

// request adds what was sent to the model beside the conversation, and what
// became of it.
func (w *writer) request() {
	w.g.b = w.g.b[:0]
	w.g.prose(w.g.logn(5000, 0.5, 1000, 20_000))
	w.event("request/context", fmt.Sprintf(`{"turn":%d,"step":%d,"blocks":[{"kind":"instructions","text":%s}]}`, w.s.Turns, w.step, quote(string(w.g.b))), "")
	w.event("assistant/chunk", fmt.Sprintf(`{"turn":%d,"step":%d,"chunk":{"type":"usage","usage":{"inputTokens":%d,"outputTokens":%d,"cachedInputTokens":%d}}}`,
		w.s.Turns, w.step, w.g.r.IntN(200000), w.g.r.IntN(4000), w.g.r.IntN(200000)), "")
}

// sources cites the events from first up to end, as the model's answer cites
// the stream it came from.
func sources(first, end int64) string {
	if first == end {
		return ""
	}
	list := []byte(`,"sourceEventSeqs":[`)
	for seq := first; seq < end; seq++ {
		list = append(strconv.AppendInt(list, seq, 10), ',')
	}
	list[len(list)-1] = ']'
	return string(list)
}

func (w *writer) result(id, tool string, call int64) {
	failed, tail := "false", ""
	if w.g.r.IntN(30) == 0 {
		failed, tail = "true", `,"error":{"name":"ToolError","code":"EXIT_NONZERO"}`
	}
	head := fmt.Sprintf(`{"turn":%d,"step":%d,"message":{"id":%q,"role":"user","source":{"kind":"tool","callId":%q},"content":[{"type":"tool-result","toolCallId":%q,"isError":%s,"content":[{"type":"text","text":`,
		w.s.Turns, w.step, uuid(w.g.r), id, id, failed)
	end := `}]}]}` + tail + `}`
	seq := w.event("tool/result", head+quote(w.g.resultText(tool))+end, fmt.Sprintf(`,"sourceEventSeqs":[%d]`, call)+appendOp)
	n := node{seq: seq}
	if tail == "" {
		n.result = head
	}
	w.surface = append(w.surface, n)
}

// prune cuts the text of an old tool result that is still in the context.
func (w *writer) prune() {
	i := slices.IndexFunc(w.surface, func(n node) bool { return n.result != "" })
	if i < 0 || i > len(w.surface)-20 {
		return
	}
	old := w.surface[i]
	w.event("compaction/prune", fmt.Sprintf(`{"shadowedRange":{"start":%d,"end":%d},"shadowedSeqs":[%d],"shadowedTokenCount":400}`,
		old.seq, old.seq, old.seq), "")
	seq := w.event("tool/result", old.result+quote("[older output removed]")+`}]}]}}`,
		fmt.Sprintf(`,"sourceEventSeqs":[%d],"surfaceOp":{"op":"replace","start":%d,"end":%d}`, old.seq, old.seq, old.seq))
	w.surface[i] = node{seq: seq}
}

// compact sums the whole context up in one message once it is full.
func (w *writer) compact() {
	if len(w.surface) < surfaceLimit {
		return
	}
	id := uuid(w.g.r)
	start, end := w.surface[0].seq, w.surface[len(w.surface)-1].seq
	var list []byte
	for i, n := range w.surface {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, n.seq, 10)
	}
	summary := quote(w.g.summary())
	a := w.event("compaction/start", fmt.Sprintf(`{"compactionId":%q,"turn":null}`, id), "")
	b := w.event("compaction/summary", fmt.Sprintf(
		`{"compactionId":%q,"summary":[{"type":"text","text":%s}],"shadowedRange":{"start":%d,"end":%d},"shadowedSeqs":[%s],"shadowedTokenCount":90000,"provider":"acme","model":"acme-large"}`,
		id, summary, start, end, list), "")
	seq := w.event("user/message", fmt.Sprintf(
		`{"id":%q,"role":"user","content":[{"type":"text","text":%s}],"source":{"kind":"plugin","plugin":"compaction"}}`, uuid(w.g.r), summary),
		fmt.Sprintf(`,"sourceEventSeqs":[%d,%d,%s],"surfaceOp":{"op":"replace","start":%d,"end":%d}`, a, b, list, start, end))
	w.event("compaction/end", fmt.Sprintf(`{"compactionId":%q,"turn":null}`, id), "")
	w.surface = []node{{seq: seq}}
}
