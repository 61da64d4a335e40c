package claude

import (
	"strings"
	"unicode"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// maxTitle is how long a title made from a prompt may be, in code points.
const maxTitle = 80

// textBlocks returns the text of a message's content, a text or a list of
// blocks. Reasoning, images, calls and unknown kinds give nothing.
func (r *record) textBlocks(content []byte) []session.Block {
	if jsonl.IsString(content) {
		return []session.Block{{Kind: session.TextBlock, Text: r.x.Text(content)}}
	}
	var out []session.Block
	r.each(content, func(b *block) {
		if jsonl.Is(b.typ, "text") {
			out = append(out, session.Block{Kind: session.TextBlock, Text: r.x.Text(b.text)})
		}
	})
	return out
}

// plain joins the text of blocks.
func plain(blocks []session.Block) string {
	parts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		parts = append(parts, b.Text)
	}
	return strings.Join(parts, "\n")
}

// withoutEditorTags takes out of typed text what an editor put in front of it.
func withoutEditorTags(text string) string {
	for {
		rest := strings.TrimLeftFunc(text, unicode.IsSpace)
		if !strings.HasPrefix(rest, "<ide_") {
			return text
		}
		name, _, ok := strings.Cut(rest[1:], ">")
		if !ok {
			return text
		}
		_, behind, ok := strings.Cut(rest, "</"+name+">")
		if !ok {
			return text
		}
		text = behind
	}
}

// wrapped reports whether a text is nothing but elements that look like XML:
// what the program says of itself.
func wrapped(text string) bool {
	text = strings.TrimSpace(text)
	for found := false; ; found = true {
		if text == "" {
			return found
		}
		if text[0] != '<' {
			return false
		}
		name, rest, ok := strings.Cut(text[1:], ">")
		if !ok || name == "" || strings.IndexFunc(name, func(r rune) bool {
			return r != '-' && r != '_' && (r < 'a' || r > 'z')
		}) >= 0 {
			return false
		}
		_, rest, ok = strings.Cut(rest, "</"+name+">")
		if !ok {
			return false
		}
		text = strings.TrimSpace(rest)
	}
}

// command reports whether a text is a typed slash command.
func command(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "<command-")
}

// speaker says whose words a user record holds. sub says that it belongs to a
// subagent, which no person talks to.
func (r *record) speaker(sub bool, text string) session.Speaker {
	switch {
	case r.summary:
		return session.Summary
	case sub || r.meta || r.injected || r.side:
		return session.Injected
	case strings.HasPrefix(text, "[Request interrupted"):
		return session.Injected
	case command(text):
		return session.Human
	case r.typed && !strings.HasPrefix(strings.TrimSpace(text), "<task-notification>"):
		return session.Human
	case wrapped(text):
		return session.Injected
	}
	return session.Human
}

// titleOf makes a title of a prompt: one line, its beginning. A slash command
// is none.
func titleOf(text string) string {
	if command(text) || wrapped(text) {
		return ""
	}
	var b strings.Builder
	points := 0
	for word := range strings.FieldsSeq(withoutEditorTags(text)) {
		if b.Len() > 0 {
			word = " " + word
		}
		for _, r := range word {
			if points == maxTitle {
				return strings.TrimRight(b.String(), " ")
			}
			b.WriteRune(r)
			points++
		}
	}
	return b.String()
}

const (
	reminderOpen  = "<system-reminder>"
	reminderClose = "</system-reminder>"
)

// withoutReminders takes off the end of a tool's result what the program put
// there for the model.
func withoutReminders(text string) string {
	for {
		rest := strings.TrimRightFunc(text, unicode.IsSpace)
		if !strings.HasSuffix(rest, reminderClose) {
			return text
		}
		i := strings.LastIndex(rest, reminderOpen)
		if i < 0 {
			return text
		}
		text = rest[:i]
	}
}

// resultBlocks returns the text of a tool result's content.
func (r *record) resultBlocks(content []byte) []session.Block {
	blocks := r.textBlocks(content)
	if n := len(blocks); n > 0 {
		blocks[n-1].Text = withoutReminders(blocks[n-1].Text)
	}
	return blocks
}

// announcement reports whether an attachment is the program's own announcement
// to the model, the same in every session: it has no text here.
func announcement(kind string) bool {
	switch kind {
	case "environment", "model", "date", "session_context", "remote_session_change", "deferred_tools_delta",
		"agent_listing_delta", "mcp_instructions_delta", "skill_listing", "total_tokens_reminder", "task_reminder":
		return true
	}
	return false
}

// hidden reports whether an attachment never reaches the model.
func hidden(kind string) bool {
	switch kind {
	case "thinking_drop", "tool_results_cut", "credential_org", "tool_offer_record", "prompt_snapshot",
		"prompt_render_point", "whole_texts_withdrawn", "deferred_tools_record":
		return true
	}
	return false
}

// attached returns what an attachment tells the model.
func (r *record) attached() []session.Block {
	if announcement(r.subtype) {
		return nil
	}
	var out []session.Block
	r.each(r.rendered, func(b *block) {
		if jsonl.IsString(b.content) {
			out = append(out, session.Block{Kind: session.TextBlock, Text: r.x.Text(b.content)})
		}
	})
	if out != nil {
		return out
	}
	content := r.field(r.attachment, "content")
	if file := r.field(r.field(content, "file"), "content"); file != nil {
		content = file
	}
	return r.textBlocks(content)
}

// queuedText returns the text of a prompt that was queued while the agent worked.
func (r *record) queuedText() []session.Block {
	return r.textBlocks(r.field(r.attachment, "prompt"))
}
