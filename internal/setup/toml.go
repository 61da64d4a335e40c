package setup

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// tomlFile is Codex's form: one table [mcp_servers.NAME] for each server.
type tomlFile struct{}

const serversTable = "mcp_servers"

func decodeTOML(text []byte) (map[string]any, error) {
	_, text = unmark(text)
	doc := map[string]any{}
	_, err := toml.Decode(string(text), &doc)
	var syntax toml.ParseError
	switch {
	case errors.As(err, &syntax):
		return nil, flawed(syntax.Position.Line, "%s", syntax.Message)
	case err != nil:
		return nil, flawed(0, "%s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	if v, ok := doc[serversTable]; ok {
		if _, ok := v.(map[string]any); !ok {
			return nil, flawed(0, "%s is no table", serversTable)
		}
	}
	return doc, nil
}

func (tomlFile) entries(text []byte) ([]entry, error) {
	doc, err := decodeTOML(text)
	if err != nil {
		return nil, err
	}
	list, _ := doc[serversTable].(map[string]any)
	sections := tables(text)
	var all []entry
	for _, name := range slices.Sorted(maps.Keys(list)) {
		e := entry{Server: Server{Name: name}}
		if i := slices.IndexFunc(sections, func(t table) bool { return t.within(name) }); i >= 0 {
			e.line = lineAt(text, sections[i].start)
		}
		fields, ok := list[name].(map[string]any)
		e.other = !ok
		for key, v := range fields {
			switch key {
			case "command":
				e.Command, ok = v.(string)
			case "args":
				e.Args, ok = texts(v)
			case "env":
				e.Env, ok = textMap(v)
			case "enabled":
				on, isBool := v.(bool)
				e.disabled, ok = isBool && !on, false
			default:
				ok = false
			}
			e.other = e.other || !ok
		}
		all = append(all, e)
	}
	return all, nil
}

// texts returns a list of strings; ok is false for anything else.
func texts(v any) ([]string, bool) {
	list, ok := v.([]any)
	var all []string
	for _, x := range list {
		s, isText := x.(string)
		ok = ok && isText
		all = append(all, s)
	}
	return all, ok
}

// textMap returns a map of strings; ok is false for anything else.
func textMap(v any) (map[string]string, bool) {
	fields, ok := v.(map[string]any)
	all := map[string]string{}
	for k, x := range fields {
		s, isText := x.(string)
		ok = ok && isText
		all[k] = s
	}
	return all, ok
}

func (tomlFile) without(text []byte, name string) (any, error) {
	doc, err := decodeTOML(text)
	if err != nil {
		return nil, err
	}
	if list, ok := doc[serversTable].(map[string]any); ok {
		if delete(list, name); len(list) == 0 {
			delete(doc, serversTable)
		}
	}
	return doc, nil
}

func (tomlFile) add(text []byte, s Server) ([]byte, error) {
	doc, err := decodeTOML(text)
	if err != nil {
		return nil, err
	}
	header := func(t table) bool { return t.path[0] == serversTable }
	if _, ok := doc[serversTable]; ok && !slices.ContainsFunc(tables(text), header) {
		// An inline table is closed to additions, which this parser does not enforce.
		return nil, flawed(0, "%s is not written as tables; change it by hand", serversTable)
	}
	end := lineEnd(text)
	var b strings.Builder
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		b.WriteString(end)
	}
	if len(bytes.TrimSpace(text)) > 0 {
		b.WriteString(end)
	}
	fmt.Fprintf(&b, "[%s.%s]%s", serversTable, s.Name, end)
	fmt.Fprintf(&b, "command = %s%s", quoteTOML(s.Command), end)
	var args []string
	for _, a := range s.Args {
		args = append(args, quoteTOML(a))
	}
	fmt.Fprintf(&b, "args = [%s]%s", strings.Join(args, ", "), end)
	if len(s.Env) > 0 {
		fmt.Fprintf(&b, "%s[%s.%s.env]%s", end, serversTable, s.Name, end)
		for _, k := range slices.Sorted(maps.Keys(s.Env)) {
			fmt.Fprintf(&b, "%s = %s%s", quoteKey(k), quoteTOML(s.Env[k]), end)
		}
	}
	return splice(text, b.String(), nil), nil
}

