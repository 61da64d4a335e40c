package archive

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// format is the version of the file format; only this one is read.
const format = 1

// Origin is what an archived log states of its session and of where it is from.
type Origin struct {
	Header  session.Header // as the original states it
	Source  string         // the path of the original's primary file
	Mapping string         // the reader that made the events, and its mapping version
	Title   string         // what the agent kept outside of the log; "": nothing
}

// originLine is the first line.
type originLine struct {
	Archive int            `json:"archive"`
	Header  session.Header `json:"header"`
	Source  string         `json:"source"`
	Mapping string         `json:"mapping"`
	Title   string         `json:"title,omitempty"`
}

// eventLine is one event, or a run of them. What is short comes first, so that
// a long line loses text only.
type eventLine struct {
	Seq           int64    `json:"seq"`
	Span          int64    `json:"span,omitempty"`
	Type          string   `json:"type"`
	Time          int64    `json:"time"`
	Op            string   `json:"op,omitempty"`
	Start         int64    `json:"start,omitempty"`   // of a replace
	End           int64    `json:"end,omitempty"`     // of a replace
	Keep          int64    `json:"keep,omitempty"`    // of a select
	Nodes         []int64  `json:"nodes,omitzero"`    // of a select
	Sources       []int64  `json:"sources,omitzero"`  // [] is not the same as none
	Sameness      string   `json:"sameness,omitzero"` // hexadecimal: JSON's numbers are too small
	Step          bool     `json:"step,omitempty"`
	Ignorable     bool     `json:"ignorable,omitempty"`
	Reconstructed bool     `json:"reconstructed,omitempty"`
	NativeID      string   `json:"nativeId,omitempty"`
	Body          bodyLine `json:"body,omitzero"`
}

type bodyLine struct {
	Speaker    string      `json:"speaker,omitempty"`
	CallID     string      `json:"callId,omitempty"`
	ErrorName  string      `json:"errorName,omitempty"`
	ErrorCode  string      `json:"errorCode,omitempty"`
	Title      *string     `json:"title,omitempty"`
	TitleOf    string      `json:"titleOf,omitempty"`
	Makeshift  bool        `json:"makeshift,omitempty"`
	TitleFault string      `json:"titleFault,omitempty"`
	Clipped    bool        `json:"clipped,omitempty"`
	Blocks     []blockLine `json:"blocks,omitzero"`
}

type blockLine struct {
	Kind    string      `json:"kind"`
	Name    string      `json:"name,omitempty"`
	Text    string      `json:"text,omitempty"`
	Content []blockLine `json:"content,omitzero"`
}

// nativeLine is the bytes of an event: as text, or in base 64 where they are no
// UTF-8. A member of a run says its own time.
type nativeLine struct {
	Native *string `json:"native,omitempty"`
	Base64 []byte  `json:"base64,omitempty"`
	Time   *int64  `json:"time,omitempty"`
}

type positionLine struct {
	Position *reader.Position `json:"position"`
}

// The words of the format, by the value they stand for.
var (
	opWords      = [...]string{session.OpNone: "", session.OpAppend: "append", session.OpReplace: "replace", session.OpSelect: "select"}
	speakerWords = [...]string{
		session.NoSpeaker: "", session.Human: "human", session.Injected: "injected", session.Summary: "summary",
		session.Assistant: "assistant", session.Tool: "tool", session.Action: "action",
	}
	blockWords = [...]string{session.TextBlock: "text", session.CallBlock: "call", session.ResultBlock: "result"}
)

// maxDepth is how deep blocks may lie in one another.
const maxDepth = 32

// lineOf makes the line of an event that stands for span events.
func lineOf(e *session.Event, span int64) (eventLine, error) {
	out := eventLine{
		Seq: e.Seq, Type: e.Type, Time: e.Time, Start: e.Op.Start, End: e.Op.End, Keep: e.Op.Keep, Nodes: e.Op.Nodes,
		Sources: e.Sources, Step: e.Step, Ignorable: e.Ignorable, Reconstructed: e.Reconstructed, NativeID: e.NativeID,
	}
	if span > 1 {
		out.Span = span
	}
	if int(e.Op.Kind) >= len(opWords) || int(e.Body.Speaker) >= len(speakerWords) {
		return out, fmt.Errorf("%w: event %d has an operation or a speaker that the archive has no word for", fault.CorruptSession, e.Seq)
	}
	out.Op = opWords[e.Op.Kind]
	if e.Sameness != 0 {
		out.Sameness = strconv.FormatUint(e.Sameness, 16)
	}
	b := &e.Body
	out.Body = bodyLine{
		Speaker: speakerWords[b.Speaker], CallID: b.CallID, ErrorName: b.ErrorName, ErrorCode: b.ErrorCode,
		Title: b.Title, TitleOf: b.TitleOf, Makeshift: b.Makeshift, TitleFault: string(b.TitleFault), Clipped: b.Clipped,
	}
	var err error
	out.Body.Blocks, err = blockLines(b.Blocks, 0)
	return out, err
}

