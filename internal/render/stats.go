package render

import (
	"fmt"
	"strings"

	"github.com/yorehq/yore/query"
)

// StatsText prints counts over sessions as tables with bars, at most top lines
// each (0: all), within width columns (0: 80).
func StatsText(s query.Stats, top, width int) string {
	if width <= 0 {
		width = 80
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, %s with text or a place in a context", count(int(s.Total.Sessions), "session"), count(int(s.Total.Events), "event"), fmt.Sprint(s.Total.Documents))
	if s.Total.Documents > 0 && s.First != 0 {
		fmt.Fprintf(&b, ", from %s to %s", Time(s.First)[:min(10, len(Time(s.First)))], Time(s.Last)[:min(10, len(Time(s.Last)))])
	}
	b.WriteByte('\n')
	all := []struct {
		head   string
		counts []query.Count
		latest bool // the last lines are those that matter
		left   int  // how many lines are not shown
	}{
		{"AGENT", s.Agents, false, 0}, {"WORKSPACE", s.Workspaces, false, 0}, {"DAY", s.Days, true, 0},
		{"ROLE", s.Roles, false, 0}, {"TYPE", s.Types, false, 0}, {"TOOL", s.Tools, false, 0},
	}
	widest := 0 // of all names, so that the tables stand below each other
	for i, g := range all {
		g.counts, all[i].left = most(g.counts, g.latest, top)
		all[i].counts = g.counts
		for _, c := range g.counts {
			widest = max(widest, Width(nameOf(c)))
		}
	}
	for _, g := range all {
		if len(g.counts) > 0 {
			b.WriteString("\n" + bars(g.head+strings.Repeat(" ", max(0, min(widest, width)-len(g.head))), g.counts, width))
		}
		switch {
		case g.left > 0 && g.latest:
			fmt.Fprintf(&b, " … and %d earlier\n", g.left)
		case g.left > 0:
			fmt.Fprintf(&b, " … and %d more\n", g.left)
		}
	}
	b.WriteString(MaskedText(s.Masked))
	return b.String()
}

// minBar is how many columns a bar has at least at its fullest.
const minBar = 10

// most keeps the lines that are shown, and says how many are not.
func most(counts []query.Count, latest bool, top int) ([]query.Count, int) {
	left := len(counts) - top
	switch {
	case top <= 0 || left <= 0:
		return counts, 0
	case latest:
		return counts[left:], left
	}
	return counts[:top], left
}

func nameOf(c query.Count) string {
	if c.Name == "" {
		return "-"
	}
	return Name(c.Name)
}

// bars prints one group: name, sessions, documents, and a bar for the documents.
func bars(head string, counts []query.Count, width int) string {
	most := int64(1)
	for _, c := range counts {
		most = max(most, c.Documents)
	}
	columns := []Column{{Head: head, Flex: true}, {Head: "SESSIONS", Right: true}, {Head: "EVENTS", Right: true}}
	rows := make([][]string, len(counts))
	for i, c := range counts {
		rows[i] = []string{nameOf(c), fmt.Sprint(c.Sessions), fmt.Sprint(c.Documents)}
	}
	lines := strings.SplitAfter(strings.TrimSuffix(Table(columns, rows, max(1, width-minBar-columnGap)), "\n"), "\n")
	widest := 0
	for _, l := range lines {
		widest = max(widest, Width(strings.TrimSuffix(l, "\n")))
	}
	room := max(minBar, width-widest-columnGap)
	var b strings.Builder
	for i, l := range lines {
		l = strings.TrimSuffix(l, "\n")
		if i > 0 {
			l += strings.Repeat(" ", widest-Width(l)+columnGap) + barOf(counts[i-1].Documents, most, room)
		}
		b.WriteString(strings.TrimRight(l, " ") + "\n")
	}
	return b.String()
}

// barOf draws a share of the most in eighths of a column; what is not nothing
// shows.
func barOf(n, most int64, room int) string {
	eighths := int(float64(n) / float64(most) * float64(room) * 8)
	if n > 0 {
		eighths = max(1, eighths)
	}
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string(rune('█' + 8 - rest)) // ▉ is one code point behind █, ▏ is seven
	}
	return bar
}

// StatsJSON is
//
//	{"total":{"sessions","events","documents"},"first"?,"last"?,
//	 "agents":[{"name","sessions","events"?,"documents"},…],"workspaces":[…],"days":[…],
//	 "roles":[…],"types":[…],"tools":[…],
//	 "activity":[{"day","agent","sessions","documents"},…]}
//
// events is there for agents and workspaces.
func StatsJSON(s query.Stats) []byte {
	type group struct {
		Name      string `json:"name"`
		Sessions  int64  `json:"sessions"`
		Events    int64  `json:"events,omitempty"` // of agents and workspaces
		Documents int64  `json:"documents"`
	}
	type activity struct {
		Day       string `json:"day"`
		Agent     string `json:"agent"`
		Sessions  int64  `json:"sessions"`
		Documents int64  `json:"documents"`
	}
	groups := func(list []query.Count) []group {
		out := []group{}
		for _, c := range list {
			out = append(out, group{c.Name, c.Sessions, c.Events, c.Documents})
		}
		return out
	}
	active := []activity{}
	for _, a := range s.Activity {
		active = append(active, activity{a.Day, string(a.Agent), a.Sessions, a.Documents})
	}
	first, last := "", ""
	if s.First != 0 {
		first, last = Time(s.First), Time(s.Last)
	}
	return encode(struct {
		Total struct {
			Sessions  int64 `json:"sessions"`
			Events    int64 `json:"events"`
			Documents int64 `json:"documents"`
		} `json:"total"`
		First      string     `json:"first,omitempty"` // if there is a document with a time
		Last       string     `json:"last,omitempty"`
		Agents     []group    `json:"agents"`
		Workspaces []group    `json:"workspaces"`
		Days       []group    `json:"days"`
		Roles      []group    `json:"roles"`
		Types      []group    `json:"types"`
		Tools      []group    `json:"tools"`
		Activity   []activity `json:"activity"`
		Masked     int        `json:"masked,omitempty"` // credentials in names, if any are masked
	}{
		Total: struct {
			Sessions  int64 `json:"sessions"`
			Events    int64 `json:"events"`
			Documents int64 `json:"documents"`
		}{s.Total.Sessions, s.Total.Events, s.Total.Documents},
		First: first, Last: last, Agents: groups(s.Agents), Workspaces: groups(s.Workspaces), Days: groups(s.Days),
		Roles: groups(s.Roles), Types: groups(s.Types), Tools: groups(s.Tools), Activity: active, Masked: s.Masked,
	})
}
