package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// claudeFile is where Claude Code keeps what holds for all projects: an older
// file in its home wins if it is there; else the file lies in CLAUDE_CONFIG_DIR,
// or beside the default home and not in it. Observed with version 2.1.332.
func (p Places) claudeFile() string {
	legacy := filepath.Join(p.home(Claude), ".config.json")
	if _, err := os.Stat(legacy); err == nil {
		return legacy
	}
	return filepath.Join(or(p.Homes[Claude], p.Home), ".claude.json")
}

// jsonFile is the form of most agents: strict JSON, servers by name in
// "mcpServers". They differ in what an entry says beside its command.
type jsonFile struct {
	key        string  // of the object of the servers; "": mcpServers
	joined     bool    // "command" is a list of the program and its arguments, and "environment" is what others call "env"
	kind, also string  // what "type" says of a server that is a program, and another word for it; "": nothing
	env        bool    // an empty "env" is written too
	extra      []extra // settings that every entry gets, in order
	comments   bool    // the file may hold comments
	trailing   bool    // and commas behind the last of a list or an object
	lists      bool    // "mcp" beside the servers lists those that run and those that do not
}

// extra is a setting of an entry: its name and its JSON.
type extra struct{ name, value string }

// bare returns a text without its byte order mark, its comments and its last
// commas blanked where it may have some: it keeps its length and its lines.
func (f jsonFile) bare(text []byte) (mark, rest []byte) {
	mark, rest = unmark(text)
	if f.comments {
		rest = uncommented(rest)
	}
	if f.trailing {
		untrailed(rest)
	}
	return mark, rest
}

// untrailed puts spaces in the place of the commas of a text without comments
// that stand between a value and a closing bracket.
func untrailed(text []byte) {
	var last, before byte // the latest characters that are no space
	at := 0               // of the latest
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '}', ']':
			if last == ',' && bytes.IndexByte([]byte("{[,:\x00"), before) < 0 {
				text[at] = ' '
			}
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
		before, last, at = last, c, i
	}
}

// uncommented returns a text in which spaces stand for the comments.
func uncommented(text []byte) []byte {
	out := bytes.Clone(text)
	for i := 0; i < len(out); i++ {
		end := -1
		switch {
		case out[i] == '"':
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case bytes.HasPrefix(out[i:], []byte("//")):
			if end = bytes.IndexAny(out[i:], "\r\n"); end < 0 {
				end = len(out) - i
			}
		case bytes.HasPrefix(out[i:], []byte("/*")):
			if end = bytes.Index(out[i+2:], []byte("*/")); end >= 0 {
				end += 4
			}
		}
		for ; end > 0; end-- {
			if out[i] != '\n' && out[i] != '\r' {
				out[i] = ' '
			}
			i++
		}
		if end == 0 {
			i--
		}
	}
	return out
}

func (f jsonFile) servers() string { return or(f.key, "mcpServers") }

// member is one name and value of an object, as offsets into its text.
type member struct {
	name                 string
	keyStart, start, end int // of the key, and of the value
}

// document checks a whole text and returns its top-level members. open and
// closed are the offsets behind its brace and of its closing one.
func document(text []byte) (list []member, open, closed int, err error) {
	var checked json.RawMessage
	if err := json.Unmarshal(text, &checked); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, 0, 0, flawed(lineAt(text, int(syntax.Offset)-1), "%s", syntax.Error())
		}
		return nil, 0, 0, flawed(0, "%s", err)
	}
	start := len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
	if text[start] != '{' {
		return nil, 0, 0, flawed(lineAt(text, start), "the file holds no JSON object")
	}
	list, closed, err = members(text, start)
	return list, start + 1, closed, err
}

