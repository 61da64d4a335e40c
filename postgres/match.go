package postgres

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
)

// maxPhrase is how many tokens one phrase may have.
const maxPhrase = 64

// held is a document that holds a phrase, and what ranking and filters need of it.
type held struct {
	num, seq, at, own        int64
	n, points, tokens, spans int32
	kind                     uint32 // in the snapshot's kinds
	role, flags              int16
}

// document gives it its public form, but for its type and tool.
func (h *held) document(id query.DocID) query.Document {
	d := query.Document{
		Doc: id, Seq: h.seq, Time: h.at, Points: h.points, Tokens: h.tokens, Role: query.Role(h.role),
		Surface: h.flags&flagSurface != 0, Provisional: h.flags&flagProvisional != 0, Clipped: h.flags&flagClipped != 0,
	}
	if h.flags&flagNative != 0 {
		d.Native = uint64(h.own)
	}
	return d
}

// matcher is what a snapshot knows of phrases that were asked about.
type matcher struct {
	phrases map[string]*matches // by column form
	kept    int                 // documents in phrases
	kinds   []string
	kindOf  map[string]uint32
	since   int64 // where the newest window that was counted begins; see budget.go
}

// matches are the documents that hold a phrase, by session and number: all there
// are, or those in the newest window.
type matches struct {
	all      []held
	windowed bool
	size     int64 // documents in the window
}

// mostMatches bounds how many documents are remembered between two questions of
// one snapshot: the engine asks how many hold a token, and then which.
const mostMatches = 400_000

// Match finds a phrase. One that was asked about is remembered; within few
// documents these are looked at by their keys; within sessions the index is asked
// about these alone; else the budget applies.
func (s *snapshot) Match(ctx context.Context, phrase []string, within []query.Span, least *query.Least, found func(*query.Run) error) error {
	if len(phrase) > maxPhrase {
		return fault.New(fault.InvalidQuery, "The query has more than %d words.", maxPhrase)
	}
	what, ok := seek(phrase)
	if !ok {
		return ctx.Err()
	}
	if within == nil {
		m, err := s.whole(ctx, what)
		if err != nil {
			return err
		}
		return s.give(m.all, nil, least, found)
	}
	within = merged(within)
	if len(within) == 0 {
		return ctx.Err()
	}
	if m := s.phrases[what.norm]; m != nil && !m.windowed {
		return s.give(m.all, within, least, found)
	}
	few, sessions := divide(within)
	all, err := s.among(ctx, what, few, sessions)
	if err != nil {
		return err
	}
	return s.give(all, within, least, found)
}

// A span of at most this many documents is looked at by their keys, and of all
// spans together at most so many.
const (
	shortSpan = 16
	mostShort = 8192
)

// divide parts spans into single documents and sessions. Where there are too many
// of the former, their sessions are asked about.
func divide(within []query.Span) (few []query.DocID, sessions []int64) {
	for _, s := range within {
		if s.To-s.From < shortSpan && len(few) < mostShort {
			for id := s.From; id <= s.To; id++ {
				few = append(few, id)
			}
			continue
		}
		for num := s.From.Session(); num <= s.To.Session(); num++ {
			if n := len(sessions); n == 0 || sessions[n-1] != num {
				sessions = append(sessions, num)
			}
			if len(sessions) > mostShort {
				return nil, nil // everywhere, then
			}
		}
	}
	return few, sessions
}

// among finds a phrase in some documents and some sessions, or everywhere if
// neither is given.
func (s *snapshot) among(ctx context.Context, what sought, few []query.DocID, sessions []int64) (all []held, err error) {
	err = s.read(ctx, func(tx pgx.Tx) error {
		if len(few) > 0 {
			nums, ns := keysOf(few)
			if _, err := s.collect(ctx, tx, what, &all, byKeys, s.key, what.norm, nums, ns, what.bordered); err != nil {
				return err
			}
		}
		if len(sessions) > 0 || len(few) == 0 {
			_, err := s.collect(ctx, tx, what, &all, byIndex, s.key, what.norm, what.words, sessions, nil, what.bordered)
			return err
		}
		return nil
	})
	return ordered(all), err
}

// ordered sorts documents by session and number, each once.
func ordered(all []held) []held {
	slices.SortFunc(all, func(a, b held) int { return cmp.Or(cmp.Compare(a.num, b.num), cmp.Compare(a.n, b.n)) })
	return slices.CompactFunc(all, func(a, b held) bool { return a.num == b.num && a.n == b.n })
}

const byIndex = `SELECT ` + heldColumns + `, spans, raw FROM yore.holding($1, $2, $3, $4, $5, $6)`

