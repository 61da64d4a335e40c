package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/yorehq/yore/fault"
)

// Descendant is one session of a forest in depth-first order; Depth 0 is a
// child of the target.
type Descendant struct {
	Header Header
	Depth  int
}

// Lineage is where a session comes from and what came from it.
type Lineage struct {
	Target      Header
	Ancestors   []Header // nearest first
	Missing     ID       // the first parent id that is not in the corpus; "": the chain is complete
	Descendants []Descendant
}

// Kin answers who is related to whom, from headers alone.
type Kin interface {
	// Parent returns the session that h names as its parent, false if it is not in the corpus.
	Parent(h Header) (Header, bool, error)
	// Children returns the sessions whose parent is h, in any order.
	Children(h Header) ([]Header, error)
}

// Trace walks the lineage of target. A ring through its ancestors is
// fault.InvalidLineage; a ring elsewhere is cut where it closes. Depth is
// unbounded and nothing recurses on it. Siblings are ordered by creation time,
// then by the bytes of the id.
func Trace(target Header, kin Kin) (Lineage, error) {
	line := Lineage{Target: target}
	seen := map[Header]bool{target: true}
	for at := target; at.ParentSession != ""; {
		parent, ok, err := kin.Parent(at)
		if err != nil {
			return Lineage{}, err
		}
		if !ok {
			line.Missing = at.ParentSession
			break
		}
		if seen[parent] {
			return Lineage{}, fmt.Errorf("%w: %s comes back as its own ancestor", fault.InvalidLineage, parent.Key())
		}
		seen[parent] = true
		line.Ancestors = append(line.Ancestors, parent)
		at = parent
	}
	descendants, err := forest(target, kin)
	line.Descendants = descendants
	return line, err
}

func forest(target Header, kin Kin) ([]Descendant, error) {
	seen := map[Header]bool{target: true}
	var out, stack []Descendant
	push := func(of Header, depth int) error {
		children, err := kin.Children(of)
		if err != nil {
			return err
		}
		// The list may be the corpus's own: a sorted copy, last first.
		for _, c := range slices.Backward(slices.SortedFunc(slices.Values(children), CompareSiblings)) {
			stack = append(stack, Descendant{c, depth})
		}
		return nil
	}
	if err := push(target, 0); err != nil {
		return nil, err
	}
	for len(stack) > 0 {
		d := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[d.Header] {
			continue
		}
		seen[d.Header] = true
		out = append(out, d)
		if err := push(d.Header, d.Depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// CompareSiblings orders by creation time, then id, then agent, by bytes.
func CompareSiblings(a, b Header) int {
	return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), CompareKey(a.Key(), b.Key()), strings.Compare(a.Cwd, b.Cwd))
}