// members lists the members of the object that begins at an offset of a valid
// text, and returns the offset of its closing brace.
func members(text []byte, at int) ([]member, int, error) {
	d := json.NewDecoder(bytes.NewReader(text[at:]))
	if _, err := d.Token(); err != nil {
		return nil, 0, flawed(lineAt(text, at), "%s", err)
	}
	var list []member
	for d.More() {
		previous := at + int(d.InputOffset())
		key, err := d.Token()
		if err != nil {
			return nil, 0, flawed(lineAt(text, previous), "%s", err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, 0, flawed(lineAt(text, previous), "%s", err)
		}
		m := member{end: at + int(d.InputOffset())}
		m.name, _ = key.(string)
		m.keyStart = previous + bytes.IndexByte(text[previous:], '"')
		m.start = m.end - len(value)
		for _, other := range list {
			if other.name == m.name {
				return nil, 0, flawed(lineAt(text, m.keyStart), "%q stands twice in one object", m.name)
			}
		}
		list = append(list, m)
	}
	closed := at + int(d.InputOffset())
	return list, closed + bytes.IndexByte(text[closed:], '}'), nil
}

func named(list []member, name string) (int, bool) {
	for i, m := range list {
		if m.name == name {
			return i, true
		}
	}
	return 0, false
}

// block is the object of the servers: where it is and what it holds.
type block struct {
	members      []member
	open, closed int
}

// find finds the object of the servers; ok is false if there is none.
func (f jsonFile) find(text []byte) (top, in block, ok bool, err error) {
	if top.members, top.open, top.closed, err = document(text); err != nil {
		return top, in, false, err
	}
	i, ok := named(top.members, f.servers())
	if !ok {
		return top, in, false, nil
	}
	m := top.members[i]
	if text[m.start] != '{' {
		return top, in, false, flawed(lineAt(text, m.start), "%s is no object", f.servers())
	}
	in.open = m.start + 1
	in.members, in.closed, err = members(text, m.start)
	return top, in, true, err
}

func orEmpty(text []byte) []byte {
	if len(bytes.TrimSpace(text)) == 0 {
		return []byte("{}\n")
	}
	return text
}

// entry reads a server; what does not decode, or holds other settings than are
// made here, is another kind, and stays as it is.
func (f jsonFile) entry(name string, text []byte) entry {
	e := entry{Server: Server{Name: name}}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		e.other = true
		return e
	}
	wanted := map[string]string{}
	for _, x := range f.extra {
		wanted[x.name] = x.value
		e.other = e.other || fields[x.name] == nil
	}
	for key, value := range fields {
		var err error
		switch key {
		case "type":
			var kind string
			err = json.Unmarshal(value, &kind)
			e.other = e.other || kind != "" && kind != "stdio" && kind != f.kind && kind != f.also
		case "command":
			if !f.joined {
				err = json.Unmarshal(value, &e.Command)
				break
			}
			var words []string
			if err = json.Unmarshal(value, &words); err == nil && len(words) > 0 {
				e.Command, e.Args = words[0], words[1:]
			}
		case "environment":
			err = json.Unmarshal(value, &e.Env)
			e.other = e.other || !f.joined
		case "args":
			err = json.Unmarshal(value, &e.Args)
		case "env":
			err = json.Unmarshal(value, &e.Env)
		case "enabled":
			e.disabled = string(value) == "false"
			e.other = true
		default:
			e.other = e.other || wanted[key] == "" || !sameValue(value, wanted[key])
		}
		e.other = e.other || err != nil
	}
	return e
}