func quoteKey(k string) string {
	if serverName.MatchString(k) {
		return k
	}
	return quoteTOML(k)
}

// quoteTOML writes a basic string.
func quoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// table is a header line and what stands below it, up to the next header.
type table struct {
	path       []string
	start, end int // offsets; end lies behind the last line that is no comment
}

// within reports whether this is a server's table or one inside it.
func (t table) within(name string) bool {
	return len(t.path) >= 2 && t.path[0] == serversTable && t.path[1] == name
}

// tables lists the tables of a valid text by its header lines.
func tables(text []byte) []table {
	var all []table
	s := tomlScan{}
	offset := 0
	for line := range bytes.Lines(text) {
		trimmed := bytes.TrimSpace(line)
		if offset == 0 {
			_, trimmed = unmark(trimmed)
		}
		inside := s.inside()
		switch {
		case !inside && bytes.HasPrefix(trimmed, []byte("[")):
			// The line is a document of its own, so the parser can read its path.
			var into map[string]any
			meta, err := toml.Decode(string(trimmed), &into)
			if keys := meta.Keys(); err == nil && len(keys) > 0 {
				all = append(all, table{path: keys[len(keys)-1], start: offset, end: offset + len(line)})
			}
		case len(all) > 0 && (inside || len(trimmed) > 0 && trimmed[0] != '#'):
			all[len(all)-1].end = offset + len(line)
			s.line(line)
		default:
			s.line(line)
		}
		offset += len(line)
	}
	return all
}

// tomlScan follows the brackets and long strings of a valid text, so that a
// line inside one is not taken for a header.
type tomlScan struct {
	depth int
	quote string // the closing quotes of a long string that is open
}

func (s *tomlScan) inside() bool { return s.depth > 0 || s.quote != "" }

func (s *tomlScan) line(line []byte) {
	for i := 0; i < len(line); {
		rest := line[i:]
		switch {
		case s.quote != "" && bytes.HasPrefix(rest, []byte(s.quote)):
			// Up to two more quotes may belong to the string's content.
			i += len(s.quote)
			for len(s.quote) == 3 && i < len(line) && line[i] == s.quote[0] {
				i++
			}
			s.quote = ""
		case s.quote != "":
			if rest[0] == '\\' && s.quote[0] == '"' {
				i++
			}
			i++
		case bytes.HasPrefix(rest, []byte(`"""`)), bytes.HasPrefix(rest, []byte(`'''`)):
			s.quote = string(rest[:3])
			i += 3
		case rest[0] == '"', rest[0] == '\'':
			s.quote = string(rest[:1])
			i++
		case rest[0] == '#':
			return
		default:
			switch rest[0] {
			case '[', '{':
				s.depth++
			case ']', '}':
				s.depth--
			}
			i++
		}
	}
}

func (tomlFile) remove(text []byte, name string) ([]byte, error) {
	out := bytes.Clone(text)
	found := false
	all := tables(text)
	for _, t := range slices.Backward(all) {
		if !t.within(name) {
			continue
		}
		found = true
		from := t.start
		// The blank line that parts it from what is above goes with it.
		for above := out[:from]; ; above = out[:from] {
			cut := bytes.TrimSuffix(bytes.TrimSuffix(above, []byte("\n")), []byte("\r"))
			if len(cut) == len(above) || len(cut) > 0 && cut[len(cut)-1] != '\n' {
				break
			}
			from = len(cut)
		}
		out = splice(out[:from], "", out[t.end:])
	}
	if !found {
		return nil, flawed(0, "the server %q is not written as a table of its own; take it out by hand", name)
	}
	return out, nil
}
