package web

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// foldedPoints is how much of an event's text a panel shows at first.
const foldedPoints = 6000

// mostLinks is how many events a relation names.
const mostLinks = 60

// panel is one event, whole, with its relations.
type panel struct {
	Seq           int64
	Type          string
	Who, Role     string
	Tool          string
	State         string
	Time          int64
	Text          []piece
	Folded        int64 // code points that are not shown
	Points        int64
	Bytes         int
	Reconstructed bool
	Link          string
	Raw           string
	Whole         string // the page of its text
	Relations     []relation
	Notes         []string
}

// relation is one of an event's relations.
type relation struct {
	Name   string
	About  string
	Events []stretch
	More   int
}

// describe reads an event from its log and its relations from the index.
func (p *pages) describe(ctx context.Context, o *opened, seq int64, asked string) (*panel, error) {
	w, err := o.grant.Read(ctx, seq, 0, 0)
	if err != nil {
		return nil, err
	}
	r, err := o.grant.TraceEvent(ctx, seq)
	if err != nil {
		return nil, err
	}
	head := o.head
	out := &panel{
		Seq: seq, Type: render.Line(w.Entry.Type, 100), State: w.Entry.State.String(), Time: w.Entry.Time,
		Points: int64(utf8.RuneCountInString(w.Entry.Text)), Bytes: len(w.Event.Native), Reconstructed: w.Event.Event.Reconstructed,
		Link: eventLink(head, seq), Raw: link(head, strconv.FormatInt(seq, 10)+"/raw", nil), Whole: link(head, strconv.FormatInt(seq, 10)+"/text", nil),
		Who: "Event", Role: "other", Notes: notes(session.Coverage{}, w.Entry.Masked),
	}
	if ordinal, err := o.grant.OrdinalOf(ctx, seq); err == nil && ordinal >= 0 {
		list, err := o.grant.Passages(ctx, ordinal, 1, 0)
		if err != nil {
			return nil, err
		}
		if len(list.Passages) == 1 && list.Passages[0].Seq == seq {
			out.Who, out.Role = speaker(list.Passages[0].Role)
			out.Tool = render.Line(list.Passages[0].Tool, 100)
		}
	}
	text := w.Entry.Text
	if out.Points > foldedPoints {
		n := 0
		for at := range text {
			if n == foldedPoints {
				text = text[:at]
				break
			}
			n++
		}
		out.Folded = out.Points - foldedPoints
	}
	out.Text = marked(visible(text), asked)
	runs := func(seqs []int64) (list []stretch, more int) {
		for i := 0; i < len(seqs); {
			end := i
			for end+1 < len(seqs) && seqs[end+1] == seqs[end]+1 {
				end++
			}
			if len(list) == mostLinks {
				more += end - i + 1
			} else {
				list = append(list, stretch{seqs[i], seqs[end], eventLink(head, seqs[i])})
			}
			i = end + 1
		}
		return list, more
	}
	add := func(name, about string, seqs []int64) {
		if len(seqs) > 0 {
			list, more := runs(seqs)
			out.Relations = append(out.Relations, relation{name, about, list, more})
		}
	}
	if r.ReplacedBy >= 0 {
		add("Replaced by", "the event that took it out of the model's context", []int64{r.ReplacedBy})
	}
	if len(r.Chain) > 1 {
		add("And in turn", "who replaced that one, and so on", r.Chain[1:])
	}
	add("Replaces", "what it took out of the model's context", r.Replaced)
	add("Cites", "the earlier events that it names as its sources", r.Sources)
	add("Cited by", "later events that name it as a source", r.Derived)
	return out, nil
}

// event gives the session and the sequence number of a request to a reader of
// its log. A log that is not what the index says, because it was deleted or
// written anew since, is looked at and read once more.
func (p *pages) event(ctx context.Context, r *http.Request, read func(*opened, int64) error) error {
	seq, ok := sequence(r.PathValue("seq"))
	if !ok {
		return fmt.Errorf("%w: no such address", fault.EventNotFound)
	}
	for _, look := range []bool{false, true} {
		o, err := p.open(ctx, r, look)
		if err == nil {
			err = read(o, seq)
		}
		if code, _ := fault.Of(err); look || p.asksTeam(r) || code != fault.Persistence && code != fault.CorruptSession {
			return err
		}
	}
	return nil
}

// panel serves the panel of an event alone.
func (p *pages) panel(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	var one *panel
	err := p.event(ctx, r, func(o *opened, seq int64) (err error) {
		one, err = p.describe(ctx, o, seq, r.URL.Query().Get("q"))
		return err
	})
	if err != nil {
		p.fail(w, r, err)
		return
	}
	p.show(w, r, http.StatusOK, "panel.html", struct {
		top
		Panel *panel
	}{top{Title: "Event"}, one})
}

// read reads the event of a request from its log.
func (p *pages) read(w http.ResponseWriter, r *http.Request) (query.Window, bool) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	var window query.Window
	err := p.event(ctx, r, func(o *opened, seq int64) (err error) {
		window, err = o.grant.Read(ctx, seq, 0, 0)
		return err
	})
	if err != nil {
		p.fail(w, r, err)
		return query.Window{}, false
	}
	return window, true
}

// text serves the whole searchable text of an event, as text.
func (p *pages) text(w http.ResponseWriter, r *http.Request) {
	if read, ok := p.read(w, r); ok {
		plain(w, r, []byte(visible(read.Entry.Text)), "")
	}
}

// raw serves the bytes of an event as its log has them: as text where they are
// some, to be saved where not.
func (p *pages) raw(w http.ResponseWriter, r *http.Request) {
	read, ok := p.read(w, r)
	if !ok {
		return
	}
	native := read.Event.Native
	name := ""
	if !utf8.Valid(native) {
		name = fmt.Sprintf("event-%d.bin", read.Entry.Seq)
	}
	plain(w, r, native, name)
}

// plain sends bytes that no browser makes anything of.
func plain(w http.ResponseWriter, r *http.Request, body []byte, save string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	if save != "" {
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": save}))
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		w.Write(body)
	}
}
