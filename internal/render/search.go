package render

import (
	"fmt"
	"strings"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// Sessions is the answer to a search over sessions, best hits first.
type Sessions struct {
	Hits       []authz.SessionHit
	Capped     bool // more exist than were collected
	Shared     bool // ids are shown as agent:id
	Workspaces bool // the hits come from several workspaces: each says which
	Coverage   session.Coverage

	Resume func(session.Header) string // the command that takes a session up again; nil: not shown
}

// Events is the answer to a search in one session, best hits first.
type Events struct {
	Info     query.Info
	Hits     []query.EventHit
	Capped   bool // more exist than were collected
	Coverage session.Coverage
}

// maxForks is how many forks of a hit are named.
const maxForks = 5

// SessionsText prints, for each session, a line with id, creation time, parent
// and title, and one with its best event. Sessions are on disk unless a line
// says live. inline is a number of bytes at which the list stops, at a whole
// hit and with a sentence that says how many are left out; 0: no limit.
func SessionsText(r Sessions, inline int) string {
	list := list{noun: "session", capped: r.Capped, coverage: r.Coverage}
	for _, h := range r.Hits {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s %s", key(h.Info.Header.Key(), r.Shared), Time(h.Info.Header.CreatedAt), parent(h.Parent, r.Shared))
		if h.Info.Live {
			b.WriteString(" " + availability(h.Info))
		}
		if r.Workspaces {
			b.WriteString(" in " + Workspace(h.Info.Header))
		}
		b.WriteString(": " + title(h.Info) + "\n")
		hit(&b, h.Best)
		if len(h.Forks) > 0 {
			b.WriteString(" same event in forks:")
			for _, f := range h.Forks[:min(len(h.Forks), maxForks)] {
				b.WriteString(" " + key(f, r.Shared))
			}
			if more := len(h.Forks) - maxForks; more > 0 {
				fmt.Fprintf(&b, " and %d more", more)
			}
			b.WriteByte('\n')
		}
		if r.Resume != nil {
			if command := r.Resume(h.Info.Header); command != "" {
				b.WriteString(" resume: " + command + "\n")
			}
		}
		list.add(b.String(), h.Best.Partial, h.Info.Masked+h.Best.Masked)
	}
	return list.text("", inline)
}

// EventsText prints the session's line, then one line for each event. inline
// is as in SessionsText.
func EventsText(r Events, inline int) string {
	list := list{noun: "event", capped: r.Capped, coverage: r.Coverage, before: r.Info.Masked}
	for _, h := range r.Hits {
		var b strings.Builder
		hit(&b, h)
		list.add(b.String(), h.Partial, h.Masked)
	}
	return list.text(heading(r.Info)+"\n", inline)
}

// Workspace prints a session's workspace.
func Workspace(h session.Header) string {
	if h.Cwd == "" {
		return "no workspace"
	}
	return name(h.Cwd, true)
}

func parent(p authz.Parent, shared bool) string {
	switch p.Kind {
	case authz.ParentVisible:
		return "parent " + key(p.Key, shared)
	case authz.ParentOutside:
		return "parent [outside workspace]"
	}
	return "root"
}

func hit(b *strings.Builder, h query.EventHit) {
	b.WriteString(" " + event(h.Seq, h.Type, h.State, h.Time))
	if h.Clipped {
		b.WriteString(" (searched in part)")
	}
	b.WriteString(": " + line(h.Snippet) + "\n")
}

// list is a search's hits, rendered one by one. Literal hits come first.
type list struct {
	noun     string
	blocks   []string
	masked   []int // credentials in each block
	before   int   // and in what stands before them
	literal  int
	capped   bool
	coverage session.Coverage
}

func (l *list) add(block string, partial bool, masked int) {
	switch {
	case !partial:
		l.literal++
	case len(l.blocks) == l.literal:
		block = "not literal: these hold only some of the query's words\n" + block
	}
	l.blocks, l.masked = append(l.blocks, block), append(l.masked, masked)
}

// text joins as many whole hits as fit.
func (l *list) text(before string, inline int) string {
	head := before + l.head()
	size := len(head)
	for _, b := range l.blocks {
		size += len(b)
	}
	shown := len(l.blocks)
	foot := l.foot(shown)
	for inline > 0 && shown > 0 && size+len(foot) > inline {
		shown--
		size -= len(l.blocks[shown])
		foot = l.foot(shown)
	}
	return strings.TrimSuffix(head+strings.Join(l.blocks[:shown], "")+foot, "\n")
}

func (l *list) head() string {
	switch {
	case len(l.blocks) == 0:
		return "No " + l.noun + " matches.\n"
	case l.literal == 0:
		return "No " + l.noun + " matches literally.\n"
	}
	return count(l.literal, l.noun) + ", best first:\n"
}

// foot says in words what the list lacks.
func (l *list) foot(shown int) string {
	var b strings.Builder
	left := len(l.blocks) - shown
	switch {
	case left > 0 && l.capped:
		fmt.Fprintf(&b, "At least %s left out. Narrow the query or add filters.\n", count(left+1, "more "+l.noun))
	case left > 0:
		fmt.Fprintf(&b, "%s left out for length. Narrow the query or add filters.\n", count(left, "more "+l.noun))
	case l.capped && shown == 1:
		b.WriteString("Only the best one is listed; more match. Narrow the query or add filters.\n")
	case l.capped:
		fmt.Fprintf(&b, "Only the best %d are listed; more match. Narrow the query or add filters.\n", shown)
	}
	b.WriteString(CoverageText(l.coverage))
	masked := l.before
	for _, n := range l.masked[:shown] {
		masked += n
	}
	b.WriteString(MaskedText(masked))
	return b.String()
}

// CoverageText says what a search may have missed, one sentence a line; nothing
// when it missed nothing.
func CoverageText(c session.Coverage) string {
	var b strings.Builder
	if c.Behind > 0 {
		fmt.Fprintf(&b, "%d of %s searched; %d not indexed yet: repeat the call.\n",
			max(0, c.Sessions-c.Behind-c.Unreadable), count(c.Sessions, "session"), c.Behind)
	}
	if c.Unreadable > 0 {
		fmt.Fprintf(&b, "%s left out: logs that cannot be read or contradict each other; `yore doctor` names them.\n", count(c.Unreadable, "session"))
	}
	if c.Damaged > 0 {
		fmt.Fprintf(&b, "%s searched only up to a damaged place; `yore doctor` names it.\n", count(c.Damaged, "session"))
	}
	if c.Clipped > 0 {
		fmt.Fprintf(&b, "%s searched only in the first part of the text.\n", count(c.Clipped, "very long event"))
	}
	if c.Since != 0 {
		fmt.Fprintf(&b, "Words that are common in the history were counted only in events since %s: rarer words are looked for in all.\n", Time(c.Since))
	}
	if c.Stale {
		b.WriteString("Newer events exist that are not indexed yet: repeat the call to search them.\n")
	}
	return b.String()
}