func sameValue(a []byte, b string) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// object writes a server as the agent's own command does.
func (f jsonFile) object(s Server) (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	put := func(name string, value any) error {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		if err := e.Encode(value); err != nil {
			return err
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", name, bytes.TrimSpace(text.Bytes()))
		return nil
	}
	var err error
	if f.kind != "" {
		err = put("type", f.kind)
	}
	env := "env"
	if f.joined {
		env = "environment"
		err = errors.Join(err, put("command", append([]string{s.Command}, s.Args...)))
	} else {
		err = errors.Join(err, put("command", s.Command), put("args", s.Args))
	}
	switch {
	case len(s.Env) > 0:
		err = errors.Join(err, put(env, s.Env))
	case f.env:
		err = errors.Join(err, put(env, map[string]string{}))
	}
	for _, x := range f.extra {
		err = errors.Join(err, put(x.name, json.RawMessage(x.value)))
	}
	b.WriteByte('}')
	return b.Bytes(), err
}

func (f jsonFile) entries(text []byte) ([]entry, error) {
	_, text = f.bare(text)
	text = orEmpty(text)
	top, in, _, err := f.find(text)
	if err != nil {
		return nil, err
	}
	runs := f.runs(text, top.members)
	var all []entry
	for _, m := range in.members {
		e := f.entry(m.name, text[m.start:m.end])
		e.line = lineAt(text, m.keyStart)
		e.disabled = e.disabled || !runs(m.name)
		all = append(all, e)
	}
	return all, nil
}

// runs tells of a server's name whether the settings beside the servers let it
// run: Gemini and Qwen have lists of those that may and of those that may not.
func (f jsonFile) runs(text []byte, top []member) func(name string) bool {
	var lists struct{ Allowed, Excluded []string }
	if i, ok := named(top, "mcp"); ok && f.lists {
		// What is not understood keeps nothing from running.
		_ = json.Unmarshal(text[top[i].start:top[i].end], &lists)
	}
	return func(name string) bool {
		return !slices.Contains(lists.Excluded, name) && (len(lists.Allowed) == 0 || slices.Contains(lists.Allowed, name))
	}
}

func (f jsonFile) without(text []byte, name string) (any, error) {
	_, text = f.bare(text)
	text = orEmpty(text)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	doc := map[string]any{}
	if err := d.Decode(&doc); err != nil {
		return nil, flawed(0, "%s", err)
	}
	if list, ok := doc[f.servers()].(map[string]any); ok {
		if delete(list, name); len(list) == 0 {
			delete(doc, f.servers())
		}
	}
	return doc, nil
}

// indent is what the first member of a block is indented with; flat reports
// that the block stands in one line.
func indent(text []byte, b block, fallback string) (space string, flat bool) {
	if len(b.members) == 0 {
		return fallback, false
	}
	lead := string(text[b.open:b.members[0].keyStart])
	i := strings.LastIndexByte(lead, '\n')
	if i < 0 {
		return "", true
	}
	return lead[i+1:], false
}

func (f jsonFile) add(text []byte, s Server) ([]byte, error) {
	mark, text := unmark(text)
	if _, bare := f.bare(text); len(bytes.TrimSpace(bare)) == 0 {
		text = append(bytes.Clone(text), orEmpty(nil)...)
	}
	_, bare := f.bare(text)
	top, in, ok, err := f.find(bare)
	if err != nil {
		return nil, err
	}
	end := lineEnd(text)
	outer, flat := indent(bare, top, "  ")
	unit := or(outer, "  ")
	value, err := f.object(s)
	if err != nil {
		return nil, err
	}
	at, prefix, key, encoded := top, outer, f.servers(), any(map[string]json.RawMessage{s.Name: value})
	if ok {
		at, key, encoded = in, s.Name, value
		prefix, flat = indent(bare, in, outer+unit)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if !flat {
		e.SetIndent(prefix, unit)
	}
	if err := e.Encode(encoded); err != nil {
		return nil, err
	}
	quoted, err := json.Marshal(key)
	if err != nil {
		return nil, err
	}
	piece := string(quoted) + ": " + strings.TrimSuffix(b.String(), "\n")
	return append(bytes.Clone(mark), place(text, at, piece, prefix, strings.TrimSuffix(prefix, unit), flat, end)...), nil
}

// place puts one more member at the end of a block.
func place(text []byte, at block, piece, prefix, outer string, flat bool, end string) []byte {
	piece = strings.ReplaceAll(piece, "\n", end)
	var insert string
	from, to := at.open, at.closed
	switch {
	case len(at.members) == 0:
		insert = end + prefix + piece + end + outer
	case flat:
		from = at.members[len(at.members)-1].end
		to = from
		insert = ", " + piece
	default:
		from = at.members[len(at.members)-1].end
		to = from
		insert = "," + end + prefix + piece
	}
	return splice(text[:from], insert, text[to:])
}

func splice(a []byte, b string, c []byte) []byte {
	out := make([]byte, 0, len(a)+len(b)+len(c))
	return append(append(append(out, a...), b...), c...)
}

func (f jsonFile) remove(text []byte, name string) ([]byte, error) {
	mark, text := unmark(text)
	_, bare := f.bare(text)
	_, in, _, err := f.find(bare)
	if err != nil {
		return nil, err
	}
	i, ok := named(in.members, name)
	if !ok {
		return nil, flawed(0, "there is no server %q", name)
	}
	m := in.members[i]
	from, to := m.keyStart, m.end
	switch {
	case i > 0:
		from = in.members[i-1].end
	case len(in.members) > 1:
		to = in.members[1].keyStart
	default:
		from, to = in.open, in.closed
	}
	return append(bytes.Clone(mark), splice(text[:from], "", text[to:])...), nil
}
