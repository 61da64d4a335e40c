package serve

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
)

// What becomes of a stretch (POST /v1/push?from=N[&anew=true]):
//
//	200  it is stored, or was before: {"next":N,"generation":G}
//	409  it does not continue what is stored: {"next":N,"sum":"…"}; nothing has changed
//	413  it is longer than the server takes
//	422  it is no stretch, breaks a rule of sessions, or the session is another person's
//	429  come again (Retry-After)
//
// A stretch is applied in one transaction with the note that it was, so that one
// whose answer got lost is sent again and answered as before, as long as it is what
// the server has. One that was erased or replaced since is applied anew.

// errOthers says that a session was sent by somebody else.
var errOthers = errors.New("the session was sent by another person of the team")

// incoming is a stretch that was taken apart.
type incoming struct {
	batch  string
	origin archive.Origin
	from   int64
	anew   bool
	kept   []archive.Piece
	events int64
}

// source names a session's log within its tenant.
func source(h session.Header) string {
	workspace := sha256.Sum256([]byte(h.Cwd))
	return hex.EncodeToString(workspace[:16]) + "/" + h.Key().String()
}

func (s *Server) push(w http.ResponseWriter, r *http.Request, p Principal) {
	select {
	case s.pushing <- struct{}{}:
		defer func() { <-s.pushing }()
	default:
		s.meters.pushed("busy", 0, 0)
		busy(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.MaxBody))
	if err != nil {
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			refuse(w, http.StatusRequestEntityTooLarge, "", fmt.Sprintf("a stretch of more than %d bytes is not taken", s.MaxBody))
			return
		}
		refuse(w, http.StatusBadRequest, "", "the stretch did not arrive as a whole")
		return
	}
	in, err := s.parse(r, p, body)
	if err != nil {
		s.meters.pushed("refused", 0, int64(len(body)))
		refuse(w, http.StatusUnprocessableEntity, "", err.Error())
		return
	}
	h := in.origin.Header
	if !slices.Contains(p.Workspaces, h.Cwd) {
		s.meters.pushed("refused", 0, int64(len(body)))
		refuse(w, http.StatusUnprocessableEntity, "", "the token does not hold the session's workspace")
		return
	}
	detail, _ := json.Marshal(map[string]any{"workspace": h.Cwd, "agent": h.Agent, "id": h.ID, "from": in.from, "events": in.events, "anew": in.anew})
	if err := s.record(r.Context(), p, "push", detail); err != nil {
		s.down(w, r, err)
		return
	}
	next, generation, err := s.take(r.Context(), Place{p.Tenant, h.Cwd, p.Person}, in)
	var gap *ingest.GapError
	switch {
	case err == nil:
		s.meters.pushed("stored", in.events, int64(len(body)))
		answer(w, http.StatusOK, team.Taken{Next: next, Gen: generation})
	case errors.As(err, &gap):
		sum, err := s.sumOf(r.Context(), Place{p.Tenant, h.Cwd, p.Person}, source(h), gap.Next)
		if err != nil {
			s.down(w, r, err)
			return
		}
		s.meters.pushed("conflict", 0, int64(len(body)))
		answer(w, http.StatusConflict, team.Taken{Next: gap.Next, Sum: sum})
	case errors.Is(err, errOthers):
		s.meters.pushed("refused", 0, int64(len(body)))
		refuse(w, http.StatusUnprocessableEntity, "", errOthers.Error())
	case errors.Is(err, fault.CorruptSession):
		s.meters.pushed("refused", 0, int64(len(body)))
		refuse(w, http.StatusUnprocessableEntity, fault.CorruptSession, "")
	case errors.Is(err, ingest.ErrBusy):
		s.meters.pushed("busy", 0, 0)
		busy(w)
	default:
		s.down(w, r, err)
	}
}

