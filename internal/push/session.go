package push

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/yorehq/yore/internal/archive"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/reader"
	format "github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
)

// A stretch ends behind the event that brings its text to segmentBytes, or its
// count to segmentEvents. Runs stay together.
const (
	segmentBytes  = 2 << 20
	segmentEvents = 20_000
)

const changing = "the log was rewritten while it was read; the next run sends it"

// sending is one session on its way.
//
// Its log is read twice from where it was last read to, as an archiver reads it:
// once for which events come in runs, once for the events with their bytes.
type sending struct {
	archive.Original
	pusher *Pusher
	name   string // the workspace, as the server calls it
	known  record // what is remembered of it
	tail   reader.Tail
	first  session.Checkpoint // where its new events begin
	runs   map[int64]int64    // how many events begin at a seq, if more than one
	title  string
}

// open reads what is new of a session.
func (p *Pusher) open(ctx context.Context, o archive.Original) (*sending, error) {
	s := &sending{Original: o, pusher: p, name: p.Workspaces[o.Source.Header.Cwd], runs: map[int64]int64{}}
	fresh := record{Header: o.Source.Header, Name: s.name, Mapping: o.Mapping()}
	if p.Server != nil {
		fresh.Host = p.Server.Host()
	}
	var err error
	if s.known = fresh; !p.Again {
		if s.known, err = p.memory.load(fresh); err != nil {
			return nil, err
		}
	}
	if s.title, err = o.Title(ctx); err != nil {
		s.title = "" // it comes with the next growth
	}
	if s.known.Position.Next > 0 || s.known.Position.Offset > 0 {
		rev, _, err := o.Reader.Revise(ctx, o.Source, s.known.Position)
		switch {
		case err != nil:
			return nil, err
		case rev == reader.Unchanged && s.known.Next == s.known.Position.Next:
			s.tail.Position = s.known.Position
			return s, nil
		case rev == reader.Replaced || rev == reader.Gone:
			fresh.Replace = s.known.Next > 0
			s.known = fresh
		}
	}
	seen := false
	s.tail, err = o.Reader.Read(ctx, o.Source, s.known.Position, func(e session.Event) error {
		if !seen {
			s.first, seen = session.Checkpoint{Seq: e.Seq, Place: e.Place, State: e.Resume}, true
		}
		if e.Len() > 1 {
			s.runs[e.Seq] = e.Len()
		}
		return nil
	})
	return s, err
}

// each gives the events with from ≤ seq < to with their bytes, and how many a run
// that begins with one has (else 1).
func (s *sending) each(ctx context.Context, from, to int64, emit func(session.Raw, int64) error) error {
	if from >= to {
		return nil
	}
	at := session.Checkpoint{}
	if from >= s.known.Position.Next && s.known.Position.Next > 0 {
		at = s.first
	}
	next := from
	var failed error
	h, err := s.Reader.Window(ctx, s.Source, at, from, to-1, session.Every(), func(raw session.Raw) error {
		if raw.Event.Seq != next {
			return &refusal{changing}
		}
		next++
		failed = emit(raw, max(s.runs[raw.Event.Seq], 1))
		return failed
	})
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return err
	case next != to || h != s.Source.Header:
		return &refusal{changing}
	}
	return nil
}

// nowhere is a place behind every session: a stretch that begins there continues
// none, so that the server says what it has.
const nowhere = session.MaxSafe

// send sends what is new of a session and returns where its log was read to.
func (p *Pusher) send(ctx context.Context, o archive.Original, r *Report) (reader.Position, error) {
	s, err := p.open(ctx, o)
	if err != nil {
		return reader.Position{}, err
	}
	end := s.tail.Position
	if s.known.Next == end.Next && s.known.Title == s.title && s.known.sent() {
		if s.known.Position = end; !s.known.saved() {
			err = p.memory.save(s.known)
		}
		return end, err
	}
	if end.Next == 0 {
		return end, nil // nothing was said yet
	}
	r.Sent++
	for round := 0; ; round++ {
		from, to, anew := s.known.Next, end.Next, s.known.Replace
		switch {
		case anew:
			from = 0
		case p.Again && round == 0:
			from, to = nowhere, nowhere
		}
		err := s.stretches(ctx, from, to, anew, r)
		var gap *gapError
		if !errors.As(err, &gap) || round == 2 {
			if errors.As(err, &gap) {
				err = &refusal{"the server has another version of it"}
			}
			if err != nil {
				return end, err
			}
			break
		}
		// The server has more or less than is remembered here.
		r.Anew++
		s.known.Position, s.first, s.known.Replace = reader.Position{}, session.Checkpoint{}, true
		same, err := s.sameAs(ctx, gap)
		if err != nil {
			return end, err
		}
		switch {
		case same:
			s.known.Next, s.known.Replace = gap.next, false
			r.Anew--
			if p.Again && gap.next == end.Next {
				r.Sent-- // its title alone is sent once more
			}
		case gap.next == 0:
			s.known.Replace = false // there is nothing in whose place it would go
			r.Anew--
		}
		if err := s.reread(ctx); err != nil {
			return end, err
		}
		end = s.tail.Position
	}
	s.known.Position, s.known.Next, s.known.Title, s.known.Replace = end, end.Next, s.title, false
	return end, p.memory.save(s.known)
}

