package render

import (
	"fmt"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// LineagePicture draws a session between its ancestors, above it, and its
// descendants, below and further in. What may not be seen is one box without a name.
func LineagePicture(l authz.Lineage) Picture {
	p := Picture{Title: "Where the session " + Name(string(l.Target.Header.ID)) + " came from and what came from it"}
	open := []int{} // the box last placed on each level
	y := 3 * margin
	put := func(b Box, level int, kind string) {
		b.X, b.Y = margin+levelStep*min(level, maxLevel), y
		y += b.H + rowGap
		p.Boxes = append(p.Boxes, b)
		at := len(p.Boxes) - 1
		if level > 0 && level <= len(open) {
			p.Links = append(p.Links, Link{From: open[level-1], To: at, Text: kind, Kind: kind})
		}
		open = append(open[:min(level, len(open))], at)
	}
	level := 0
	if l.Boundary {
		put(box("outside", "outside of the workspace", "the chain is not shown beyond here"), level, "outside")
		level++
	}
	for i := len(l.Ancestors) - 1; i >= 0; i-- {
		put(sessionBox(l.Ancestors[i], kindOf(l.Ancestors[i])), level, kindOf(l.Ancestors[i]))
		level++
	}
	put(sessionBox(l.Target, "target"), level, kindOf(l.Target))
	for _, d := range l.Descendants {
		at := level + 1 + d.Depth
		if d.Outside {
			put(box("outside", "outside of the workspace", "a subtree"), at, "outside")
			continue
		}
		put(sessionBox(d.Info, kindOf(d.Info)), at, kindOf(d.Info))
	}
	return p
}

// kindOf says how a session came to be.
func kindOf(i query.Info) string {
	switch {
	case i.Header.ParentSession == "":
		return "root"
	case i.Header.Origin == session.OriginSubagent:
		return "subagent"
	}
	return "fork"
}

func sessionBox(i query.Info, kind string) Box {
	about := fmt.Sprintf("%s · %s · %s", Name(string(i.Header.Agent)), Time(i.Header.CreatedAt)[:min(16, len(Time(i.Header.CreatedAt)))], count(int(i.Events), "event"))
	if k := kindOf(i); k != "root" {
		about = k + " · " + about
	}
	return box(kind, title(i), Name(string(i.Header.ID)), about)
}

// maxRelated is how many boxes one relation has in a picture; runs of
// neighbours are one.
const maxRelated = 500

// RelationsPicture draws an event between what it replaces and cites, on its
// left, and what replaces and cites it, on its right.
func RelationsPicture(r query.Relations) Picture {
	p := Picture{Title: fmt.Sprintf("What became of event %d of the session %s", r.Event.Seq, Name(string(r.Info.Header.ID)))}
	own := box(r.Event.State.String(), fmt.Sprintf("#%d %s", r.Event.Seq, Name(r.Event.Type)), r.Event.State.String(), Time(r.Event.Time))
	p.Boxes = append(p.Boxes, own)
	column := func(x int, groups ...relation) int {
		y, widest := 3*margin, 0
		for _, g := range groups {
			for i, text := range g.boxes {
				b := box(g.kind, text, g.text)
				b.X, b.Y = x, y
				y += b.H + rowGap
				widest = max(widest, b.W)
				p.Boxes = append(p.Boxes, b)
				at := len(p.Boxes) - 1
				switch {
				case g.chain && i > 0:
					p.Links = append(p.Links, Link{From: at - 1, To: at, Text: g.text, Kind: g.link})
				case g.inward:
					p.Links = append(p.Links, Link{From: at, To: 0, Text: g.text, Kind: g.link, Side: true})
				default:
					p.Links = append(p.Links, Link{From: 0, To: at, Text: g.text, Kind: g.link, Side: true})
				}
			}
		}
		return widest
	}
	left := column(margin,
		relation{boxes: runs(r.Replaced), text: "replaced by this event", kind: "shadowed", link: "replaces", inward: true},
		relation{boxes: runs(r.Sources), text: "cited by this event", kind: "event", link: "cites", inward: true})
	x := margin
	if left > 0 {
		x += left + 3*levelStep
	}
	p.Boxes[0].X, p.Boxes[0].Y = x, 3*margin
	column(x+own.W+3*levelStep,
		relation{boxes: chain(r.Chain), text: "replaces what leads to it", kind: "event", link: "replaces", chain: true},
		relation{boxes: runs(r.Derived), text: "cites this event", kind: "event", link: "cites"})
	return p
}

// relation is one group of boxes beside an event.
type relation struct {
	boxes            []string
	text, kind, link string
	inward           bool // the boxes lead to the event
	chain            bool // each box leads to the next
}

// runs names events, neighbours together.
func runs(list []int64) []string {
	var out []string
	for i := 0; i < len(list); {
		if len(out) == maxRelated {
			return append(out, fmt.Sprintf("and %d more", len(list)-i))
		}
		end := i
		for end+1 < len(list) && list[end+1] == list[end]+1 {
			end++
		}
		name := fmt.Sprintf("#%d", list[i])
		if end > i {
			name += fmt.Sprintf(" to #%d", list[end])
		}
		out = append(out, name)
		i = end + 1
	}
	return out
}

// chain names events one by one.
func chain(list []int64) []string {
	var out []string
	for i, seq := range list {
		if i == maxRelated {
			return append(out, fmt.Sprintf("and %d more", len(list)-i))
		}
		out = append(out, fmt.Sprintf("#%d", seq))
	}
	return out
}
