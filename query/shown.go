package query

import (
	"unicode/utf8"

	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/internal/mask"
)

// The engine masks only what it cuts, because a credential has to be found before
// the cut (Config.Mask). Whole texts, titles and names leave it as they are: the
// view masks them, once it has compared headers.

// Revealed returns an engine over the same corpus that masks nothing. It is for
// the owner of the history, at their own terminal.
func (e *Engine) Revealed() *Engine {
	open := *e
	open.Mask = nil
	return &open
}

// snippet cuts a piece around a match.
func (e *Engine) snippet(text string, at int, clipped bool) (snippet string, masked int) {
	from, to := document.Extent(text, at, e.Snippet)
	text, at, found := e.Mask.Around(text, from, to, at, clipped)
	snippet = document.Snippet(text, at, e.Snippet)
	return snippet, mask.Shown(snippet, found)
}

// head cuts the beginning of a text, at most points code points (negative: all
// of it).
func (e *Engine) head(text string, points int, clipped bool) (head string, cut bool, masked int) {
	if points < 0 {
		points = len(text)
	}
	to := 0
	for n := 0; n < points && to < len(text); n++ {
		_, size := utf8.DecodeRuneInString(text[to:])
		to += size
	}
	text, _, found := e.Mask.Around(text, 0, to, 0, clipped)
	if head, cut = document.Cut(text, points); !cut {
		return head, cut, len(found)
	}
	return head, cut, mask.Shown(head, found)
}
