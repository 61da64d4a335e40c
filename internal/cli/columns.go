package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
)

// column is one that a list can show and be sorted by.
type column struct {
	name    string
	form    render.Column
	cell    func(*corpus, query.Info) string
	compare func(a, b query.Info) int // in the order that is natural for it: latest and most first, names from a to z
}

// listColumns are all there are.
func listColumns() []column {
	text := func(of func(query.Info) string) func(a, b query.Info) int {
		return func(a, b query.Info) int { return strings.Compare(strings.ToLower(of(a)), strings.ToLower(of(b))) }
	}
	dash := func(s string) string {
		if s == "" {
			return "-"
		}
		return render.Name(s)
	}
	id := func(i query.Info) string { return string(i.Header.ID) }
	agent := func(i query.Info) string { return string(i.Header.Agent) }
	workspace := func(i query.Info) string { return i.Header.Cwd }
	parent := func(i query.Info) string { return string(i.Header.ParentSession) }
	preset := func(i query.Info) string { return i.Header.AgentPreset }
	kind := func(i query.Info) string {
		switch {
		case i.Header.Origin != "":
			return i.Header.Origin
		case i.Header.ParentSession != "":
			return "fork"
		}
		return "root"
	}
	where := func(i query.Info) string {
		switch {
		case i.Live && i.Persisted:
			return "live+persisted"
		case i.Live:
			return "live"
		}
		return "persisted"
	}
	resume := func(c *corpus, i query.Info) string {
		if command := c.Resume(i.Header); command != "" {
			return command
		}
		return "-"
	}
	return []column{
		{"session", render.Column{Head: "SESSION"}, func(_ *corpus, i query.Info) string { return render.Name(id(i)) }, text(id)},
		{"agent", render.Column{Head: "AGENT"}, func(_ *corpus, i query.Info) string { return render.Name(agent(i)) }, text(agent)},
		{"created", render.Column{Head: "CREATED"}, func(_ *corpus, i query.Info) string { return minute(i.Header.CreatedAt) },
			func(a, b query.Info) int { return cmp.Compare(b.Header.CreatedAt, a.Header.CreatedAt) }},
		{"changed", render.Column{Head: "CHANGED"}, func(_ *corpus, i query.Info) string {
			if i.Events == 0 {
				return "-"
			}
			return minute(i.Changed)
		}, func(a, b query.Info) int { return cmp.Compare(b.Changed, a.Changed) }},
		{"events", render.Column{Head: "EVENTS", Right: true}, func(_ *corpus, i query.Info) string { return fmt.Sprint(i.Events) },
			func(a, b query.Info) int { return cmp.Compare(b.Events, a.Events) }},
		{"workspace", render.Column{Head: "WORKSPACE", Flex: true}, func(_ *corpus, i query.Info) string { return dash(workspace(i)) }, text(workspace)},
		{"parent", render.Column{Head: "PARENT"}, func(_ *corpus, i query.Info) string { return dash(parent(i)) }, text(parent)},
		{"kind", render.Column{Head: "KIND"}, func(_ *corpus, i query.Info) string { return kind(i) }, text(kind)},
		{"preset", render.Column{Head: "PRESET"}, func(_ *corpus, i query.Info) string { return dash(preset(i)) }, text(preset)},
		{"where", render.Column{Head: "WHERE"}, func(_ *corpus, i query.Info) string { return where(i) }, text(where)},
		{"resume", render.Column{Head: "RESUME"}, resume, nil},
		{"title", render.Column{Head: "TITLE", Flex: true}, func(_ *corpus, i query.Info) string { return titleOf(i) }, text(func(i query.Info) string { return i.Title })},
	}
}

// columnNames are the values of --columns.
func columnNames() []string {
	var names []string
	for _, c := range listColumns() {
		names = append(names, c.name)
	}
	return names
}

// sortNames are the values of --sort.
func sortNames() []string {
	var names []string
	for _, c := range listColumns() {
		if c.compare != nil {
			names = append(names, c.name)
		}
	}
	return names
}

// chooseColumns returns the columns of the names, the usual ones for none.
func chooseColumns(names []string, workspaces bool) ([]column, error) {
	if names == nil {
		names = []string{"session", "agent", "created", "changed", "events", "workspace", "title"}
		if !workspaces {
			names = slices.DeleteFunc(names, func(n string) bool { return n == "workspace" })
		}
	}
	all := listColumns()
	var chosen []column
	for _, n := range names {
		if err := oneOf("--columns", n, columnNames()); err != nil {
			return nil, err
		}
		chosen = append(chosen, all[slices.IndexFunc(all, func(c column) bool { return c.name == n })])
	}
	return chosen, nil
}

// sortBy returns the order that a name stands for, and whether it is the one
// that lists have anyway. A minus before the name turns it round.
func sortBy(name string) (compare func(a, b query.Info) int, usual bool, err error) {
	key, back := strings.CutPrefix(name, "-")
	if err := oneOf("--sort", key, sortNames()); err != nil {
		return nil, false, err
	}
	all := listColumns()
	natural := all[slices.IndexFunc(all, func(c column) bool { return c.name == key })].compare
	if back {
		return func(a, b query.Info) int { return natural(b, a) }, false, nil
	}
	return natural, key == "created", nil
}

// table makes the table of a list.
func table(c *corpus, columns []column, sessions []query.Info, width int) string {
	forms := make([]render.Column, len(columns))
	for i, col := range columns {
		forms[i] = col.form
	}
	rows := make([][]string, len(sessions))
	for n, s := range sessions {
		for _, col := range columns {
			rows[n] = append(rows[n], col.cell(c, s))
		}
	}
	return render.Table(forms, rows, width)
}
