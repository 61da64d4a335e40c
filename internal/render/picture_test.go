package render

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

const hostile = "</text></svg><script>alert(1)</script> \"'&]]><!-- \x1b[31m\x00\u202e --> `%%{init}%%`; end\nn0 --> n1 #quot; " + "漢字"

func member(id, title string, h session.Header) query.Info {
	h.ID, h.Agent = session.ID(id), session.DSH
	return query.Info{Header: h, Title: title, Events: 3}
}

// family is a lineage with everything in it, whose names come from name.
func family(name func(string) string) authz.Lineage {
	fork := session.Header{ParentSession: "p", CreatedAt: 1772442000000}
	sub := session.Header{ParentSession: "p", Origin: session.OriginSubagent}
	return authz.Lineage{
		Target: member(name("target"), name("Target"), fork), Boundary: true,
		Ancestors: []query.Info{member(name("near"), name("Near"), fork), member(name("far"), name("Far"), fork)},
		Descendants: []authz.Kin{
			{Info: member(name("a"), name("A"), sub)}, {Info: member(name("b"), name("B"), fork), Depth: 1}, {Depth: 2, Outside: true},
			{Info: member(name("c"), name("C"), sub)}, {Outside: true},
		},
	}
}

// element is what an XML parser sees of a picture.
type element struct {
	name, class string
	text        string
}

// parse reads a picture with a parser of XML and refuses whatever could act.
func parse(t *testing.T, svg string) []element {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	var all []element
	var open []int
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		switch x := token.(type) {
		case xml.StartElement:
			e := element{name: x.Name.Local}
			for _, a := range x.Attr {
				if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") || strings.Contains(a.Name.Local, "href") || a.Name.Local == "style" {
					t.Errorf("<%s> has the attribute %s", e.name, a.Name.Local)
				}
				if a.Name.Local == "class" {
					e.class = a.Value
				}
			}
			all = append(all, e)
			open = append(open, len(all)-1)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				all[open[len(open)-1]].text += string(x)
			}
		}
	}
}

func names(list []element) (out []string) {
	for _, e := range list {
		out = append(out, e.name+"."+e.class)
	}
	return out
}

// Whatever a log says, a picture has the same elements as one of plain names.
func TestPicturesHoldHostileText(t *testing.T) {
	plain := LineagePicture(family(func(s string) string { return s }))
	bad := LineagePicture(family(func(s string) string { return s + hostile }))
	if d := cmp.Diff(names(parse(t, plain.SVG())), names(parse(t, bad.SVG()))); d != "" {
		t.Errorf("hostile names change the picture (-plain +hostile):\n%s", d)
	}
	for _, e := range parse(t, bad.SVG()) {
		if strings.ContainsAny(e.text, "\x1b\x00\u202e") {
			t.Errorf("<%s> holds %q", e.name, e.text)
		}
	}
	for _, p := range []Picture{plain, bad} {
		if svg := p.SVG(); strings.Contains(svg, "url(") || strings.Contains(svg, "@import") || strings.Count(svg, "http") != 1 {
			t.Errorf("the picture asks for something else")
		}
		// The lines of a flowchart: each is one of ours, labels hold nothing that is syntax.
		ours := regexp.MustCompile(`^(flowchart (TD|LR)|  n\d+\["[^"<>&\\(){}\[\]|` + "`" + `;]*(#\d+;[^"<>&\\(){}\[\]|` + "`" + `;]*)*(<br/>([^"<>&\\(){}\[\]|` + "`" + `;]|#\d+;)*)*"\]|  n\d+ (-->|-\.->)\|"[a-z ]*"\| n\d+)$`)
		for line := range strings.Lines(p.Mermaid()) {
			if !ours.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Errorf("a flowchart has the line %q", line)
			}
		}
	}
}

func TestLineagePicture(t *testing.T) {
	p := LineagePicture(family(func(s string) string { return s }))
	var got []string
	for i, b := range p.Boxes {
		parent := "-"
		for _, l := range p.Links {
			if l.To == i {
				parent = p.Boxes[l.From].Lines[0] + " " + l.Kind
			}
		}
		got = append(got, fmt.Sprintf("%s < %s", b.Lines[0], parent))
	}
	want := []string{
		"outside of the workspace < -", "Far < outside of the workspace fork", "Near < Far fork", "Target < Near fork",
		"A < Target subagent", "B < A fork", "outside of the workspace < B outside", "C < Target subagent", "outside of the workspace < Target outside",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	apart(t, p)
	if again := LineagePicture(family(func(s string) string { return s })); again.SVG() != p.SVG() || again.Mermaid() != p.Mermaid() {
		t.Error("two drawings of one lineage differ")
	}
}

// apart checks that boxes do not overlap and lie within the picture.
func apart(t *testing.T, p Picture) {
	t.Helper()
	w, h := p.size()
	for i, a := range p.Boxes {
		if a.X < 0 || a.Y < 0 || a.X+a.W > w || a.Y+a.H > h {
			t.Fatalf("box %d (%v) is not inside of %d by %d", i, a, w, h)
		}
		for j, b := range p.Boxes[:i] {
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Fatalf("boxes %d and %d overlap: %v, %v", i, j, a, b)
			}
		}
	}
}

func TestRelationsPicture(t *testing.T) {
	r := query.Relations{
		Info: member("s", "S", session.Header{}), Event: query.Entry{Seq: 14, Type: "user/message" + hostile, State: session.Shadowed},
		ReplacedBy: 24, Chain: []int64{24, 30}, Replaced: []int64{1, 3}, Sources: []int64{12, 13, 1}, Derived: []int64{24},
	}
	p := RelationsPicture(r)
	apart(t, p)
	parse(t, p.SVG())
	var got []string
	for _, l := range p.Links {
		got = append(got, strings.Fields(p.Boxes[l.From].Lines[0])[0]+" "+l.Kind+" "+p.Boxes[l.To].Lines[0][:3])
	}
	want := []string{"#1 replaces #14", "#3 replaces #14", "#12 cites #14", "#1 cites #14", "#14 replaces #24", "#24 replaces #30", "#14 cites #24"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Large families and long lists stay pictures.
func TestLargePictures(t *testing.T) {
	l := authz.Lineage{Target: member("t", "T", session.Header{})}
	for i := range 5000 {
		l.Descendants = append(l.Descendants, authz.Kin{Info: member(fmt.Sprint(i), strings.Repeat("long ", 100), session.Header{ParentSession: "x"}), Depth: i % 120})
	}
	svg := LineagePicture(l).SVG()
	boxes := 0
	for _, e := range parse(t, svg) {
		if e.name == "rect" && e.class == "box" {
			boxes++
		}
		if e.name == "text" && Width(e.text) > 2*maxColumns {
			t.Fatalf("a line of %d columns", Width(e.text))
		}
	}
	if boxes != 5001 || len(svg) > 6<<20 {
		t.Errorf("%d boxes in %d bytes", boxes, len(svg))
	}
	r := query.Relations{Info: member("s", "S", session.Header{})}
	for i := range int64(100_000) {
		r.Derived = append(r.Derived, 2*i)
	}
	p := RelationsPicture(r)
	if last := p.Boxes[len(p.Boxes)-1].Lines[0]; len(p.Boxes) != maxRelated+2 || last != "and 99500 more" {
		t.Errorf("%d boxes, the last %q", len(p.Boxes), last)
	}
}
