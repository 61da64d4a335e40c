package web

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// How pages are named:
//
//	/s/<agent>/<id>          a session        …/rows …/map …/find  its timeline, piece by piece
//	/s/<agent>/<id>/<seq>    an event         …/raw …/text         its bytes, its text
//	/s/<agent>/<id>/lineage  where it came from and what came from it
//
// An agent and an id are what a log says: any bytes. One that is made of harmless
// characters stands as it is, any other as "~" and its base64. Where several
// workspaces have a session of one key, ?in= names the workspace by the
// beginning of a hash; without it the page asks which one is meant. Ids of the
// team's sessions begin with "team:"; ?in= has their workspace itself, since only
// the server knows which there are.

// encode makes one segment of a path from any text.
func encode(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:@", r)
	}
	if text != "" && text[0] != '.' && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "~" + base64.RawURLEncoding.EncodeToString([]byte(text))
}

// decode is the inverse of encode; there is one segment for each text.
func decode(segment string) (string, bool) {
	coded, ok := strings.CutPrefix(segment, "~")
	if !ok {
		return segment, encode(segment) == segment
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(coded)
	return string(text), err == nil && encode(string(text)) == segment
}

// sessionPath names a session's page.
func sessionPath(k session.Key) string {
	return "/s/" + encode(string(k.Agent)) + "/" + encode(string(k.ID))
}

// within names a workspace in a query.
func within(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return hex.EncodeToString(sum[:6])
}

// teamWithin is what ?in= begins with for a session of the team.
const teamWithin = "w-"

// inside names the workspace of a session in a query.
func inside(h session.Header) string {
	if team.Ours(h.Key()) {
		return teamWithin + base64.RawURLEncoding.EncodeToString([]byte(h.Cwd))
	}
	return within(h.Cwd)
}

// link names a page of a session, below its path ("" is the session itself).
func link(h session.Header, below string, values url.Values) string {
	if values == nil {
		values = url.Values{}
	}
	values.Set("in", inside(h))
	path := sessionPath(h.Key())
	if below != "" {
		path += "/" + below
	}
	return path + "?" + values.Encode()
}

// eventLink names the page of an event.
func eventLink(h session.Header, seq int64) string {
	return link(h, strconv.FormatInt(seq, 10), nil)
}

// sequence reads a sequence number of a path.
func sequence(text string) (int64, bool) {
	seq, err := strconv.ParseInt(text, 10, 64)
	return seq, err == nil && seq >= 0 && seq <= session.MaxSafe && strconv.FormatInt(seq, 10) == text
}

// choice is the failure of a path that names several sessions.
type choice struct{ headers []session.Header }

func (c *choice) Error() string {
	return fmt.Sprintf("%d workspaces have this session", len(c.headers))
}

// told is a session that pages show: an *authz.Grant, or a session of the team,
// which answers alike.
type told interface {
	Header() session.Header
	Replacements(ctx context.Context) (query.Info, []query.Shadow, error)
	Passages(ctx context.Context, from, n int64, points int) (query.PassageList, error)
	OrdinalOf(ctx context.Context, seq int64) (int64, error)
	SearchEvents(ctx context.Context, req query.EventSearch) (query.EventPage, error)
	Read(ctx context.Context, seq, before, after int64) (query.Window, error)
	TraceEvent(ctx context.Context, seq int64) (query.Relations, error)
	Trace(ctx context.Context) (authz.Lineage, error)
}

// target finds the one session that a path and ?in= name.
func (s *Server) target(ctx context.Context, v *authz.View, agent, id, in string) (told, error) {
	a, okAgent := decode(agent)
	i, okID := decode(id)
	if !okAgent || !okID || i == "" {
		return nil, fmt.Errorf("%w: no such address", fault.SessionNotFound)
	}
	key := session.Key{Agent: session.Agent(a), ID: session.ID(i)}
	if s.Team != nil && team.Ours(key) {
		coded, named := strings.CutPrefix(in, teamWithin)
		workspace, err := base64.RawURLEncoding.Strict().DecodeString(coded)
		if in != "" && !named || err != nil {
			return nil, fmt.Errorf("%w: no such address", fault.SessionNotFound)
		}
		return s.Team.Session(query.Target{Key: key, Workspace: string(workspace)})
	}
	grants, err := v.Targets(ctx, key)
	if err != nil {
		return nil, err
	}
	several := &choice{}
	for _, g := range grants {
		switch {
		case in != "" && within(g.Header().Cwd) == in, in == "" && len(grants) == 1:
			return g, nil
		case in == "":
			several.headers = append(several.headers, g.Header())
		}
	}
	if len(several.headers) > 0 {
		return nil, several
	}
	return nil, fmt.Errorf("%w: no session at this address", fault.SessionNotFound)
}

// searchLink names a search.
func searchLink(values url.Values) string {
	if len(values) == 0 {
		return "/search"
	}
	return "/search?" + values.Encode()
}

// titleOf is how a session is called.
func titleOf(i query.Info) string {
	if i.TitleFail != "" || strings.TrimSpace(i.Title) == "" {
		return query.Untitled
	}
	return i.Title
}
