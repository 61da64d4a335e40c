package claude

import (
	"strings"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// piece is one event that a record gives, before it is known what has become of
// the path.
type piece struct {
	typ     string
	off     string // its type where it does not reach the model; "": typ
	surface bool   // it reaches the model
	native  []byte // the block that it is; nil: the whole record
	callID  string // of a call or a result
	body    func() session.Body
}

// pieces says which events a record gives.
func (d *decoder) pieces(r *record) []piece {
	if r.pieces == nil {
		r.pieces = d.makePieces(r)
	}
	return r.pieces
}

func (d *decoder) makePieces(r *record) []piece {
	switch r.kind {
	case userRecord:
		return d.userPieces(r)
	case assistantRecord:
		return assistantPieces(r)
	case attachmentRecord:
		return []piece{d.attachmentPiece(r)}
	case systemRecord:
		return []piece{systemPiece(r)}
	}
	return []piece{{typ: nameOf(r)}}
}

// nameOf is the type of a record that has no equal in the model.
func nameOf(r *record) string {
	name := "claude/" + clean(r.kind)
	if r.subtype != "" {
		name += "/" + clean(r.subtype)
	}
	return name
}

// maxName bounds names that come from a log, in bytes.
const maxName = 64

// clean makes a log's own word fit for a type.
func clean(word string) string {
	if word == "" {
		return "unknown"
	}
	word = strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, word)
	return word[:min(len(word), maxName)]
}

// userPieces gives one event for each tool result, and one for what else the
// record says.
func (d *decoder) userPieces(r *record) []piece {
	var out []piece
	other := !jsonl.IsArray(r.blocks)
	empty := true
	r.each(r.blocks, func(b *block) {
		empty = false
		if !jsonl.Is(b.typ, "tool_result") {
			other = true
			return
		}
		callID, content := jsonl.Text(b.callID), b.content
		out = append(out, piece{
			typ: session.ToolResult, off: "claude/tool_result", surface: true, native: b.raw, callID: callID,
			body: func() session.Body {
				blocks, clipped := d.side.restore(r.resultBlocks(content))
				return session.Body{
					Speaker: session.Tool, CallID: callID, Clipped: clipped,
					Blocks: []session.Block{{Kind: session.ResultBlock, Content: blocks}},
				}
			},
		})
	})
	if !other && !empty {
		return out
	}
	return append(out, piece{
		typ: session.UserMessage, off: "claude/user", surface: true,
		body: func() session.Body {
			blocks := r.textBlocks(r.blocks)
			speaker := r.speaker(d.sub, plain(blocks))
			if speaker == session.Human {
				for i := range blocks {
					blocks[i].Text = withoutEditorTags(blocks[i].Text)
				}
			}
			return session.Body{Speaker: speaker, Blocks: blocks}
		},
	})
}

// assistantPieces gives the message and one event for each call in it.
func assistantPieces(r *record) []piece {
	out := []piece{{
		typ: session.AssistantMessage, off: "claude/assistant", surface: true,
		body: func() session.Body {
			if r.synthetic && !r.apiError {
				return session.Body{Speaker: session.Assistant} // a filler, not the model's words
			}
			return session.Body{Speaker: session.Assistant, Blocks: r.textBlocks(r.blocks)}
		},
	}}
	if r.synthetic && r.apiError {
		out[0].typ, out[0].surface = "claude/assistant/api-error", false
	}
	r.each(r.blocks, func(b *block) {
		if !b.isCall() {
			return
		}
		callID, name, input := jsonl.Text(b.id), b.name, b.input
		out = append(out, piece{typ: session.ToolCall, native: b.raw, callID: callID, body: func() session.Body {
			return session.Body{Speaker: session.Action, CallID: callID, Blocks: []session.Block{{
				Kind: session.CallBlock, Name: jsonl.Text(name), Text: string(input),
			}}}
		}})
	})
	return out
}

func (b *block) isCall() bool {
	return jsonl.Is(b.typ, "tool_use") || jsonl.Is(b.typ, "server_tool_use") || jsonl.Is(b.typ, "mcp_tool_use")
}

func (d *decoder) attachmentPiece(r *record) piece {
	p := piece{typ: nameOf(r)}
	switch {
	case hidden(r.subtype):
		return p
	case r.subtype == "queued_command":
		p.body = func() session.Body {
			blocks := r.queuedText()
			return session.Body{Speaker: r.speaker(d.sub, plain(blocks)), Blocks: blocks}
		}
	default:
		p.body = func() session.Body { return session.Body{Speaker: session.Injected, Blocks: r.attached()} }
	}
	p.off, p.typ, p.surface = p.typ, session.UserMessage, true
	return p
}

func systemPiece(r *record) piece {
	switch {
	case r.boundary():
		return piece{typ: "compaction/summary"}
	case r.subtype == "local_command":
		return piece{
			typ: session.UserMessage, off: nameOf(r), surface: true,
			body: func() session.Body {
				return session.Body{Speaker: session.Injected, Blocks: r.textBlocks(r.content)}
			},
		}
	}
	return piece{typ: nameOf(r)}
}
