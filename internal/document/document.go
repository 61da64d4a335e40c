// Package document turns an event's body into searchable text, and text into
// the tokens that are indexed and looked for.
//
// It owns what counts as text, the fold that makes spellings agree, the places
// where a phrase matches, and the snippet that shows one. Index and query go
// through the same fold, so a change of it raises Version. The package is pure:
// it knows nothing of agents, stores, ranking or filters, and reads no files.
//
// Start at Extract, then Tokens; fold.go says how characters are made to agree.
package document

import (
	"strings"
	"unicode/utf8"

	"github.com/yorehq/yore/session"
)

// Version is stored with what the package made: text, tokens and their order. A
// change of the extraction, of the fold or of the Unicode tables raises it.
const Version = 2

// MaxText is how many bytes of one event's text are searchable.
const MaxText = 8 << 20

// Extract returns the searchable text of an event: its parts, each trimmed of
// white space, empty ones left out, joined by a newline. A text block is one
// part; a call block gives its name, then its raw arguments; a result block
// gives its content; last come the error's name and code.
//
// NUL, U+FDD0, U+FDD1 and every ill-formed byte become U+FFFD. The text is at
// most MaxText bytes; clipped says that there was more, or that the reader had
// clipped the body already. An empty text means that the event is no document.
func Extract(b session.Body) (text string, clipped bool) {
	var room [4]string
	p := parts{list: room[:0]}
	p.blocks(b.Blocks)
	p.add(b.ErrorName)
	p.add(b.ErrorCode)
	return strings.Join(p.list, "\n"), p.clipped || b.Clipped
}

// parts collects the parts of one text within MaxText bytes.
type parts struct {
	list    []string
	size    int // of the joined text
	clipped bool
}

func (p *parts) blocks(list []session.Block) {
	for i := range list {
		b := &list[i]
		switch b.Kind {
		case session.TextBlock:
			p.add(b.Text)
		case session.CallBlock:
			p.add(b.Name)
			p.add(b.Text)
		case session.ResultBlock:
			p.blocks(b.Content)
		}
	}
}

func (p *parts) add(s string) {
	s = strings.TrimFunc(s, IsSpace)
	if s == "" || p.clipped {
		return
	}
	room := MaxText - p.size
	if len(p.list) > 0 {
		room--
	}
	s, cut := clean(s, max(room, 0))
	p.clipped = cut
	if s == "" {
		return
	}
	p.size = MaxText - room + len(s)
	p.list = append(p.list, s)
}

// replaced reports whether r may not stand in a text: NUL would end it in some
// stores, and the two noncharacters are reserved as marks around a match.
func replaced(r rune) bool { return r == 0 || r == '\uFDD0' || r == '\uFDD1' }

// mayReplace reports whether s holds NUL or the bytes that both noncharacters
// begin with, and a few others.
func mayReplace(s string) bool {
	return strings.IndexByte(s, 0) >= 0 || strings.Contains(s, "\uFDD0"[:2])
}

// clean puts U+FFFD in the place of what may not stand in a text, and cuts the
// result at limit bytes on the border of a character.
func clean(s string, limit int) (out string, cut bool) {
	if utf8.ValidString(s) && !mayReplace(s) {
		if len(s) <= limit {
			return s, false
		}
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		return s[:limit], true
	}
	var b strings.Builder
	b.Grow(min(len(s)+len(s)/8, limit))
	for _, r := range s { // an ill-formed byte is ranged over as U+FFFD
		if replaced(r) {
			r = utf8.RuneError
		}
		if b.Len()+utf8.RuneLen(r) > limit {
			return b.String(), true
		}
		b.WriteRune(r)
	}
	return b.String(), false
}