// parse takes a stretch apart. Its failures may be shown.
func (s *Server) parse(r *http.Request, p Principal, body []byte) (*incoming, error) {
	q := r.URL.Query()
	in := &incoming{anew: q.Get("anew") == "true"}
	var err error
	if in.from, err = strconv.ParseInt(q.Get("from"), 10, 64); err != nil || in.from < 0 || in.anew && in.from != 0 {
		return nil, errors.New("from is no sequence number, or not the first one of a session that comes anew")
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %d %t ", p.Person, in.from, in.anew)
	sum.Write(body)
	in.batch = hex.EncodeToString(sum.Sum(nil))
	in.origin, _, err = archive.Decode(r.Context(), body, in.from, s.MaxText, func(piece archive.Piece) error {
		in.kept = append(in.kept, piece)
		in.events += piece.Event.Len()
		return nil
	})
	h := in.origin.Header
	switch {
	case err != nil:
		return nil, errors.New("the body is no stretch of a session")
	case h.Validate() != nil || h.Agent == "" || h.Agent == archive.Agent:
		return nil, errors.New("the session's header breaks a rule")
	case len(h.ID) > maxName || len(h.Agent) > maxName || len(h.Cwd) > maxName || len(in.origin.Mapping) > maxName || len(in.origin.Title) > maxName:
		return nil, errors.New("a name in the session's header is too long")
	case !utf8.ValidString(in.origin.Title):
		return nil, errors.New("the title is no text")
	}
	return in, nil
}

// maxName is how long a name in a header can be, in bytes.
const maxName = 4096

// take applies a stretch and returns the seq behind it.
func (s *Server) take(ctx context.Context, to Place, in *incoming) (next int64, generation uint64, err error) {
	h := in.origin.Header
	work := func(k Keeper) error {
		if err := mine(ctx, k, to.Person, h.Key()); err != nil {
			return err
		}
		received := ingest.Received{
			Source: source(h), Header: h, Mapping: in.origin.Mapping, Title: in.origin.Title, Anew: in.anew, From: in.from,
		}
		num, end, err := ingest.Receive(ctx, k, received, func(add func(session.Event) error) error {
			for i := range in.kept {
				if err := add(in.kept[i].Event); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		next = end
		return k.Keep(ctx, num, in.kept)
	}
	generation, again, err := s.Store.Apply(ctx, to, in.batch, work)
	if err != nil || !again {
		return next, generation, err
	}
	held, err := s.holds(ctx, to, in)
	if err == nil && !held {
		// The note is of a state that is gone. This one's answer may get lost as well:
		// it is held then.
		generation, _, err = s.Store.Apply(ctx, to, in.batch+" "+rand.Text(), work)
		return next, generation, err
	}
	return in.from + in.events, generation, err
}

// holds reports whether the events of a stretch are those that the server has, and,
// of a session that came anew, all that it has.
func (s *Server) holds(ctx context.Context, at Place, in *incoming) (bool, error) {
	if in.events == 0 {
		return false, nil // it brings a title, which may be another one by now
	}
	sent, kept, end := team.NewSum(), team.NewSum(), in.from+in.events
	for i := range in.kept {
		for _, raw := range rawsOf(&in.kept[i]) {
			sent.Add(raw)
		}
	}
	n, longer := int64(0), false
	logs := s.Store.History(at.Tenant, []string{at.Workspace})
	_, err := logs.Window(ctx, source(in.origin.Header), session.Checkpoint{}, in.from, end, session.Every(), func(raw session.Raw) error {
		if raw.Event.Seq >= end {
			longer = true
			return nil
		}
		kept.Add(raw)
		n++
		return nil
	})
	if code, _ := fault.Of(err); code == fault.Persistence {
		return false, nil // the session is not there
	}
	return n == in.events && bytes.Equal(sent.Sum(), kept.Sum()) && !(in.anew && longer), err
}

// rawsOf are the events that a piece stands for, each with its bytes.
func rawsOf(p *archive.Piece) []session.Raw {
	first := p.Event
	n := first.Len()
	if len(p.Times) > 0 {
		first.Time = p.Times[0]
	}
	all := []session.Raw{{Event: first, Native: p.Native[0]}}
	for m := int64(1); m < n; m++ {
		member := session.Event{
			Seq: first.Seq + m, Type: first.Type, Time: p.Times[m], Ignorable: first.Ignorable, Reconstructed: first.Reconstructed,
		}
		all = append(all, session.Raw{Event: member, Native: p.Native[m]})
	}
	return all
}

// mine fails with errOthers if somebody else has sent a session. It is asked under
// the workspace's lock: of two people who send one id at a time, one has sent it.
func mine(ctx context.Context, k Keeper, person string, key session.Key) error {
	owner, err := k.Person(ctx, key)
	if err == nil && owner != "" && owner != person {
		err = errOthers
	}
	return err
}

// sumOf is the sum of the events before next, as the sender can make it too.
func (s *Server) sumOf(ctx context.Context, at Place, source string, next int64) (string, error) {
	const step = 1000 // events at a time: a window may be held as a whole
	sum, logs := team.NewSum(), s.Store.History(at.Tenant, []string{at.Workspace})
	for from := int64(0); from < next; from += step {
		_, err := logs.Window(ctx, source, session.Checkpoint{}, from, min(from+step, next)-1, session.Every(), func(raw session.Raw) error {
			sum.Add(raw)
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum()), nil
}

// withdraw removes a session that the token's person has sent.
func (s *Server) withdraw(w http.ResponseWriter, r *http.Request, p Principal) {
	var asked team.Withdrawal
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxQuestion)).Decode(&asked); err != nil || asked.ID == "" {
		refuse(w, http.StatusBadRequest, fault.InvalidArgs, `want {"workspace":"…","agent":"…","id":"…"}`)
		return
	}
	if !slices.Contains(p.Workspaces, asked.Workspace) {
		refuse(w, http.StatusUnprocessableEntity, "", "the token does not hold the session's workspace")
		return
	}
	detail, _ := json.Marshal(asked)
	if err := s.record(r.Context(), p, "withdraw", detail); err != nil {
		s.down(w, r, err)
		return
	}
	at, h := Place{p.Tenant, asked.Workspace, p.Person}, session.Header{Agent: asked.Agent, ID: asked.ID, Cwd: asked.Workspace}
	removed := false
	_, _, err := s.Store.Apply(r.Context(), at, "withdraw "+rand.Text(), func(k Keeper) (err error) {
		if err := mine(r.Context(), k, at.Person, h.Key()); err != nil {
			return err
		}
		removed, err = ingest.Remove(r.Context(), k, source(h))
		return err
	})
	switch {
	case errors.Is(err, errOthers):
		refuse(w, http.StatusUnprocessableEntity, "", errOthers.Error())
	case errors.Is(err, ingest.ErrBusy):
		busy(w)
	case err != nil:
		s.down(w, r, err)
	default:
		answer(w, http.StatusOK, map[string]bool{"removed": removed})
	}
}
