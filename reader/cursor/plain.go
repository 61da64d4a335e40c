package cursor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// Earlier releases wrote transcripts as text, or as one JSON document. Neither
// grows by whole records: each look reads the file as a whole, and one that says
// anything else than before is another one. Their messages are brought into the
// form of those in lines, so that one decoder does for all.

// mostPlain bounds such a file, in bytes.
const mostPlain = 64 << 20

// plain is a transcript of an earlier release.
type plain struct {
	stamp    reader.Stamp
	check    uint64
	messages []message
}

// message is one message of a plain transcript.
type message struct {
	value  []byte // in the form of a line
	native []byte
	offset int64
}

func readPlain(ctx context.Context, path string) (*plain, error) {
	f, stamp, err := reader.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if stamp.Size > mostPlain {
		return nil, reader.Unreadable(path, 0, 0, "the document is longer than is read")
	}
	text, err := io.ReadAll(io.LimitReader(f, mostPlain))
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	p := &plain{stamp: stamp, check: jsonl.Hash(uint64(len(text)), text)}
	if _, form := formOf(filepath.Base(path)); form == inDocument {
		p.messages = ofDocument(text)
	} else {
		p.messages = ofText(string(text))
	}
	return p, nil
}

// ofDocument finds the messages of a JSON document: a list, or the list that an
// object holds.
func ofDocument(text []byte) (all []message) {
	values, _ := jsonl.Values(text)
	for _, doc := range values {
		list := doc
		if jsonl.IsObject(doc) {
			for _, name := range []string{"messages", "conversation", "transcript"} {
				if list = jsonl.Field(doc, name); jsonl.IsArray(list) {
					break
				}
			}
		}
		elements(list, func(v []byte) {
			if jsonl.IsObject(v) {
				all = append(all, message{v, v, int64(cap(text) - cap(v))})
			}
		})
	}
	return all
}

// ofText finds the messages of a transcript in text: each begins with a line that
// names who speaks. What a person typed may hold such a line, too.
func ofText(text string) (all []message) {
	role, start, body, quoted := "", 0, 0, false
	end := func(at int) {
		if role == "" {
			return
		}
		var blocks []any
		if role == "user" {
			blocks = []any{map[string]any{"type": "text", "text": strings.TrimSpace(text[body:at])}}
		} else {
			blocks = blocksOf(text[body:at])
		}
		value, err := json.Marshal(map[string]any{"role": role, "message": map[string]any{"content": blocks}})
		if err == nil { // texts and lists of them always are JSON
			all = append(all, message{value, []byte(text[start:at]), int64(start)})
		}
	}
	for at := 0; at < len(text); {
		next := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		switch line := strings.TrimRight(text[at:next], "\r\n "); {
		case !quoted && (line == "user:" || line == "assistant:"):
			end(at)
			role, start, body = strings.TrimSuffix(line, ":"), at, next
		case role == "user":
			if i := strings.LastIndex(line, "<user_query>"); i >= 0 {
				quoted = true
			}
			if i := strings.LastIndex(line, "</user_query>"); i >= 0 && i > strings.LastIndex(line, "<user_query>") {
				quoted = false
			}
		}
		at = next
	}
	end(len(text))
	return all
}

// blocksOf takes what the model said apart: texts, thoughts, calls with their
// arguments below them, and results. A mark holds up to the next one or an empty line.
func blocksOf(text string) (blocks []any) {
	kind, name := "text", ""
	var lines []string
	end := func() {
		body := strings.TrimSpace(strings.Join(lines, "\n"))
		switch {
		case kind == "call":
			blocks = append(blocks, map[string]any{"type": "tool_use", "name": name, "input": body})
		case kind == "result":
			blocks = append(blocks, map[string]any{"type": "tool_result", "content": body})
		case kind == "text" && body != "":
			blocks = append(blocks, map[string]any{"type": "text", "text": body})
		}
		kind, name, lines = "text", "", nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		marked := false
		for mark, k := range map[string]string{"[Thinking]": "thought", "[Tool call]": "call", "[Tool result]": "result"} {
			if rest, ok := strings.CutPrefix(line, mark); ok {
				end()
				kind, name, marked = k, strings.TrimSpace(rest), true
			}
		}
		switch {
		case marked:
		case kind != "text" && strings.TrimSpace(line) == "":
			end()
		default:
			lines = append(lines, line)
		}
	}
	end()
	return blocks
}

