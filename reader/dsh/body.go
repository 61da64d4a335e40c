package dsh

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// maxNested is how deep results may lie in one another to give text.
const maxNested = 32

// blocks returns the blocks of a content list that carry text, and the ids of
// the calls in it. Reasoning, images and kinds that are not known give nothing.
func blocks(x *jsonl.Index, list []byte, depth int) (out []session.Block, calls [][]byte) {
	if !jsonl.IsArray(list) || depth > maxNested {
		return nil, nil
	}
	c := x.Enter(list)
	for {
		v, ok := c.Element()
		if !ok {
			return out, calls
		}
		b := parseBlock(x, v)
		switch {
		case jsonl.Is(b.typ, "text"):
			out = append(out, session.Block{Kind: session.TextBlock, Text: x.Text(b.text)})
		case jsonl.Is(b.typ, "tool-call"):
			out, calls = append(out, callBlock(x, b.name, b.arguments)), append(calls, b.id)
		case jsonl.Is(b.typ, "tool-result"):
			out = append(out, resultBlock(x, b.content, depth))
		}
	}
}

// block is one block of a content list, as it stands.
type block struct{ typ, text, id, name, arguments, content, callID []byte }

func parseBlock(x *jsonl.Index, v []byte) block {
	var b block
	if !jsonl.IsObject(v) {
		return b
	}
	c := x.Enter(v)
	for {
		name, value, ok := c.Member()
		if !ok {
			return b
		}
		switch string(name) {
		case "type":
			b.typ = value
		case "text":
			b.text = value
		case "id":
			b.id = value
		case "name":
			b.name = value
		case "arguments":
			b.arguments = value
		case "content":
			b.content = value
		case "toolCallId":
			b.callID = value
		}
	}
}

// callBlock makes a block of a call, from a message's block or from an event.
func callBlock(x *jsonl.Index, name, arguments []byte) session.Block {
	return session.Block{Kind: session.CallBlock, Name: x.Name(name), Text: x.Text(arguments)}
}

func resultBlock(x *jsonl.Index, content []byte, depth int) session.Block {
	inner, _ := blocks(x, content, depth+1)
	return session.Block{Kind: session.ResultBlock, Content: inner}
}

// todos gives status and content of each entry.
func todos(ev *session.Event, in *data) {
	ev.Body.Speaker = session.Action
	list := in.x.Field(in.raw, "todos")
	if !jsonl.IsArray(list) {
		return
	}
	c := jsonl.Enter(list)
	for {
		v, ok := c.Element()
		if !ok {
			return
		}
		for _, name := range [...]string{"status", "content"} {
			if text := jsonl.Text(jsonl.Field(v, name)); text != "" {
				ev.Body.Blocks = append(ev.Body.Blocks, session.Block{Text: text})
			}
		}
	}
}

// printed returns a plain value as the agent prints it: numbers in the form of
// ECMAScript (which is RFC 8785's). Lists and objects are not plain.
func printed(v []byte) (string, bool) {
	switch {
	case v == nil, jsonl.IsObject(v), jsonl.IsArray(v):
		return "", false
	case jsonl.IsString(v):
		return jsonl.Text(v), true
	}
	value := jsontext.Value(append([]byte(nil), v...))
	if err := value.Canonicalize(); err != nil {
		return string(v), true
	}
	return string(value), true
}

// sameness hashes the data of a tool result without its block's content, over
// values: the order of names, and how a number is spelled, do not matter, and of
// a repeated name the last one counts. x is the index of its line, if there is one.
func sameness(x *jsonl.Index, data []byte) uint64 {
	return max(hashValue(x, data, blockPath[:], 0), 1)
}

// blockPath leads to the block's content; "" is any element of a list.
var blockPath = [...]string{"message", "content", "", "content"}

// maxHashed is how deep values are told apart by what they mean; what lies
// deeper is told apart by its bytes.
const maxHashed = 32

// hashValue hashes a value without what path leads to; an empty path leads
// nowhere.
func hashValue(x *jsonl.Index, v []byte, path []string, depth int) uint64 {
	switch {
	case depth == maxHashed:
	case jsonl.IsObject(v):
		return hashObject(x, v, path, depth)
	case jsonl.IsArray(v):
		h, c := mix(0, 'a'), x.Enter(v)
		for {
			e, ok := c.Element()
			if !ok {
				return h
			}
			h = mix(h, hashValue(x, e, below(path, ""), depth+1))
		}
	case jsonl.IsString(v):
		if inner := v[1 : len(v)-1]; jsonl.Verbatim(inner) {
			return hashBytes('s', inner)
		}
		return hashBytes('s', []byte(jsonl.Text(v)))
	case jsonl.IsNumber(v):
		f, err := strconv.ParseFloat(string(v), 64)
		if err == nil && f == 0 {
			f = 0 // there is one zero
		}
		return mix('n', math.Float64bits(f))
	}
	return hashBytes('l', v)
}

// maxFew is up to how many members of an object are told apart without a map.
const maxFew = 16

func hashObject(x *jsonl.Index, v []byte, path []string, depth int) uint64 {
	var few [maxFew]struct{ name, value uint64 }
	n := 0
	var many map[uint64]uint64
	c := x.Enter(v)
next:
	for {
		member, value, ok := c.Member()
		if !ok {
			break
		}
		if len(path) == 1 && path[0] == string(member) {
			continue
		}
		name, hash := hashBytes('k', member), hashValue(x, value, below(path, string(member)), depth+1)
		for i := range few[:n] {
			if few[i].name == name {
				few[i].value = hash
				continue next
			}
		}
		if n < maxFew {
			few[n].name, few[n].value = name, hash
			n++
			continue
		}
		if many == nil {
			many = make(map[uint64]uint64)
		}
		many[name] = hash
	}
	// A sum, so that order does not matter.
	h := uint64('o')
	for _, m := range few[:n] {
		h += mix(m.name, m.value)
	}
	for name, value := range many {
		h += mix(name, value)
	}
	return h
}

// below returns the rest of a path behind a step; nil if the step leaves it.
func below(path []string, step string) []string {
	if len(path) < 2 || path[0] != step {
		return nil
	}
	return path[1:]
}

// hashBytes is FNV-1a over the kind and the bytes.
func hashBytes(kind byte, b []byte) uint64 {
	const offset, prime = 0xcbf29ce484222325, 0x100000001b3
	h := (offset ^ uint64(kind)) * prime
	for _, c := range b {
		h = (h ^ uint64(c)) * prime
	}
	return h
}

// mix combines two hashes, in order.
func mix(a, b uint64) uint64 {
	h := (a ^ 0xcbf29ce484222325) * 0x100000001b3
	h ^= b + 0x9e3779b97f4a7c15 + h<<6 + h>>2
	h *= 0xff51afd7ed558ccd
	return h ^ h>>32
}
