package team

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/yorehq/yore/session"
)

// Stretch is a stretch of one session's events as it is sent.
type Stretch struct {
	From int64  // seq of the first event
	Anew bool   // what the server has of the session goes first; From is 0
	Body []byte // in the archive's format (archive.Decode)
}

// Taken is the server's answer to a stretch: what it has of the session now, or,
// if the stretch does not continue that, what it had before and has still.
type Taken struct {
	Next int64  `json:"next"`          // the seq that would continue it
	Sum  string `json:"sum,omitempty"` // of the events before that, hexadecimal; only where the stretch does not fit
	Gen  uint64 `json:"generation,omitempty"`
}

// Push sends a stretch. One that does not continue what the server has is a
// *StatusError of status 409, beside what it has.
func (s *Server) Push(ctx context.Context, st Stretch) (Taken, error) {
	query := url.Values{"from": {strconv.FormatInt(st.From, 10)}}
	if st.Anew {
		query.Set("anew", "true")
	}
	var t Taken
	text, err := s.Do(ctx, http.MethodPost, "/v1/push", query, st.Body, http.Header{"Content-Type": {"application/zstd"}})
	var failed *StatusError
	switch {
	case errors.As(err, &failed) && failed.Status == http.StatusConflict:
		if json.Unmarshal(failed.Body, &t) != nil {
			return t, fmt.Errorf("the team's server did not answer as one")
		}
		return t, err
	case err != nil:
		return t, err
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return t, fmt.Errorf("the team's server did not answer as one: %w", err)
	}
	return t, nil
}

// Withdrawal names a session that is to be removed from the server.
type Withdrawal struct {
	Workspace string        `json:"workspace"` // as the server calls it
	Agent     session.Agent `json:"agent"`
	ID        session.ID    `json:"id"`
}

// Withdraw removes a session that the token's person has sent. One that is not
// there is no failure.
func (s *Server) Withdraw(ctx context.Context, w Withdrawal) error {
	body, err := json.Marshal(w)
	if err == nil {
		_, err = s.Do(ctx, http.MethodPost, "/v1/withdraw", nil, body, http.Header{"Content-Type": {"application/json"}})
	}
	return err
}

// Sum is over events and their bytes, as both ends have them, in sequence. It
// tells whether one continues the other.
type Sum struct{ h hash.Hash }

// NewSum returns the sum of no events.
func NewSum() *Sum { return &Sum{sha256.New()} }

// Add adds the next event.
func (s *Sum) Add(raw session.Raw) {
	native := sha256.Sum256(raw.Native)
	var fixed [24]byte
	binary.LittleEndian.PutUint64(fixed[:], uint64(raw.Event.Seq))
	binary.LittleEndian.PutUint64(fixed[8:], uint64(raw.Event.Time))
	binary.LittleEndian.PutUint64(fixed[16:], uint64(len(raw.Event.Type)))
	s.h.Write(fixed[:])
	_, _ = io.WriteString(s.h, raw.Event.Type) // a hash never fails
	s.h.Write(native[:])
}

// Sum returns the sum so far.
func (s *Sum) Sum() []byte { return s.h.Sum(nil) }