// reread notes the runs of the whole log: what was remembered of it is of no use.
func (s *sending) reread(ctx context.Context) (err error) {
	s.tail, err = s.Reader.Read(ctx, s.Source, reader.Position{}, func(e session.Event) error {
		if e.Len() > 1 {
			s.runs[e.Seq] = e.Len()
		}
		return nil
	})
	return err
}

// gapError is the server's word that a stretch does not continue what it has.
type gapError struct {
	next int64  // the seq that would
	sum  string // of the events before it
}

func (e *gapError) Error() string {
	return fmt.Sprintf("the server has the events before %d", e.next)
}

// sameAs reports whether the server's events are those that would be sent.
func (s *sending) sameAs(ctx context.Context, gap *gapError) (bool, error) {
	if gap.next == 0 || gap.next > s.tail.Position.Next {
		return false, nil
	}
	sum := team.NewSum()
	err := s.each(ctx, 0, gap.next, func(raw session.Raw, _ int64) error {
		masked, _ := s.pusher.masked(&raw)
		sum.Add(masked)
		return nil
	})
	return hex.EncodeToString(sum.Sum()) == gap.sum, err
}

// stretches sends the events with from ≤ seq < to.
func (s *sending) stretches(ctx context.Context, from, to int64, anew bool, r *Report) error {
	var body bytes.Buffer
	var enc *format.Encoder
	begin := func() (err error) {
		body.Reset()
		if enc, err = format.NewEncoder(&body); err != nil {
			return err
		}
		return enc.Begin(s.origin())
	}
	if err := begin(); err != nil {
		return err
	}
	at, count, bytes, masked, left := from, int64(0), int64(0), 0, int64(0)
	flush := func() error {
		if err := enc.End(reader.Position{Next: at + count}); err != nil {
			return err
		}
		next, err := s.pusher.stretch(ctx, at, anew, body.Bytes())
		if err != nil {
			return err
		}
		if next != at+count {
			return &serverError{fmt.Errorf("it took the events before %d and says %d", at+count, next)}
		}
		r.Events, r.Bytes, r.Masked = r.Events+count, r.Bytes+int64(body.Len()), r.Masked+masked
		s.known.Next, s.known.Replace = next, false
		if err := s.pusher.memory.save(s.known); err != nil {
			return err
		}
		at, count, bytes, masked, anew = next, 0, 0, 0, false
		return begin()
	}
	err := s.each(ctx, from, to, func(raw session.Raw, span int64) error {
		m, n := s.pusher.masked(&raw)
		if err := enc.Add(m, span); err != nil {
			return err
		}
		if left == 0 {
			left = span
		}
		left--
		count, bytes, masked = count+1, bytes+weight(&m), masked+n
		if left == 0 && (bytes >= segmentBytes || count >= segmentEvents) {
			return flush()
		}
		return nil
	})
	if err != nil {
		return err
	}
	if count > 0 || from == to || anew {
		return flush()
	}
	return nil
}

// origin is what a stretch states of its session: where its log lies is nobody's
// business.
func (s *sending) origin() format.Origin {
	h := s.Source.Header
	h.Cwd = s.name
	title, _ := s.pusher.mask.Text(s.title)
	h.AgentPreset, _ = s.pusher.mask.Text(h.AgentPreset)
	return format.Origin{Header: h, Mapping: s.Mapping(), Title: title}
}

// stretch sends one body until the server has answered it.
func (p *Pusher) stretch(ctx context.Context, from int64, anew bool, body []byte) (next int64, err error) {
	var got team.Taken
	err = p.trying(ctx, func() (err error) {
		got, err = p.Server.Push(ctx, team.Stretch{From: from, Anew: anew, Body: body})
		return err
	})
	var status *team.StatusError
	switch {
	case err == nil:
		return got.Next, nil
	case errors.As(err, &status) && status.Status == 409:
		return 0, &gapError{got.Next, got.Sum}
	case errors.As(err, &status) && (status.Status == 413 || status.Status == 422 || status.Status == 404):
		return 0, &refusal{"the server refuses it: " + status.Error()}
	}
	return 0, &serverError{err}
}
