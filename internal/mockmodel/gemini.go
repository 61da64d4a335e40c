package mockmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// fromGemini reads a request of Gemini's generateContent. Its path says whether
// the answer is a stream.
func fromGemini(q object) conversation {
	c := conversation{model: "mock-1", results: map[string]string{}}
	answering := false
	for _, m := range list(q["contents"]) {
		m := fields(m)
		role := "user"
		if m["role"] == "model" {
			role = "assistant"
		}
		if role == "assistant" && !answering {
			c.turn++
		}
		answering = role == "assistant"
		for _, p := range list(m["parts"]) {
			p := fields(p)
			switch {
			case p["functionCall"] != nil:
				f := fields(p["functionCall"])
				args, err := json.Marshal(f["args"])
				if err != nil {
					panic(err) // it was JSON a moment ago
				}
				c.said = append(c.said, Message{Role: "call", Text: string(args), Call: bare(f["id"]), Tool: text(f["name"])})
			case p["functionResponse"] != nil:
				f := fields(p["functionResponse"])
				response := fields(f["response"])
				said := text(response["output"])
				if said == "" {
					said = text(response["error"])
				}
				c.results[bare(f["id"])] = said
				c.said = append(c.said, Message{Role: "result", Text: said, Call: bare(f["id"]), Tool: text(f["name"])})
			case p["thought"] != true && text(p["text"]) != "":
				c.said = append(c.said, Message{Role: role, Text: text(p["text"])})
			}
		}
	}
	for _, t := range list(q["tools"]) {
		for _, f := range list(fields(t)["functionDeclarations"]) {
			c.tools = append(c.tools, offered{name: text(fields(f)["name"])})
		}
	}
	return c
}

func sendGemini(w http.ResponseWriter, a answer, stream bool) {
	head := object{"modelVersion": a.model, "responseId": fmt.Sprintf("mock%02d", a.index)}
	send := func(parts []any, last bool) {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
		if last {
			candidate["finishReason"] = "STOP"
			head["usageMetadata"] = object{"promptTokenCount": a.size, "candidatesTokenCount": 20, "totalTokenCount": a.size + 20}
		}
		head["candidates"] = []any{candidate}
		if stream {
			event(w, "", head)
		} else {
			write(w, head)
		}
	}
	var parts []any
	said := a.turn.Text
	if texts := halves(said); stream && len(texts) > 1 {
		send([]any{object{"text": texts[0]}}, false)
		if a.pause != nil {
			a.pause()
			return
		}
		said = texts[1]
	}
	if said != "" {
		parts = append(parts, object{"text": said})
	}
	for i := range a.turn.Calls {
		parts = append(parts, object{"functionCall": object{"id": "call_" + a.id(i), "name": a.tools[i].name, "args": json.RawMessage(a.args(i))}})
	}
	send(parts, true)
}