// byKeys finds a phrase in documents whose keys are known.
const byKeys = `SELECT d.num, d.n, d.seq, d.at, d.own, d.points, d.tokens, d.role, d.flags, d.kind,
		CASE WHEN $5 THEN 0 ELSE (octet_length(d.norm) - octet_length(replace(d.norm, $2, ''))) / octet_length($2) END, CASE WHEN $5 THEN d.norm END
	FROM unnest($3::bigint[], $4::int[]) AS k (num, n) JOIN yore.document d ON d.ws_key = $1 AND d.num = k.num AND d.n = k.n
	WHERE strpos(d.norm, $2) > 0`

// collect adds what a statement returns and holds the phrase, and says how many
// rows there were.
func (s *snapshot) collect(ctx context.Context, tx pgx.Tx, what sought, all *[]held, sql string, args ...any) (candidates int, err error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		candidates++
		v := rows.RawValues()
		h, err := s.decode(v)
		if err != nil {
			return candidates, err
		}
		if what.bordered {
			h.spans = spans(string(v[11]), what.norm)
		}
		if h.spans > 0 {
			*all = append(*all, h)
		}
	}
	return candidates, rows.Err()
}

// decode reads a row in PostgreSQL's binary form, which takes a tenth of the time
// that scanning does.
func (s *snapshot) decode(v [][]byte) (h held, err error) {
	if len(v) != 12 {
		return h, fmt.Errorf("%w: a match has %d columns", fault.IndexFailed, len(v))
	}
	for i, size := range [...]int{8, 4, 8, 8, 8, 4, 4, 2, 2} {
		if len(v[i]) != size {
			return h, fmt.Errorf("%w: column %d of a match has %d bytes", fault.IndexFailed, i, len(v[i]))
		}
	}
	long := func(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }
	word := func(b []byte) int32 { return int32(binary.BigEndian.Uint32(b)) }
	short := func(b []byte) int16 { return int16(binary.BigEndian.Uint16(b)) }
	h = held{
		num: long(v[0]), n: word(v[1]), seq: long(v[2]), at: long(v[3]), own: long(v[4]), points: word(v[5]), tokens: word(v[6]),
		role: short(v[7]), flags: short(v[8]),
	}
	if len(v[10]) == 4 {
		h.spans = word(v[10])
	}
	kind, ok := s.kindOf[string(v[9])]
	if !ok {
		if s.kindOf == nil {
			s.kindOf = map[string]uint32{}
		}
		kind = uint32(len(s.kinds))
		s.kinds = append(s.kinds, string(v[9]))
		s.kindOf[string(v[9])] = kind
	}
	h.kind = kind
	return h, nil
}

// runDocs is how many documents are handed on at once: who gets them may say
// after each run how many spans are of interest from then on.
const runDocs = 1024

// give hands documents on, session by session, those inside of the spans (nil: all).
func (s *snapshot) give(all []held, within []query.Span, least *query.Least, found func(*query.Run) error) error {
	var r query.Run
	r.Type = func(place uint32) (string, error) { return s.kinds[all[place].kind], nil }
	r.Points = func(place uint32) (int32, error) { return all[place].points, nil }
	r.Look = func(place uint32, id query.DocID) (query.Document, error) {
		d := all[place].document(id)
		d.Type = s.kinds[all[place].kind]
		return d, nil
	}
	hand := func() error {
		if len(r.Docs) == 0 {
			return nil
		}
		err := found(&r)
		r.Docs, r.Counts, r.Tokens, r.Roles, r.Places = r.Docs[:0], r.Counts[:0], r.Tokens[:0], r.Roles[:0], r.Places[:0]
		return err
	}
	for i := range all {
		h := &all[i]
		if h.num != r.Session || len(r.Docs) >= runDocs {
			if err := hand(); err != nil {
				return err
			}
			r.Session = h.num
		}
		if within != nil {
			id := query.NewDocID(h.num, int64(h.n))
			for len(within) > 0 && within[0].To < id {
				within = within[1:]
			}
			if len(within) == 0 {
				break
			}
			if id < within[0].From {
				continue
			}
		}
		role := query.Role(h.role)
		if least != nil && uint32(h.spans) < least.Of(role) {
			continue
		}
		r.Docs, r.Counts, r.Tokens = append(r.Docs, uint32(h.n)), append(r.Counts, uint32(h.spans)), append(r.Tokens, h.tokens)
		r.Roles, r.Places = append(r.Roles, role), append(r.Places, uint32(i))
	}
	return hand()
}
