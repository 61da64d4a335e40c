package authz

import (
	"strings"
	"unicode"

	"github.com/yorehq/yore/internal/mask"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// Whatever a session may have chosen the wording of passes one of the functions
// of this file on its way out of a view, once it has been authorized by its true
// header. Nothing above a view holds a text in which a credential that the rules
// know is not masked. Names are masked as texts are; a session whose id or
// workspace looks like a credential is listed under its mask and can be named by
// its true id alone.

// Revealed returns a view with the same rights that masks nothing. It is for the
// owner of the history at their own terminal, for one answer, and for nobody
// else: no tool, no page and no protocol has a way to ask for it.
func (v *View) Revealed() *View {
	open := *v
	open.engine = v.engine.Revealed()
	return &open
}

// shown masks what it is given and counts.
type shown struct {
	mask   *mask.Masker
	masked int
}

func (v *View) shown() *shown { return &shown{mask: v.engine.Mask} }

func (s *shown) name(name *string) {
	text, n := s.mask.Text(*name)
	*name, s.masked = text, s.masked+n
}

func (s *shown) key(k session.Key) session.Key {
	id, agent := string(k.ID), string(k.Agent)
	s.name(&id)
	s.name(&agent)
	return session.Key{Agent: session.Agent(agent), ID: session.ID(id)}
}

func (s *shown) header(h session.Header) session.Header {
	if s.mask == nil {
		return h
	}
	key := s.key(h.Key())
	h.ID, h.Agent = key.ID, key.Agent
	parent := string(h.ParentSession)
	for _, name := range []*string{&h.Cwd, &parent, &h.AgentPreset} {
		s.name(name)
	}
	h.ParentSession = session.ID(parent)
	return h
}

// longText is from how many bytes on a text may have been cut by its reader.
const longText = 1 << 16

// cutTitle is from how many characters on a title may be the beginning of a prompt.
const cutTitle = 80

func (s *shown) info(i query.Info) query.Info {
	if s.mask == nil {
		return i
	}
	own := shown{mask: s.mask}
	i.Header = own.header(i.Header)
	if len(i.Title) >= cutTitle {
		var n int
		i.Title, n = s.mask.Head(i.Title)
		own.masked += n
	} else {
		own.name(&i.Title)
	}
	i.Masked = own.masked
	return i
}

func (s *shown) infos(list []query.Info) []query.Info {
	for i := range list {
		list[i] = s.info(list[i])
	}
	return list
}

// hit masks the type; the snippet was masked before it was cut.
func (s *shown) hit(h query.EventHit) query.EventHit {
	own := shown{mask: s.mask}
	own.name(&h.Type)
	h.Masked += own.masked
	return h
}

func (s *shown) hits(list []query.EventHit) []query.EventHit {
	for i := range list {
		list[i] = s.hit(list[i])
	}
	return list
}

func (s *shown) entry(e query.Entry) query.Entry {
	own := shown{mask: s.mask}
	own.name(&e.Type)
	if len(e.Text) > longText {
		var n int
		e.Text, n = s.mask.Head(e.Text)
		own.masked += n
	} else {
		own.name(&e.Text)
	}
	e.Masked = own.masked
	return e
}

func (s *shown) entries(list []query.Entry) []query.Entry {
	for i := range list {
		list[i] = s.entry(list[i])
	}
	return list
}

func (s *shown) passages(list []query.Passage) []query.Passage {
	for i := range list {
		own := shown{mask: s.mask}
		own.name(&list[i].Type)
		own.name(&list[i].Tool)
		list[i].Masked += own.masked
	}
	return list
}

func (s *shown) counts(lists ...[]query.Count) {
	for _, list := range lists {
		for i := range list {
			s.name(&list[i].Name)
		}
	}
}

func (s *shown) facets(lists ...[]query.Facet) {
	for _, list := range lists {
		for i := range list {
			s.name(&list[i].Value)
		}
	}
}

// raw masks an event's own bytes, and what a reader took from them.
func (s *shown) raw(r session.Raw) session.Raw {
	if s.mask == nil {
		return r
	}
	native, n := s.mask.JSON(r.Native)
	r.Native = native
	s.masked += n
	own := shown{mask: s.mask}
	for _, name := range []*string{&r.Event.Type, &r.Event.NativeID, &r.Event.Body.CallID, &r.Event.Body.ErrorName, &r.Event.Body.ErrorCode, &r.Event.Body.TitleOf, &r.Event.Resume} {
		own.name(name)
	}
	if title := r.Event.Body.Title; title != nil {
		text, _ := s.mask.Head(*title)
		r.Event.Body.Title = &text
	}
	r.Event.Body.Blocks = own.blocks(r.Event.Body.Blocks)
	return r
}

func (s *shown) blocks(list []session.Block) []session.Block {
	if list == nil {
		return nil
	}
	out := make([]session.Block, len(list))
	texts := make([]string, len(list))
	for i, b := range list {
		texts[i] = b.Text
	}
	texts, n := s.mask.Parts(texts)
	s.masked += n
	for i, b := range list {
		b.Text = texts[i]
		s.name(&b.Name)
		b.Content = s.blocks(b.Content)
		out[i] = b
	}
	return out
}

// completion refuses to finish a word that nobody would type.
func (v *View) completion(asked, rest string) string {
	word := asked[strings.LastIndexFunc(asked, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })+1:]
	if v.engine.Mask == nil || rest == "" {
		return rest
	}
	if _, n := v.engine.Mask.Text(asked + rest); n > 0 || mask.Opaque(word+rest) {
		return ""
	}
	return rest
}
