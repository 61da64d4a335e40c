package qwen

import (
	"strings"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// texts are what the parts of a message say.
func texts(x *jsonl.Index, parts []byte) []session.Block {
	var out []session.Block
	each(x, parts, func(_ int64, p part) {
		if text := x.Text(p.text); text != "" {
			out = append(out, session.Block{Text: text})
		}
	})
	return out
}

// reminders are the marks around what the agent puts beside a prompt.
var reminders = [...][2]string{{"<system-reminder>", "</system-reminder>"}}

// startup is how the context begins that every session is given.
const startup = "This is the Qwen Code. We are setting up the context"

// typed returns what a person said of the texts of a message: without the agent's
// reminders and without the context that it gives to every session.
func typed(list []session.Block) []session.Block {
	var out []session.Block
	for _, b := range list {
		text := strings.TrimSpace(b.Text)
		own := strings.HasPrefix(text, startup)
		for _, mark := range reminders {
			own = own || strings.HasPrefix(text, mark[0]) && strings.HasSuffix(text, mark[1])
		}
		if !own {
			out = append(out, b)
		}
	}
	return out
}

// userBody is what a message in the user's role says, and who says it.
func (r *record) userBody() session.Body {
	list := texts(r.x, r.parts)
	b := session.Body{Speaker: session.Human, Blocks: typed(list)}
	switch r.subtype {
	case "", "mid_turn_user_message", "at_command":
	default:
		b.Speaker = session.Injected // notifications, schedules, goals
	}
	if r.sidechain || len(b.Blocks) == 0 && len(list) > 0 {
		b.Speaker = session.Injected
	}
	return b
}

func callBody(x *jsonl.Index, call []byte) session.Body {
	args := x.Field(call, "args")
	return session.Body{
		Speaker: session.Action, CallID: x.Text(x.Field(call, "id")),
		Blocks: []session.Block{{Kind: session.CallBlock, Name: x.Name(x.Field(call, "name")), Text: string(args)}},
	}
}

// resultBody is what a tool returned.
func resultBody(x *jsonl.Index, response, outcome []byte) session.Body {
	b := session.Body{Speaker: session.Tool, CallID: x.Text(x.Field(response, "id"))}
	answer := x.Field(response, "response")
	text := ""
	switch output, failure := x.Field(answer, "output"), x.Field(answer, "error"); {
	case jsonl.IsString(output):
		text = x.Text(output)
	case jsonl.IsString(failure):
		text, b.ErrorName = x.Text(failure), "error"
	case jsonl.IsString(answer):
		text = x.Text(answer)
	default:
		text = string(answer)
	}
	if status := x.Name(x.Field(outcome, "status")); status == "error" || status == "cancelled" {
		b.ErrorName = status
	}
	result := session.Block{Kind: session.ResultBlock}
	if text != "" {
		result.Content = []session.Block{{Text: text}}
	}
	b.Blocks = []session.Block{result}
	return b
}

// maxTitle is how long a title made of a prompt may be, in code points.
const maxTitle = 80

func headline(list []session.Block) string {
	for _, b := range list {
		if line := oneLine(b.Text); line != "" && !strings.HasPrefix(line, "/") {
			return line
		}
	}
	return ""
}

func oneLine(text string) string {
	// Far more than is needed, so that a huge prompt is not split as a whole.
	if len(text) > 1<<14 {
		text = text[:1<<14]
	}
	line := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " "))
	return string(line[:min(len(line), maxTitle)])
}

// likeness is a hash of the role and the texts of a message, and of the calls that
// it makes: what a compaction repeats is known by it.
func likeness(x *jsonl.Index, model bool, parts []byte) uint64 {
	h := uint64(1)
	if model {
		h = 2
	}
	each(x, parts, func(_ int64, p part) {
		switch {
		case p.call != nil:
			h = jsonl.Hash(h, []byte(x.Text(x.Field(p.call, "id"))))
		case p.text != nil:
			h = jsonl.Hash(h, []byte(x.Text(p.text)))
		}
	})
	return max(h, 1)
}