// identify makes the header.
func (p *plain) identify(root, path string) (h session.Header, dated bool, err error) {
	var x jsonl.Index
	talks := false
	for i := range p.messages {
		x.Valid(p.messages[i].value)
		rec := recordOf(&linelog.Record{Value: p.messages[i].value, X: &x})
		if talks = talks || rec.role != ""; rec.role == "user" {
			h, dated = around(root, path, rec.told(), p.stamp)
			return h, dated, nil
		}
	}
	h, dated = around(root, path, 0, p.stamp)
	if !talks {
		return h, false, reader.ErrPending
	}
	return h, dated, nil
}

// events hands over the events of all messages, with the bytes of each.
func (p *plain) events(ctx context.Context, src reader.Source, from int64, visit func(ev session.Event, native []byte) error) error {
	d := newDecoder(src)
	out := linelog.NewEvents(0, from)
	var x jsonl.Index
	for i := range p.messages {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := &p.messages[i]
		x.Valid(m.value)
		out.Begin(session.Place{Offset: m.offset}, false)
		d.Take(&linelog.Record{Value: m.value, X: &x, Place: session.Place{Offset: m.offset}}, out)
		for _, ev := range out.List() {
			if ev.Seq < from {
				continue
			}
			if err := visit(ev, m.native); err != nil {
				return err
			}
		}
	}
	return nil
}

// revisePlain is Revise for a plain transcript.
func revisePlain(ctx context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	stamp, err := reader.StatRegular(src.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return reader.Gone, reader.Stamp{}, nil
	case err != nil || stamp == at.Stamp:
		return reader.Unchanged, stamp, err
	}
	p, err := readPlain(ctx, src.Path)
	if err != nil {
		return reader.Replaced, stamp, err
	}
	h, _, err := p.identify(src.Root, src.Path)
	if err != nil || p.check != at.Check || h.CreatedAt != src.Header.CreatedAt {
		return reader.Replaced, p.stamp, nil
	}
	return reader.Grown, p.stamp, nil
}

// readDocument is Read for a plain transcript.
func readDocument(ctx context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	p, err := readPlain(ctx, src.Path)
	if err != nil {
		return reader.Tail{}, err
	}
	if from.Next > 0 && from.Check != p.check {
		return reader.Tail{}, reader.Unreadable(src.Path, 0, 0, "the file is not the one that was read before")
	}
	tail := reader.Tail{Position: from, Bytes: p.stamp.Size}
	tail.Position.Offset, tail.Position.Check, tail.Position.Stamp = p.stamp.Size, p.check, p.stamp
	err = p.events(ctx, src, from.Next, func(ev session.Event, _ []byte) error {
		err := emit(ev)
		if err == nil || errors.Is(err, reader.ErrStop) {
			tail.Position.Next = ev.Seq + 1
		}
		return err
	})
	if errors.Is(err, reader.ErrStop) {
		tail.Position.Stamp, err = reader.Stamp{}, nil // the next look reads on
	}
	if err != nil {
		return reader.Tail{}, err
	}
	return tail, nil
}

// windowPlain is Window for a plain transcript. The bytes of an event are those of
// its message.
func windowPlain(ctx context.Context, src reader.Source, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	p, err := readPlain(ctx, src.Path)
	if err != nil {
		return session.Header{}, err
	}
	h, _, err := p.identify(src.Root, src.Path)
	if err != nil {
		return h, err
	}
	err = p.events(ctx, src, from, func(ev session.Event, native []byte) error {
		if ev.Seq > to {
			return errPast
		}
		raw := session.Raw{Event: ev}
		if natives.Has(ev.Seq) {
			raw.Native = append([]byte{}, native...)
		}
		return emit(raw)
	})
	if errors.Is(err, errPast) {
		err = nil
	}
	return h, err
}
