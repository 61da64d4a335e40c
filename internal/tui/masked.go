package tui

import "fmt"

// What is drawn was masked on its way out of the view. The status row says how
// many credentials of what the page holds are, outside of any session's text: a
// session can write a mark, and not that row.

// masks is implemented by pages that show text of sessions.
type masks interface {
	masked() int
}

func (m *Model) masked() int {
	if n := len(m.pages); n > 0 {
		if p, ok := m.pages[n-1].(masks); ok {
			return p.masked()
		}
		return 0
	}
	return m.results.masked() + m.preview.read.masked()
}

// maskedNote is "" where nothing is masked.
func maskedNote(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s masked", amount(int64(n), "credential"))
}

func (r *results) masked() (n int) {
	for _, it := range r.items {
		n += it.info.Masked
		if it.hit != nil {
			n += it.hit.Masked
		}
	}
	return n
}

func (e *excerpt) masked() (n int) {
	for _, p := range e.passages {
		n += p.Masked
	}
	return n
}

func (p *sessionPage) masked() int { return p.info.Masked + p.read.masked() }

func (p *treePage) masked() (n int) {
	for _, b := range p.branches {
		n += b.info.Masked
	}
	return n
}

func (p *relationsPage) masked() int {
	n := p.info.Masked
	for _, r := range p.rows {
		n += r.entry.Masked
	}
	return n
}
