package render

import (
	"fmt"
	"strings"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
)

// maxIndent is the depth from which a descendant's depth is written as a
// number instead of spaces, so that a deep chain is not quadratic.
const maxIndent = 16

// LineageText prints the target, its ancestors from the nearest outward and its
// descendants as an indented tree, each with id, creation time, availability
// and title. What may not be seen is one boundary marker without an id.
func LineageText(l authz.Lineage) string {
	var b strings.Builder
	b.WriteString(heading(l.Target) + "\n")
	b.WriteString("ancestors, nearest first:")
	if len(l.Ancestors) == 0 && !l.Boundary {
		b.WriteString(" none")
	}
	b.WriteByte('\n')
	for _, a := range l.Ancestors {
		b.WriteString(" " + heading(a) + "\n")
	}
	if l.Boundary {
		b.WriteString(" [outside workspace: the chain is not shown beyond here]\n")
	}
	b.WriteString("descendants:")
	if len(l.Descendants) == 0 {
		b.WriteString(" none")
	}
	for _, d := range l.Descendants {
		b.WriteString("\n " + strings.Repeat(" ", min(d.Depth, maxIndent)))
		if d.Depth > maxIndent {
			fmt.Fprintf(&b, "(depth %d) ", d.Depth)
		}
		if d.Outside {
			b.WriteString("[outside workspace: a subtree]")
		} else {
			b.WriteString(heading(d.Info))
		}
	}
	return strings.TrimSuffix(b.String()+"\n"+MaskedText(MaskedLineage(l)), "\n")
}

// RelationsText prints the event and its relations, "none" where one is empty.
func RelationsText(r query.Relations) string {
	by := "none"
	if r.ReplacedBy >= 0 {
		by = fmt.Sprint(r.ReplacedBy)
	}
	return strings.TrimSuffix(heading(r.Info)+"\n"+
		event(r.Event.Seq, r.Event.Type, r.Event.State, r.Event.Time)+"\n"+
		"replaced by: "+by+"\n"+
		"replacement chain: "+seqs(r.Chain)+"\n"+
		"replaces: "+seqs(r.Replaced)+"\n"+
		"cites: "+seqs(r.Sources)+"\n"+
		"cited by: "+seqs(r.Derived)+"\n"+
		MaskedText(r.Info.Masked+r.Event.Masked), "\n")
}
