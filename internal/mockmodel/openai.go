package mockmodel

import (
	"fmt"
	"net/http"
	"strings"
)

// fromResponses reads a request of the Responses API.
func fromResponses(q object) conversation {
	stream, _ := q["stream"].(bool)
	c := conversation{model: text(q["model"]), stream: stream, results: map[string]string{}}
	seen, answering := map[string]bool{}, false
	for _, item := range list(q["input"]) {
		it := fields(item)
		switch kind := text(it["type"]); {
		case kind == "function_call_output":
			c.results[strings.TrimPrefix(text(it["call_id"]), "call_")] = texts(it["output"])
			answering = false
		case strings.HasSuffix(kind, "_call"):
			// Calls and results of one turn may come in pairs; the ids tell.
			turn := text(it["call_id"])
			turn = turn[:max(strings.LastIndexByte(turn, '_'), 0)]
			if !answering && !seen[turn] {
				c.turn++
			}
			seen[turn], answering = true, true
		case it["role"] == "assistant", kind == "reasoning":
			if !answering {
				c.turn++
			}
			answering = true
		default:
			answering = false
		}
	}
	c.offer(q["tools"], "")
	return c
}

// offer collects tools, those within namespaces too.
func (c *conversation) offer(tools any, namespace string) {
	for _, t := range list(tools) {
		t := fields(t)
		if t["type"] == "namespace" {
			c.offer(t["tools"], text(t["name"]))
			continue
		}
		c.tools = append(c.tools, offered{text(t["name"]), namespace})
	}
}

func sendResponse(w http.ResponseWriter, a answer, stream bool) {
	id := fmt.Sprintf("resp_mock%02d", a.index)
	var items []object
	if a.turn.Text != "" {
		items = append(items, object{
			"type": "message", "id": fmt.Sprintf("msg_mock%02d", a.index), "role": "assistant", "status": "completed",
			"content": []any{object{"type": "output_text", "text": a.turn.Text, "annotations": []any{}}},
		})
	}
	for i := range a.turn.Calls {
		it := object{"type": "function_call", "id": "fc_" + a.id(i), "call_id": "call_" + a.id(i), "name": a.tools[i].name, "arguments": a.args(i), "status": "completed"}
		if a.tools[i].namespace != "" {
			it["namespace"] = a.tools[i].namespace
		}
		items = append(items, it)
	}
	done := object{
		"id": id, "object": "response", "created_at": 1772442000, "status": "completed", "model": a.model, "output": items,
		"usage": object{
			"input_tokens": 100, "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": 20, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 120,
		},
	}
	if !stream {
		write(w, done)
		return
	}
	number := 0
	send := func(kind string, v object) {
		v["type"], v["sequence_number"] = kind, number
		number++
		event(w, kind, v)
	}
	send("response.created", object{"response": object{"id": id, "object": "response", "status": "in_progress", "model": a.model, "output": []any{}}})
	for i, it := range items {
		send("response.output_item.added", object{"output_index": i, "item": it})
		if it["type"] == "message" {
			send("response.output_text.delta", object{"output_index": i, "content_index": 0, "item_id": it["id"], "delta": a.turn.Text})
		}
		send("response.output_item.done", object{"output_index": i, "item": it})
	}
	send("response.completed", object{"response": done})
}
