package mockmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// fromMessages reads a request of the Messages API.
func fromMessages(q object) conversation {
	stream, _ := q["stream"].(bool)
	c := conversation{model: text(q["model"]), stream: stream, results: map[string]string{}}
	answering := false
	for _, m := range list(q["messages"]) {
		m := fields(m)
		// An answer may be handed back as several messages.
		assistant := m["role"] == "assistant"
		if assistant && !answering {
			c.turn++
		}
		answering = assistant
		for _, block := range list(m["content"]) {
			if b := fields(block); b["type"] == "tool_result" {
				c.results[strings.TrimPrefix(text(b["tool_use_id"]), "toolu_")] = texts(b["content"])
			}
		}
	}
	for _, t := range list(q["tools"]) {
		c.tools = append(c.tools, offered{name: text(fields(t)["name"])})
	}
	return c
}

func sendMessage(w http.ResponseWriter, a answer, stream bool) {
	var blocks []object
	if a.turn.Text != "" {
		blocks = append(blocks, object{"type": "text", "text": a.turn.Text})
	}
	stop := "end_turn"
	for i := range a.turn.Calls {
		stop = "tool_use"
		blocks = append(blocks, object{"type": "tool_use", "id": "toolu_" + a.id(i), "name": a.tools[i].name, "input": json.RawMessage(a.args(i))})
	}
	message := object{
		"id": fmt.Sprintf("msg_mock%02d", a.index), "type": "message", "role": "assistant", "model": a.model,
		"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": 100, "output_tokens": 1},
	}
	if !stream {
		message["content"], message["stop_reason"] = blocks, stop
		write(w, message)
		return
	}
	message["content"] = []any{}
	event(w, "message_start", object{"type": "message_start", "message": message})
	for i, b := range blocks {
		start := object{"type": "text", "text": ""}
		delta := object{"type": "text_delta", "text": b["text"]}
		if b["type"] == "tool_use" {
			start = object{"type": "tool_use", "id": b["id"], "name": b["name"], "input": object{}}
			delta = object{"type": "input_json_delta", "partial_json": string(b["input"].(json.RawMessage))}
		}
		event(w, "content_block_start", object{"type": "content_block_start", "index": i, "content_block": start})
		event(w, "content_block_delta", object{"type": "content_block_delta", "index": i, "delta": delta})
		event(w, "content_block_stop", object{"type": "content_block_stop", "index": i})
	}
	event(w, "message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 20}})
	event(w, "message_stop", object{"type": "message_stop"})
}
