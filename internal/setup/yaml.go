package setup

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlFile is a layer of DSH's composition: a list of changes, of which one may
// insert plugin rows. Each server is a row of the MCP client plugin.
type yamlFile struct{}

const clientPlugin = "@deepseek-ai/dsh-mcp-client"

// oddBreak is what YAML takes for the end of a line besides LF and CRLF; lines
// are counted by LF here.
var oddBreak = regexp.MustCompile("\r(?:[^\n]|$)|[\u0085\u2028\u2029]")

var yamlPlace = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// layer parses a text and returns its list of changes, nil if it has none.
func layer(text []byte) (*yaml.Node, error) {
	if at := oddBreak.FindIndex(text); at != nil {
		return nil, flawed(lineAt(text, at[0]), "a line ends in a way that is not edited")
	}
	var doc, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	err := d.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 {
		return nil, nil
	}
	if err == nil {
		if err = d.Decode(&second); err == nil {
			return nil, flawed(second.Line, "a second document begins here")
		}
	}
	if !errors.Is(err, io.EOF) {
		text, line := err.Error(), 0
		if m := yamlPlace.FindStringSubmatch(text); m != nil {
			line, _ = strconv.Atoi(m[1]) // a message without a line gives 0
			text = text[len(m[0]):]
		}
		return nil, flawed(line, "%s", text)
	}
	list := doc.Content[0]
	if list.Kind == yaml.ScalarNode && list.Tag == "!!null" {
		return nil, nil
	}
	if list.Kind != yaml.SequenceNode {
		return nil, flawed(list.Line, "the file holds no list of changes")
	}
	return list, nil
}

// field returns the value of a key in a mapping, nil if there is none.
func field(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// row is an inserted plugin row: the change it stands in, and its own place.
type row struct {
	change, list, node *yaml.Node
}

// rows lists the rows of MCP servers.
func rows(list *yaml.Node) []row {
	var all []row
	if list == nil {
		return nil
	}
	for _, change := range list.Content {
		inserted := field(change, "insert")
		if inserted == nil || inserted.Kind != yaml.SequenceNode {
			continue
		}
		for _, n := range inserted.Content {
			if scalar(field(n, "name")) == clientPlugin {
				all = append(all, row{change, inserted, n})
			}
		}
	}
	return all
}

func (r row) name() string { return scalar(field(field(r.node, "config"), "serverName")) }

func (yamlFile) entries(text []byte) ([]entry, error) {
	list, err := layer(text)
	if err != nil {
		return nil, err
	}
	var all []entry
	for _, r := range rows(list) {
		e := entry{Server: Server{Name: r.name()}, line: r.node.Line}
		config := field(r.node, "config") // a mapping, or the row would have no name
		for i := 0; config != nil && i+1 < len(config.Content); i += 2 {
			v := config.Content[i+1]
			e.other = e.other || computed(v)
			switch config.Content[i].Value {
			case "serverName":
			case "transport":
				e.other = e.other || v.Value != "stdio"
			case "command":
				e.Command = scalar(v)
			case "args":
				for _, a := range v.Content {
					e.Args = append(e.Args, a.Value)
				}
			case "env":
				e.Env = map[string]string{}
				for j := 0; j+1 < len(v.Content); j += 2 {
					e.Env[v.Content[j].Value] = v.Content[j+1].Value
				}
			default:
				e.other = true
			}
		}
		all = append(all, e)
	}
	return all, nil
}

// computed reports whether a value is, or holds, a tagged expression.
func computed(n *yaml.Node) bool {
	return n.Style&yaml.TaggedStyle != 0 || slices.ContainsFunc(n.Content, computed)
}

// without gives every node as a nested list of kind, tag, value and children.
func (yamlFile) without(text []byte, name string) (any, error) {
	list, err := layer(text)
	if err != nil {
		return nil, err
	}
	if list == nil {
		return []any{}, nil
	}
	ours := map[*yaml.Node]bool{}
	for _, r := range rows(list) {
		if r.name() == name {
			ours[r.node] = true
			if len(r.list.Content) == 1 && len(r.change.Content) == 2 {
				ours[r.change] = true
			}
		}
	}
	changes := []any{}
	for _, n := range list.Content {
		if !ours[n] {
			changes = append(changes, plain(n, ours))
		}
	}
	return changes, nil
}

func plain(n *yaml.Node, ours map[*yaml.Node]bool) any {
	children := []any{}
	for _, c := range n.Content {
		if !ours[c] {
			children = append(children, plain(c, ours))
		}
	}
	// An alias is compared by its name: following it could go on for ever.
	return []any{n.Kind, n.Tag, n.Value, n.Anchor, children}
}

func (yamlFile) add(text []byte, s Server) ([]byte, error) {
	list, err := layer(text)
	if err != nil {
		return nil, err
	}
	margin := ""
	var tail []byte
	if list != nil {
		if list.Style&yaml.FlowStyle != 0 {
			var empty bool
			if text, tail, empty = emptyList(text, list); !empty {
				return nil, flawed(list.Line, "the list is written in brackets; write it with a dash for each change, or add the row by hand")
			}
		}
		margin = strings.Repeat(" ", list.Column-1)
	}
	lines := []string{
		"- insert:",
		"    - id: mcp-" + s.Name,
		"      name: " + quoteYAML(clientPlugin),
		"      config:",
		"        serverName: " + quoteYAML(s.Name),
		"        transport: stdio",
		"        command: " + quoteYAML(s.Command),
	}
	var args []string
	for _, a := range s.Args {
		args = append(args, quoteYAML(a))
	}
	lines = append(lines, "        args: ["+strings.Join(args, ", ")+"]")
	if len(s.Env) > 0 {
		lines = append(lines, "        env:")
		for _, k := range slices.Sorted(maps.Keys(s.Env)) {
			lines = append(lines, "          "+quoteYAML(k)+": "+quoteYAML(s.Env[k]))
		}
	}
	end := lineEnd(slices.Concat(text, tail))
	var b strings.Builder
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		b.WriteString(end)
	}
	for _, l := range lines {
		b.WriteString(margin + l + end)
	}
	return splice(text, b.String(), tail), nil
}

