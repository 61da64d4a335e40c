package setup

import (
	"encoding/json"
	"slices"
)

// claudeLocal is what Claude Code's file for all projects says of one of them.
type claudeLocal struct {
	entries []entry
	off     []string // names of servers that are switched off there
}

// local finds what a file says of a project's folder. What cannot be read there
// is left out: whoever reads the whole file says what is wrong with it.
func (t Target) local(project string) claudeLocal {
	var out claudeLocal
	c, err := t.read()
	if err != nil || project == "" {
		return out
	}
	_, text := unmark(c.text)
	list, _, _, err := document(orEmpty(text))
	for _, name := range []string{"projects", project} {
		i, ok := named(list, name)
		if err != nil || !ok || text[list[i].start] != '{' {
			return out
		}
		text = blanked(text, list[i])
		list, _, err = members(text, list[i].start)
	}
	for _, m := range list {
		switch m.name {
		case "disabledMcpServers", "disabledMcpjsonServers":
			var names []string
			if json.Unmarshal(text[m.start:m.end], &names) == nil {
				out.off = append(out.off, names...)
			}
		}
	}
	if all, err := claudeForm().entries(text); err == nil {
		out.entries = all
	}
	for i := range out.entries {
		out.entries[i].disabled = slices.Contains(out.off, out.entries[i].Name)
	}
	return out
}

// blanked returns a text in which nothing but a member's value is left, where it
// was: its lines keep their numbers.
func blanked(text []byte, m member) []byte {
	out := slices.Clone(text[:m.end])
	for i, b := range out[:m.start] {
		if b != '\n' {
			out[i] = ' '
		}
	}
	return out
}
