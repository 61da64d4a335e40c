package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine is the longest line, in bytes, that is taken for a message. The
// largest honest request is far smaller.
const maxLine = 4 << 20

// rejection is why a message is not handed on, and what its sender is told.
type rejection struct {
	code   int64
	reason string
	id     json.RawMessage // of the message, as far as it is certain; nil: unknown
}

// encode makes the answer's line, without its end.
func (r *rejection) encode() []byte {
	id := r.id
	if id == nil {
		id = json.RawMessage("null")
	}
	reason, err := json.Marshal(r.reason)
	if err != nil {
		reason = []byte(`""`)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, r.code, reason)
}

// parse takes a line apart into requests and notifications that the SDK is
// certain to accept, and rejections of the rest. Responses are dropped: this
// server asks nothing. A batch, which early revisions of the protocol have, is
// taken apart as well and its members are answered one by one.
func parse(line []byte) (requests []*jsonrpc.Request, rejected []*rejection) {
	if !utf8.Valid(line) || !json.Valid(line) {
		return nil, []*rejection{{code: jsonrpc.CodeParseError, reason: "the line is no JSON text"}}
	}
	members := []json.RawMessage{line}
	if bytes.TrimLeft(line, " \t\r")[0] == '[' {
		if err := json.Unmarshal(line, &members); err != nil || len(members) == 0 {
			return nil, []*rejection{{code: jsonrpc.CodeInvalidRequest, reason: "the batch is empty"}}
		}
	}
	for _, m := range members {
		req, no := parseOne(m)
		if no != nil {
			rejected = append(rejected, no)
		} else if req != nil {
			requests = append(requests, req)
		}
	}
	return requests, rejected
}

// parseOne checks one message. Neither a request nor a rejection: a response.
func parseOne(message json.RawMessage) (*jsonrpc.Request, *rejection) {
	e := envelopeOf(message)
	invalid := func(reason string) (*jsonrpc.Request, *rejection) {
		return nil, &rejection{code: jsonrpc.CodeInvalidRequest, reason: reason, id: e.certainID()}
	}
	switch {
	case !e.object:
		return invalid("a message must be an object")
	case e.twice != "":
		return invalid("a message must not have " + e.twice + " twice")
	case string(e.fields["jsonrpc"]) != `"2.0"`:
		return invalid(`a message must have jsonrpc "2.0"`)
	}
	if e.fields["method"] == nil {
		if e.fields["result"] != nil || e.fields["error"] != nil {
			return nil, nil
		}
		return invalid("a request must have a method")
	}
	if e.fields["id"] != nil && e.certainID() == nil {
		return invalid("an id must be a string or an integer")
	}
	decoded, err := jsonrpc.DecodeMessage(message)
	if err != nil {
		return invalid("the message has not the form of a request")
	}
	req, ok := decoded.(*jsonrpc.Request)
	if !ok || req.IsCall() != (e.fields["id"] != nil) {
		return invalid("the message has not the form of a request")
	}
	return req, nil
}

// envelope is the top level of a message, read with exact, case-sensitive names.
type envelope struct {
	object bool
	fields map[string]json.RawMessage // jsonrpc, id, method, params, result, error
	twice  string                     // the name of a field that occurs twice
}

// envelopeOf reads as much of the top level as there is: data may be the
// beginning of a message that is too long to be read whole.
func envelopeOf(data []byte) envelope {
	e := envelope{fields: make(map[string]json.RawMessage)}
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return e
	}
	e.object = true
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return e
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil || dec.InputOffset() == int64(len(data)) {
			return e // nothing follows: the value may go on
		}
		switch field, _ := name.(string); field {
		case "jsonrpc", "id", "method", "params", "result", "error":
			if e.fields[field] != nil {
				e.twice = field
			}
			e.fields[field] = value
		}
	}
	return e
}

// certainID returns the id if an answer with it cannot be taken for that of
// another request: a string, or an integer that every peer reads exactly.
func (e envelope) certainID() json.RawMessage {
	id := e.fields["id"]
	if len(id) == 0 || e.twice == "id" {
		return nil
	}
	if id[0] == '"' {
		return id
	}
	const exact = 1 << 53
	if n, err := strconv.ParseInt(string(id), 10, 64); err != nil || n <= -exact || n >= exact || strings.HasPrefix(string(id), "-0") {
		return nil
	}
	return id
}

// plain takes back the escapes that the SDK writes for <, > and & in texts,
// each six bytes long, as if JSON were to stand in a web page. The meaning stays.
func plain(line []byte) []byte {
	if !bytes.Contains(line, []byte(`\u00`)) {
		return line
	}
	out := line[:0] // never longer than what has been read
	for i := 0; i < len(line); {
		if line[i] != '\\' || i+1 == len(line) {
			out = append(out, line[i])
			i++
			continue
		}
		n := 2 // an escape and what it escapes
		if i+6 <= len(line) {
			switch string(line[i : i+6]) {
			case `\u003c`:
				out, n = append(out, '<'), 6
			case `\u003e`:
				out, n = append(out, '>'), 6
			case `\u0026`:
				out, n = append(out, '&'), 6
			}
		}
		if n == 2 {
			out = append(out, line[i], line[i+1])
		}
		i += n
	}
	return out
}
