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
	in         string  // the object that the object of the servers is in; "": none
	key        string  // of the object of the servers; "": mcpServers
	joined     bool    // "command" is a list of the program and its arguments, and "environment" is what others call "env"
	kind, also string  // what "type" says of a server that is a program, and another word for it; "": nothing
	env        bool    // an empty "env" is written too
	extra      []extra // settings that every entry gets, in order
	comments   bool    // the file may hold comments
	trailing   bool    // and commas behind the last of a list or an object
	five       bool    // it is JSON5, with all of that
	lists      bool    // "mcp" beside the servers lists those that run and those that do not
}

// extra is a setting of an entry: its name and its JSON.
type extra struct{ name, value string }

// bare returns a text as strict JSON without its byte order mark.
func (f jsonFile) bare(text []byte) (mark []byte, p strict) {
	mark, text = unmark(text)
	if f.five {
		return mark, ofJSON5(text)
	}
	if f.comments {
		text = uncommented(text)
	}
	if f.trailing {
		untrailed(text)
	}
	return mark, strict{text: text}
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
		case out[i] == '"', out[i] == '\'': // the latter in JSON5 alone
			quote := out[i]
			for i++; i < len(out) && out[i] != quote; i++ {
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

// path leads to the object of the servers.
func (f jsonFile) path() []string {
	if f.in == "" {
		return []string{or(f.key, "mcpServers")}
	}
	return []string{f.in, or(f.key, "mcpServers")}
}

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

// block is an object: where it is and what it holds.
type block struct {
	members      []member
	open, closed int
}

// of turns a block's offsets into those of the text that was made plain.
func (b block) of(p strict) block {
	out := block{open: p.behind(b.open), closed: p.at(b.closed)}
	for _, m := range b.members {
		out.members = append(out.members, member{m.name, p.at(m.keyStart), p.at(m.start), p.behind(m.end)})
	}
	return out
}

// find finds the objects that lead to that of the servers, the whole document
// first, as far as they are there; ok reports that the last is that of the servers.
func (f jsonFile) find(text []byte) (chain []block, ok bool, err error) {
	var b block
	if b.members, b.open, b.closed, err = document(text); err != nil {
		return nil, false, err
	}
	chain = append(chain, b)
	for _, name := range f.path() {
		i, ok := named(b.members, name)
		if !ok {
			return chain, false, nil
		}
		m := b.members[i]
		if text[m.start] != '{' {
			return nil, false, flawed(lineAt(text, m.start), "%s is no object", name)
		}
		b = block{open: m.start + 1}
		if b.members, b.closed, err = members(text, m.start); err != nil {
			return nil, false, err
		}
		chain = append(chain, b)
	}
	return chain, true, nil
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
	_, p := f.bare(text)
	bare := orEmpty(p.text)
	chain, ok, err := f.find(bare)
	if err != nil || !ok {
		return nil, err
	}
	runs := f.runs(bare, chain[0].members)
	var all []entry
	for _, m := range chain[len(chain)-1].members {
		e := f.entry(m.name, bare[m.start:m.end])
		e.line = lineAt(bare, m.keyStart)
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
	_, p := f.bare(text)
	d := json.NewDecoder(bytes.NewReader(orEmpty(p.text)))
	d.UseNumber()
	doc := map[string]any{}
	if err := d.Decode(&doc); err != nil {
		return nil, flawed(0, "%s", err)
	}
	drop(doc, append(f.path(), name))
	return doc, nil
}

// drop deletes what a path leads to, and the objects that are empty then.
func drop(doc map[string]any, path []string) {
	if len(path) == 1 {
		delete(doc, path[0])
		return
	}
	if inner, ok := doc[path[0]].(map[string]any); ok {
		if drop(inner, path[1:]); len(inner) == 0 {
			delete(doc, path[0])
		}
	}
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
	if _, p := f.bare(text); len(bytes.TrimSpace(p.text)) == 0 {
		text = append(bytes.Clone(text), orEmpty(nil)...)
	}
	_, p := f.bare(text)
	chain, _, err := f.find(p.text)
	if err != nil {
		return nil, err
	}
	prefix, flat := indent(p.text, chain[0], "  ")
	unit := or(prefix, "  ")
	for _, b := range chain[1:] {
		prefix, flat = indent(p.text, b, prefix+unit)
	}
	value, err := f.object(s)
	if err != nil {
		return nil, err
	}
	// What is missing on the way is put around the entry.
	missing := append(f.path(), s.Name)[len(chain)-1:]
	encoded := any(value)
	for i := len(missing) - 1; i > 0; i-- {
		encoded = map[string]any{missing[i]: encoded}
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
	quoted, err := json.Marshal(missing[0])
	if err != nil {
		return nil, err
	}
	piece := string(quoted) + ": " + strings.TrimSuffix(b.String(), "\n")
	at := chain[len(chain)-1].of(p)
	code := text
	if f.comments || f.five {
		code = uncommented(text)
	}
	return append(bytes.Clone(mark), place(text, code, at, piece, prefix, strings.TrimSuffix(prefix, unit), flat, lineEnd(text))...), nil
}

// place puts one more member at the end of a block. code is the text with spaces
// for its comments: one that stands behind the last member, on its line, stays
// there.
func place(text, code []byte, at block, piece, prefix, outer string, flat bool, end string) []byte {
	piece = strings.ReplaceAll(piece, "\n", end)
	if len(at.members) == 0 {
		return splice(text[:at.open], end+prefix+piece+end+outer, text[at.closed:])
	}
	last := at.members[len(at.members)-1].end
	if flat {
		return splice(text[:last], ", "+piece, text[last:])
	}
	line := last + bytes.IndexAny(code[last:], "\r\n}")
	comma := bytes.TrimSpace(code[last:line])
	if len(bytes.TrimSpace(text[last:line])) == len(comma) || line > at.closed {
		return splice(text[:last], ","+end+prefix+piece, text[last:])
	}
	if string(comma) == "," { // commas may stand behind the last one here
		return splice(text[:line], end+prefix+piece+",", text[line:])
	}
	return splice(text[:last], ","+string(text[last:line])+end+prefix+piece, text[line:])
}

func splice(a []byte, b string, c []byte) []byte {
	out := make([]byte, 0, len(a)+len(b)+len(c))
	return append(append(append(out, a...), b...), c...)
}

func (f jsonFile) remove(text []byte, name string) ([]byte, error) {
	mark, text := unmark(text)
	_, p := f.bare(text)
	chain, _, err := f.find(p.text)
	if err != nil {
		return nil, err
	}
	in := chain[len(chain)-1].of(p)
	i, ok := named(in.members, name)
	if !ok || len(chain) <= len(f.path()) {
		return nil, flawed(0, "there is no server %q", name)
	}
	m := in.members[i]
	from, to := m.keyStart, m.end
	switch {
	case i > 0:
		if rest, ok := sparing(text, in.members[i-1].end, m); ok {
			return append(bytes.Clone(mark), rest...), nil
		}
		from = in.members[i-1].end
	case len(in.members) > 1:
		to = in.members[1].keyStart
	default:
		from, to = in.open, in.closed
	}
	return append(bytes.Clone(mark), splice(text[:from], "", text[to:])...), nil
}

// sparing takes a member out that has comments before it, which stay, and are
// of the member that ends before them; ok is false if there are none.
func sparing(text []byte, before int, m member) (rest []byte, ok bool) {
	lead, code := text[before:m.keyStart], uncommented(text)
	comma := bytes.IndexByte(code[before:m.keyStart], ',')
	if comma < 0 || len(bytes.TrimSpace(lead)) == 1 {
		return nil, false
	}
	kept := bytes.TrimRight(lead, " \t\r\n")
	if after := bytes.TrimLeft(code[m.end:], " \t\r\n"); len(after) > 0 && after[0] == ',' {
		return splice(text[:before], string(kept), text[len(text)-len(after)+1:]), true
	}
	return splice(text[:before], string(kept[:comma])+string(kept[comma+1:]), text[m.end:]), true
}