// noChange is a layer without changes, as the agent writes it when it makes a
// profile. A file without any list it refuses, and does not start.
const noChange = "[]"

// emptyList cuts a text before and behind the line that holds an empty list and
// nothing else.
func emptyList(text []byte, list *yaml.Node) (before, after []byte, ok bool) {
	lines := slices.Collect(bytes.Lines(text))
	at := list.Line - 1
	if string(bytes.TrimSpace(lines[at])) != noChange {
		return text, nil, false
	}
	return bytes.Join(lines[:at], nil), bytes.Join(lines[at+1:], nil), true
}

// quoteYAML writes a string in quotes: plain where it needs no escapes.
func quoteYAML(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool {
		return r < 0x20 || r == 0x7f || r == 0x85 || r == 0xfeff || r == 0x2028 || r == 0x2029
	}) {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return quoteTOML(s) // the escapes used there mean the same in YAML
}

func (yamlFile) remove(text []byte, name string) ([]byte, error) {
	list, err := layer(text)
	if err != nil {
		return nil, err
	}
	for _, r := range rows(list) {
		if r.name() != name {
			continue
		}
		item := r.node
		if len(r.list.Content) == 1 {
			if len(r.change.Content) != 2 {
				return nil, flawed(r.change.Line, "the change does more than to insert this row; take it out by hand")
			}
			item = r.change
		}
		out, err := cutItem(text, list, item)
		if err == nil && item == r.change && len(list.Content) == 1 {
			if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n")) {
				out = append(out, lineEnd(text)...)
			}
			out = append(out, noChange+lineEnd(text)...)
		}
		return out, err
	}
	return nil, flawed(0, "there is no server %q", name)
}

// cutItem removes the lines of one item of a list written with dashes, up to
// the next node that is not part of it. Comments above that node stay.
func cutItem(text []byte, list, item *yaml.Node) ([]byte, error) {
	var lines [][]byte
	for l := range bytes.Lines(text) {
		lines = append(lines, l)
	}
	first := item.Line - 1
	if head := bytes.TrimSpace(lines[first][:min(item.Column-1, len(lines[first]))]); string(head) != "-" {
		return nil, flawed(item.Line, "the entry shares its line with others; take it out by hand")
	}
	last := len(lines)
	seen := false
	var visit func(n *yaml.Node) bool // false: the next node was found
	visit = func(n *yaml.Node) bool {
		if n == item {
			seen = true
			return true
		}
		if seen {
			last = n.Line - 1
			return false
		}
		for _, c := range n.Content {
			if !visit(c) {
				return false
			}
		}
		return true
	}
	visit(list)
	for last > first+1 {
		l := bytes.TrimSpace(lines[last-1])
		if len(l) > 0 && l[0] != '#' && string(l) != "..." {
			break
		}
		last--
	}
	return splice(bytes.Join(lines[:first], nil), "", bytes.Join(lines[last:], nil)), nil
}
