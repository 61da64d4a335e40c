package web

import (
	"context"
	"fmt"
	"net/http"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// node is one session of a lineage, or the marker of what may not be seen, with
// its place in the picture. Depth counts from the farthest ancestor.
type node struct {
	Info    query.Info
	Outside bool
	Target  bool
	Depth   int
	X, Y    int
	Title   string
	About   string
	Class   string
	Link    string
	Kin     string
	Wire    string // path to the parent's card; ""
	parent  int
}

// The picture, in the units of its view box: columns by depth, one row a leaf.
const (
	cardWidth, cardHeight = 280, 64
	columnGap, rowGap     = 70, 18
	mostNodes             = 4000
)

// tree lays a lineage out: ancestors in a chain, descendants as a forest. Each
// card stands before the middle of its children's. cut is how many descendants
// were too many to draw.
func tree(l authz.Lineage) (nodes []node, width, height, cut int) {
	add := func(n node, parent int) int {
		n.parent = parent
		n.Depth = 0
		if parent >= 0 {
			n.Depth = nodes[parent].Depth + 1
		}
		nodes = append(nodes, n)
		return len(nodes) - 1
	}
	at := -1
	if l.Boundary {
		at = add(node{Outside: true}, at)
	}
	for i := len(l.Ancestors) - 1; i >= 0; i-- {
		at = add(node{Info: l.Ancestors[i]}, at)
	}
	at = add(node{Info: l.Target, Target: true}, at)
	path := []int{at} // the last node of each depth below the target
	for i, d := range l.Descendants {
		if len(nodes) >= mostNodes {
			cut = len(l.Descendants) - i
			break
		}
		depth := min(d.Depth+1, len(path))
		path = append(path[:depth], add(node{Info: d.Info, Outside: d.Outside}, path[depth-1]))
	}
	// Children follow their parents, so one walk from the end knows every child first.
	first, last := make([]int, len(nodes)), make([]int, len(nodes)) // rows of children, ×2
	for i := range first {
		first[i] = -1
	}
	rows := 0
	for i := range nodes {
		leaf := i+1 == len(nodes) || nodes[i+1].parent != i
		if leaf {
			first[i], last[i] = 2*rows, 2*rows
			rows++
		}
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		middle := (first[i] + last[i]) / 2
		nodes[i].X = nodes[i].Depth * (cardWidth + columnGap)
		nodes[i].Y = middle * (cardHeight + rowGap) / 2
		if up := nodes[i].parent; up >= 0 {
			if first[up] < 0 {
				last[up] = middle
			}
			first[up] = middle
		}
		width = max(width, nodes[i].X+cardWidth)
	}
	for i := range nodes {
		n := &nodes[i]
		if up := n.parent; up >= 0 {
			fromX, fromY := nodes[up].X+cardWidth, nodes[up].Y+cardHeight/2
			toY := n.Y + cardHeight/2
			bend := (fromX + n.X) / 2
			n.Wire = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", fromX, fromY, bend, fromY, bend, toY, n.X, toY)
		}
	}
	return nodes, width, rows*(cardHeight+rowGap) - rowGap, cut
}

// lineagePage is the page of a lineage.
type lineagePage struct {
	top
	Info          query.Info
	Path          string
	Kin           string
	Up            string
	Resume        string
	Nodes         []node
	Width, Height int
	Cut           int // descendants that are not drawn
	Notes         []string
}

func (p *pages) lineage(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	g, err := p.target(ctx, p.View, r.PathValue("agent"), r.PathValue("id"), r.URL.Query().Get("in"))
	if err != nil {
		p.fail(w, r, err)
		return
	}
	l, err := g.Trace(ctx)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	head := g.Header()
	if p.asksTeam(r) {
		head = l.Target.Header
	}
	out := lineagePage{
		top:  top{"Lineage of " + render.Line(titleOf(l.Target), 70), "session", ""},
		Info: l.Target, Path: link(head, "", nil), Kin: kinship(head), Resume: p.resume(head),
		Notes: notes(session.Coverage{}, render.MaskedLineage(l)),
	}
	out.Nodes, out.Width, out.Height, out.Cut = tree(l)
	out.Width, out.Height = out.Width+32, out.Height+32 // the margin
	for i := range out.Nodes {
		n := &out.Nodes[i]
		if n.Outside {
			n.Title, n.Class = "not to be seen, or gone", "outside"
			continue
		}
		h := n.Info.Header
		n.Title, n.Class, n.Kin = render.Line(titleOf(n.Info), 60), agentClass(h.Agent), kinship(h)
		n.Link = link(h, "", nil)
		n.About = fmt.Sprintf("%s · %s %s", p.local(h.CreatedAt, "2 Jan 2006"), number(n.Info.Events), noun(n.Info.Events, "event"))
		if n.Kin != "" {
			n.About = n.Kin + " · " + n.About
		}
	}
	p.show(w, r, http.StatusOK, "lineage.html", out)
}
