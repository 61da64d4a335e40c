// Package forget owns the list of sessions that their owner wants forgotten. It
// is kept with the configuration and not with the index, because an index may be
// made anew at any time and must not bring back what was forgotten.
//
// The list holds no session text and no id: a session is a salted hash of its
// agent and id, so that who reads the list learns how many sessions were
// forgotten and when, and can test an id that is known already.
//
// The package knows neither logs nor index; who reads them asks Set.Has. Start
// at List, then file.go for what is on disk.
package forget

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/yorehq/yore/session"
)

// List is the list in a file, which any number of processes may read and add to
// at a time. A nil List is empty. It is safe for concurrent use.
type List struct {
	path string

	mu    sync.Mutex
	stamp stamp
	set   *Set
}

// New returns the list in a file, which need not be there: then it is empty. path
// is absolute.
func New(path string) *List { return &List{path: path, set: &Set{}} }

// Path returns where the list is; "" for a nil List.
func (l *List) Path() string {
	if l == nil {
		return ""
	}
	return l.path
}

// Set is the list as of one moment. It does not change.
type Set struct {
	salt  string
	since map[mark]string // day, as YYYY-MM-DD
	sum   uint64

	mu    sync.Mutex
	known map[session.Key]bool // what was asked before: a look asks of every session
}

// mark stands for a session.
type mark [sha256.Size]byte

func markOf(salt string, key session.Key) mark {
	return sha256.Sum256([]byte(salt + "\x00" + string(key.Agent) + "\x00" + string(key.ID)))
}

func (m mark) String() string { return hex.EncodeToString(m[:]) }

// Len returns how many sessions are forgotten.
func (s *Set) Len() int { return len(s.since) }

// Sum tells one state of the list from another; 0 is a list that forgets nothing.
func (s *Set) Sum() uint64 { return s.sum }

// mostKnown bounds what is remembered of questions.
const mostKnown = 1 << 16

// Has reports whether a session is forgotten.
func (s *Set) Has(key session.Key) bool {
	if len(s.since) == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	has, ok := s.known[key]
	if !ok {
		_, has = s.since[markOf(s.salt, key)]
		if s.known == nil || len(s.known) >= mostKnown {
			s.known = map[session.Key]bool{}
		}
		s.known[key] = has
	}
	return has
}

// Covers reports whether a session is forgotten, or is a subagent of one that is.
// Who knows more ancestors asks about them too.
func (s *Set) Covers(h session.Header) bool {
	return s.Has(h.Key()) || h.Origin == session.OriginSubagent && s.Has(session.Key{Agent: h.Agent, ID: h.ParentSession})
}

// Since returns the day on which a session was forgotten, as YYYY-MM-DD; "" if
// it is not.
func (s *Set) Since(key session.Key) string { return s.since[markOf(s.salt, key)] }

// Now returns the list as it is now: one stat where it has not changed. A list
// that is there and cannot be read or understood is an error, never an empty one:
// what was forgotten would come back. The error is fault.InvalidConfig.
func (l *List) Now() (*Set, error) {
	if l == nil {
		return &Set{}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now, err := stampOf(l.path)
	if err != nil {
		return nil, unusable(l.path, err)
	}
	if now != l.stamp || !now.settled() {
		set, err := read(l.path)
		if err != nil {
			return nil, unusable(l.path, err)
		}
		if set.sum != l.set.sum || set.salt != l.set.salt {
			l.set = set
		}
		l.stamp = now
	}
	return l.set, nil
}

// Add puts sessions on the list, durably. Those that are there stay as they are.
func (l *List) Add(keys []session.Key, now time.Time) error {
	return l.change(keys, func(s *Set, key session.Key) string {
		if s.Has(key) {
			return ""
		}
		return "+ " + markOf(s.salt, key).String() + " " + now.UTC().Format(time.DateOnly)
	})
}

// Remove takes sessions off the list. Those that are not on it are passed over.
func (l *List) Remove(keys []session.Key) error {
	return l.change(keys, func(s *Set, key session.Key) string {
		if !s.Has(key) {
			return ""
		}
		return "- " + markOf(s.salt, key).String()
	})
}