func blockLines(blocks []session.Block, depth int) ([]blockLine, error) {
	if blocks == nil {
		return nil, nil
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: blocks lie too deep in one another", fault.CorruptSession)
	}
	out := make([]blockLine, len(blocks))
	for i, b := range blocks {
		if int(b.Kind) >= len(blockWords) {
			return nil, fmt.Errorf("%w: a block of a kind that the archive has no word for", fault.CorruptSession)
		}
		content, err := blockLines(b.Content, depth+1)
		if err != nil {
			return nil, err
		}
		out[i] = blockLine{Kind: blockWords[b.Kind], Name: b.Name, Text: b.Text, Content: content}
	}
	return out, nil
}

func nativeOf(native []byte) nativeLine {
	if utf8.Valid(native) {
		text := string(native)
		return nativeLine{Native: &text}
	}
	return nativeLine{Base64: native}
}

// kind is what a line is for, told by the name of its first member.
type kind uint8

const (
	strange kind = iota
	eventKind
	nativeKind
	positionKind
)

func kindOf(text []byte) kind {
	switch {
	case bytes.HasPrefix(text, []byte(`{"native":`)), bytes.HasPrefix(text, []byte(`{"base64":`)):
		return nativeKind
	case bytes.HasPrefix(text, []byte(`{"seq":`)):
		return eventKind
	case bytes.HasPrefix(text, []byte(`{"position":`)):
		return positionKind
	}
	return strange
}

// parseEvent takes the line of the event next apart. The reason says why it is none.
func parseEvent(text []byte, next int64, place session.Place) (e session.Event, reason string) {
	var l eventLine
	if err := json.Unmarshal(text, &l); err != nil {
		return e, "the line is no event"
	}
	op := slices.Index(opWords[:], l.Op)
	speaker := slices.Index(speakerWords[:], l.Body.Speaker)
	switch {
	case l.Seq != next:
		return e, "the line's seq is not the next one"
	case l.Span < 0 || l.Span > jsonl.MaxSafe-next || next > jsonl.MaxSafe-1:
		return e, "the line's numbers are out of range"
	case l.Type == "":
		return e, "the event has no type"
	case op < 0 || speaker < 0:
		return e, "the event has an operation or a speaker that is not known"
	}
	e = session.Event{
		Seq: l.Seq, Span: l.Span, Type: l.Type, Time: l.Time, Place: place, Sources: l.Sources, Step: l.Step,
		Ignorable: l.Ignorable, Reconstructed: l.Reconstructed, NativeID: l.NativeID,
		Op: session.Op{Kind: session.OpKind(op), Start: l.Start, End: l.End, Keep: l.Keep, Nodes: l.Nodes},
		Body: session.Body{
			Speaker: session.Speaker(speaker), CallID: l.Body.CallID, ErrorName: l.Body.ErrorName, ErrorCode: l.Body.ErrorCode,
			Title: l.Body.Title, TitleOf: l.Body.TitleOf, Makeshift: l.Body.Makeshift, TitleFault: fault.Code(l.Body.TitleFault), Clipped: l.Body.Clipped,
		},
	}
	if l.Sameness != "" {
		var err error
		if e.Sameness, err = strconv.ParseUint(l.Sameness, 16, 64); err != nil {
			return e, "the event's sameness is no number"
		}
	}
	var ok bool
	if e.Body.Blocks, ok = blocksOf(l.Body.Blocks, 0); !ok {
		return e, "the event has a block that is not known"
	}
	return e, ""
}

func blocksOf(lines []blockLine, depth int) ([]session.Block, bool) {
	if lines == nil {
		return nil, true
	}
	if depth > maxDepth {
		return nil, false
	}
	out := make([]session.Block, len(lines))
	for i, l := range lines {
		k := slices.Index(blockWords[:], l.Kind)
		content, ok := blocksOf(l.Content, depth+1)
		if k < 0 || !ok {
			return nil, false
		}
		out[i] = session.Block{Kind: session.BlockKind(k), Name: l.Name, Text: l.Text, Content: content}
	}
	return out, true
}

// parseNative takes a line of bytes apart. The bytes are a copy, made only if
// they are wanted.
func parseNative(text []byte, wanted bool) (native []byte, time *int64, ok bool) {
	if !jsonl.Valid(text) {
		return nil, nil, false
	}
	var plain, coded []byte
	c := jsonl.Enter(text[jsonl.SkipSpace(text, 0):])
	for {
		name, v, more := c.Member()
		if !more {
			break
		}
		switch string(name) {
		case "native":
			plain = v
		case "base64":
			coded = v
		case "time":
			n, ok := jsonl.SafeInt(v)
			if !ok {
				return nil, nil, false
			}
			time = &n
		}
	}
	switch {
	case (plain != nil) == (coded != nil), !jsonl.IsString(plain) && !jsonl.IsString(coded):
		return nil, nil, false
	case !wanted:
		return nil, time, true
	case plain != nil:
		return jsonl.Unquote(plain), time, true
	}
	native, err := base64.StdEncoding.AppendDecode(nil, coded[1:len(coded)-1])
	return native, time, err == nil
}
