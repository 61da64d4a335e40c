package mockmodel

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// fromChat reads a request of the Chat Completions API.
func fromChat(q object) conversation {
	stream, _ := q["stream"].(bool)
	c := conversation{model: text(q["model"]), stream: stream, results: map[string]string{}}
	answering := false
	for _, m := range list(q["messages"]) {
		m := fields(m)
		role := text(m["role"])
		if role == "assistant" && !answering {
			c.turn++
		}
		answering = role == "assistant"
		said := texts(m["content"])
		switch role {
		case "user":
			if parts := list(m["content"]); len(parts) > 0 {
				for _, p := range parts {
					c.said = append(c.said, Message{Role: "user", Text: text(fields(p)["text"])})
				}
			} else {
				c.said = append(c.said, Message{Role: "user", Text: said})
			}
		case "assistant":
			if said != "" {
				c.said = append(c.said, Message{Role: "assistant", Text: said})
			}
			for _, call := range list(m["tool_calls"]) {
				call, f := fields(call), fields(fields(call)["function"])
				c.said = append(c.said, Message{Role: "call", Text: text(f["arguments"]), Call: bare(call["id"]), Tool: text(f["name"])})
			}
		case "tool":
			c.results[bare(m["tool_call_id"])] = said
			c.said = append(c.said, Message{Role: "result", Text: said, Call: bare(m["tool_call_id"])})
		}
	}
	for _, t := range list(q["tools"]) {
		c.tools = append(c.tools, offered{name: text(fields(fields(t)["function"])["name"])})
	}
	return c
}

// bare is an id of a call without what its format, or an agent, begins it with.
func bare(id any) string {
	const mark = "call_"
	return text(id)[strings.LastIndex(mark+text(id), mark):]
}

func sendChat(w http.ResponseWriter, a answer, stream bool) {
	head := object{"id": fmt.Sprintf("chatcmpl-mock%02d", a.index), "created": 1772442000, "model": a.model}
	usage := object{"prompt_tokens": a.size, "completion_tokens": 20, "total_tokens": a.size + 20}
	reason := "stop"
	var calls []object
	for i := range a.turn.Calls {
		reason = "tool_calls"
		calls = append(calls, object{
			"index": i, "id": "call_" + a.id(i), "type": "function",
			"function": object{"name": a.tools[i].name, "arguments": a.args(i)},
		})
	}
	if !stream {
		message := object{"role": "assistant", "content": a.turn.Text}
		if calls != nil {
			message["tool_calls"] = calls
		}
		head["object"], head["usage"] = "chat.completion", usage
		head["choices"] = []any{object{"index": 0, "message": message, "finish_reason": reason}}
		write(w, head)
		return
	}
	head["object"] = "chat.completion.chunk"
	chunk := func(delta object, reason any) {
		head["choices"] = []any{object{"index": 0, "delta": delta, "finish_reason": reason}}
		event(w, "", head)
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	for i, part := range halves(a.turn.Text) {
		chunk(object{"content": part}, nil)
		if i == 0 && a.pause != nil {
			a.pause()
			return
		}
	}
	for _, call := range calls {
		chunk(object{"tool_calls": []any{call}}, nil)
	}
	chunk(object{}, reason)
	head["choices"], head["usage"] = []any{}, usage
	event(w, "", head)
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// halves cuts a text in two, so that it comes as a stream; "" has no parts.
func halves(s string) []string {
	if r := []rune(s); len(r) > 1 {
		return []string{string(r[:len(r)/2]), string(r[len(r)/2:])}
	}
	if s == "" {
		return nil
	}
	return []string{s}
}
