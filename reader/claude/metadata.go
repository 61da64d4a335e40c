package claude

import (
	"strings"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// rank orders the kinds of title: a lower one never takes the place of a higher.
type rank uint8

const (
	promptTitle    rank = iota + 1 // the first human prompt
	summaryTitle                   // of a leaf on the path
	generatedTitle                 // by the model
	customTitle                    // by the user
)

// metadata takes in a record that is not part of the tree. The program repeats
// such records, and later ones win.
func (d *decoder) metadata(r *record) {
	title := func(member string, k rank) {
		d.title(r, strings.TrimSpace(jsonl.Text(r.field(r.raw, member))), k)
	}
	switch r.kind {
	case "custom-title":
		title("customTitle", customTitle)
	case "agent-name":
		title("agentName", customTitle)
	case "ai-title":
		title("aiTitle", generatedTitle)
	case "summary":
		d.summaryLine(r)
	case "last-prompt":
		d.lastPrompt(r)
	case "queue-operation":
		d.queued(r)
	default:
		d.emit(session.Event{Type: nameOf(r)}, nil, nil)
	}
	d.clear(r)
}

// Bounds of a title for another session, in bytes.
const (
	maxLeaf    = 64
	maxSummary = 512
)

// summaryLine takes in a title for the session that holds a leaf. Most name one
// of another file.
func (d *decoder) summaryLine(r *record) {
	text, leaf := strings.TrimSpace(jsonl.Text(r.field(r.raw, "summary"))), r.field(r.raw, "leafUuid")
	switch n := d.g.byID[keyOf(leaf)]; {
	case n != nil && n.pos >= 0:
		d.title(r, text, summaryTitle)
		return
	case n != nil || text == "" || !jsonl.Filled(leaf) || len(jsonl.Text(leaf)) > maxLeaf:
		d.title(r, "", 0)
		return
	}
	if len(text) > maxSummary {
		text = strings.ToValidUTF8(text[:maxSummary], "")
	}
	ev := session.Event{Type: nameOf(r)}
	ev.Body.Title, ev.Body.TitleOf = &text, jsonl.Text(leaf)
	d.emit(ev, nil, nil)
}

// title notes a title; one that is outranked is an event without a title.
func (d *decoder) title(r *record, text string, k rank) {
	ev := session.Event{Type: nameOf(r)}
	if text != "" && k > 0 && k >= d.small.Rank {
		d.small.Rank = k
		ev.Type, ev.Body.Title = session.TitleEvent, &text
	}
	d.emit(ev, nil, nil)
}

// prompt makes a title of the first prompt, if there is none yet.
func (d *decoder) prompt(r *record, p *piece, ev *session.Event, surface bool) {
	if d.small.Rank >= promptTitle || !surface || p.typ != session.UserMessage {
		return
	}
	blocks := r.textBlocks(r.blocks)
	switch r.kind {
	case attachmentRecord:
		if r.subtype != "queued_command" {
			return
		}
		blocks = r.queuedText()
	case systemRecord:
		return
	}
	text := plain(blocks)
	// Of a subagent, the task that it was given.
	if r.speaker(d.sub, text) != session.Human && !(d.sub && !r.meta && !r.summary) {
		return
	}
	if title := titleOf(text); title != "" {
		d.small.Rank = promptTitle
		ev.Body.Title, ev.Body.Makeshift = &title, true
	}
}

// pinned reports whether a last-prompt record says that the live path ends at
// the leaf it names, whatever was written since.
func (r *record) pinned() bool {
	return yes(r.field(r.raw, "explicit")) || yes(r.field(r.raw, "rewound"))
}

// lastPrompt takes in a note of the live leaf; a pinned one moves the path.
func (d *decoder) lastPrompt(r *record) {
	ev := session.Event{Type: nameOf(r)}
	leaf := r.field(r.raw, "leafUuid")
	n := d.g.byID[keyOf(leaf)]
	if r.pinned() && d.g.pending == nil && (n != nil || string(leaf) == "null") {
		m := move{}
		if n != nil {
			m = d.g.back(n, "")
		}
		if op := d.g.apply(m); op != nil {
			ev.Op = *op
		}
	}
	d.emit(ev, nil, nil)
}

// queued takes in what happened to the input queue. What is typed while the
// model works may be written nowhere else, so it has its text here; what is typed
// while it waits follows as a prompt.
func (d *decoder) queued(r *record) {
	text := strings.TrimSpace(jsonl.Text(r.content))
	if r.subtype != "enqueue" || !d.small.Busy || text == "" || text[0] == '<' {
		d.emit(session.Event{Type: nameOf(r)}, nil, nil)
		return
	}
	d.emit(session.Event{Type: nameOf(r)}, nil, func() session.Body {
		return session.Body{Speaker: session.Human, Blocks: r.textBlocks(r.content)}
	})
}
