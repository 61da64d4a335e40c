package render

import (
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
)

// What is rendered was masked on its way out of a view (authz). Here it is only
// said, once for a result, how much of it was: a session could have written any
// mark itself, but not that line.

// MaskedText says how many credentials of a result are masked, as a line; ""
// where there is none.
func MaskedText(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 credential is masked.\n"
	}
	return count(n, "credential") + " are masked.\n"
}

// MaskedSessions counts in a search over sessions.
func MaskedSessions(hits []authz.SessionHit) (n int) {
	for _, h := range hits {
		n += h.Info.Masked + h.Best.Masked
	}
	return n
}

// MaskedEvents counts in a search of one session.
func MaskedEvents(info query.Info, hits []query.EventHit) int {
	n := info.Masked
	for _, h := range hits {
		n += h.Masked
	}
	return n
}

// MaskedInfos counts in a list of sessions.
func MaskedInfos(list []query.Info) (n int) {
	for _, i := range list {
		n += i.Masked
	}
	return n
}

// MaskedEntries counts in a list of events.
func MaskedEntries(list []query.Entry) (n int) {
	for _, e := range list {
		n += e.Masked
	}
	return n
}

// MaskedLineage counts in a lineage.
func MaskedLineage(l authz.Lineage) int {
	n := l.Target.Masked + MaskedInfos(l.Ancestors)
	for _, d := range l.Descendants {
		n += d.Info.Masked
	}
	return n
}

// MaskedWindow counts in a read: the event's own bytes, and its neighbours.
func MaskedWindow(w query.Window) int {
	return w.Info.Masked + w.Masked + MaskedEntries(w.Before) + MaskedEntries(w.After)
}
