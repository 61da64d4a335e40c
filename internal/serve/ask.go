package serve

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/toolset"
)

// mcp speaks the protocol with whoever the token stands for.
func (s *Server) mcp(w http.ResponseWriter, r *http.Request, p Principal) {
	t, err := s.seatOf(p)
	if err != nil {
		s.down(w, r, err)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxQuestion)
	t.mcp.ServeHTTP(w, r)
}

// maxQuestion is how long a question can be, in bytes.
const maxQuestion = 1 << 20

// tool answers one call of a tool as text:
//
//	POST /v1/tools/session_search {"arguments":{…},"bytes":N,"prefix":"team:"} → {"text":"…","empty":bool}
//
// prefix is set before the id of every session in the answer, for a client that
// shows it beside what it knows itself.
func (s *Server) tool(w http.ResponseWriter, r *http.Request, p Principal) {
	var asked struct {
		Arguments json.RawMessage `json:"arguments"`
		Bytes     int             `json:"bytes"`
		Prefix    string          `json:"prefix"`
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxQuestion))
	if err := d.Decode(&asked); err != nil || asked.Bytes < 0 || !plainPrefix(asked.Prefix) {
		refuse(w, http.StatusBadRequest, fault.InvalidArgs, `want {"arguments":{…},"bytes":N,"prefix":"…"}`)
		return
	}
	t, err := s.seatOf(p)
	if err != nil {
		s.down(w, r, err)
		return
	}
	out := t.Call(r.Context(), toolset.Call{Tool: r.PathValue("tool"), Args: asked.Arguments, InlineBytes: asked.Bytes})
	var failed *toolset.Failure
	if errors.As(out.Err, &failed) {
		refuse(w, statusOf(failed.Code), failed.Code, failed.Message)
		return
	}
	text, empty := out.Text, false
	if found, ok := out.Value.(*toolset.SessionsResult); ok {
		empty = len(found.Hits) == 0
	}
	if asked.Prefix != "" {
		budget := searchBytes
		if asked.Bytes > 0 {
			budget = min(budget, asked.Bytes)
		}
		text = textOf(prefixed(asked.Prefix).value(out.Value), budget, text)
	}
	answer(w, http.StatusOK, map[string]any{"text": text, "empty": empty})
}

// searchBytes is the length of a search's text, as toolset has it.
const searchBytes = 3900

func plainPrefix(prefix string) bool {
	return len(prefix) <= 32 && strings.IndexFunc(prefix, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// textOf prints a tool's value again.
func textOf(value any, budget int, otherwise string) string {
	switch v := value.(type) {
	case *toolset.SessionsResult:
		return render.SessionsText(*v, budget)
	case *toolset.EventsResult:
		return render.EventsText(*v, budget)
	case authz.Lineage:
		return render.LineageText(v)
	case query.Relations:
		return render.RelationsText(v)
	case query.Window:
		return render.WindowText(v)
	}
	return otherwise
}

// prefixed sets a text before the ids of sessions in an answer.
type prefixed string

func (p prefixed) id(id session.ID) session.ID {
	if id == "" {
		return ""
	}
	return session.ID(string(p) + string(id))
}

func (p prefixed) info(i query.Info) query.Info {
	i.Header.ID, i.Header.ParentSession = p.id(i.Header.ID), p.id(i.Header.ParentSession)
	return i
}

func (p prefixed) key(k session.Key) session.Key { k.ID = p.id(k.ID); return k }

func (p prefixed) hit(h authz.SessionHit) authz.SessionHit {
	h.Info, h.Parent.Key = p.info(h.Info), p.key(h.Parent.Key)
	h.Forks = slices.Clone(h.Forks)
	for i := range h.Forks {
		h.Forks[i] = p.key(h.Forks[i])
	}
	return h
}

func (p prefixed) lineage(l authz.Lineage) authz.Lineage {
	l.Target, l.Ancestors, l.Descendants = p.info(l.Target), slices.Clone(l.Ancestors), slices.Clone(l.Descendants)
	for i := range l.Ancestors {
		l.Ancestors[i] = p.info(l.Ancestors[i])
	}
	for i := range l.Descendants {
		l.Descendants[i].Info = p.info(l.Descendants[i].Info)
	}
	return l
}

// value is a tool's value with the ids changed; what it is given stays.
func (p prefixed) value(value any) any {
	switch v := value.(type) {
	case *toolset.SessionsResult:
		out := *v
		out.Hits = slices.Clone(out.Hits)
		for i := range out.Hits {
			out.Hits[i] = p.hit(out.Hits[i])
		}
		return &out
	case *toolset.EventsResult:
		out := *v
		out.Info = p.info(out.Info)
		return &out
	case authz.Lineage:
		return p.lineage(v)
	case query.Relations:
		v.Info = p.info(v.Info)
		return v
	case query.Window:
		v.Info = p.info(v.Info)
		return v
	}
	return value
}

// statusOf is the status of HTTP that goes with a failure.
func statusOf(code fault.Code) int {
	switch code {
	case fault.Unauthorized, fault.SessionNotFound, fault.EventNotFound:
		return http.StatusNotFound
	case fault.Timeout, fault.Aborted, fault.AbortedBefore, fault.EngineAborted:
		return http.StatusGatewayTimeout
	case fault.IndexFailed:
		return http.StatusServiceUnavailable
	case fault.ToolFailed, fault.Persistence, fault.CorruptSession:
		return http.StatusInternalServerError
	case fault.StaleCursor:
		return http.StatusConflict
	}
	return http.StatusBadRequest
}
