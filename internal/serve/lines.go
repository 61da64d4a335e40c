package serve

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/toolset"
)

// What can be asked with GET, as the command line's --json answers it: one object
// a line, the coverage last where there is one. Parameters are the arguments of
// the tool, by their names (docs/tools.md); a list repeats its parameter.
//
//	GET /v1/search?query=…           as yore search
//	GET /v1/list                     as yore list; of filters it knows created_at_from and created_at_to
//	GET /v1/show?session_id=…        as yore show, in pieces: event_seq_from=… or passage_from=… goes on, points=… cuts texts
//	GET /v1/events?session_id=…      as yore events; with query=… a search
//	GET /v1/trace?session_id=…       as yore trace
//	GET /v1/event-trace?session_id=…&seq=…
//	GET /v1/read?session_id=…&seq=…&before=…&after=…
//	GET /v1/record?session_id=…&seq=…        an event with its exact bytes
//	GET /v1/replacements?session_id=…        who took which events out of the context
//
// limit=N bounds hits and entries (20); prefix=… is set before every session's id.
var toolOf = map[string]string{
	"search": "session_search", "events": "session_event_search", "trace": "session_trace",
	"event-trace": "session_event_trace", "read": "session_event_read",
}

func (s *Server) lines(w http.ResponseWriter, r *http.Request, p Principal) {
	what, q := r.PathValue("what"), r.URL.Query()
	tool, known := toolOf[what]
	if !known && !slices.Contains([]string{"list", "show", "record", "replacements"}, what) {
		http.NotFound(w, r)
		return
	}
	prefix := prefixed(q.Get("prefix"))
	limit, err := strconv.Atoi(q.Get("limit"))
	if q.Get("limit") == "" {
		limit, err = 20, nil
	}
	if err != nil || limit < 1 || limit > query.MaxLimit || !plainPrefix(string(prefix)) {
		refuse(w, http.StatusBadRequest, fault.InvalidArgs, "limit is a number from 1 on, prefix a short text without spaces")
		return
	}
	q.Del("prefix")
	q.Del("limit")
	t, err := s.seatOf(p)
	if err != nil {
		s.down(w, r, err)
		return
	}
	var out [][]byte
	if told := t.told(what, q); told != nil {
		asked, _ := json.Marshal(q) // strings
		if err := s.record(r.Context(), p, what, asked); err != nil {
			s.down(w, r, err)
			return
		}
		out, err = told(r.Context(), q, limit, prefix)
	} else {
		var args json.RawMessage
		if args, err = arguments(q); err == nil {
			done := t.Call(r.Context(), toolset.Call{Tool: tool, Args: args})
			out, err = linesOf(prefix.value(done.Value), limit), done.Err
		}
	}
	if err != nil {
		failed := failureOf(err)
		refuse(w, statusOf(failed.Code), failed.Code, failed.Message)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	for _, line := range out {
		_, _ = w.Write(append(line, '\n')) // whoever asked may be gone
	}
}

// failureOf is what may be told of a failure.
func failureOf(err error) *toolset.Failure {
	var failed *toolset.Failure
	if errors.As(err, &failed) {
		return failed
	}
	code, ok := fault.Of(err)
	switch {
	case fault.IsContext(err):
		code = fault.Timeout
	case !ok:
		code = fault.ToolFailed
	}
	if statusOf(code) == http.StatusBadRequest {
		return &toolset.Failure{Code: code, Message: fault.SafeText(err)}
	}
	return &toolset.Failure{Code: code, Message: fault.Sentence(code)}
}

// arguments makes a tool's arguments of the parameters of a URL.
func arguments(q url.Values) (json.RawMessage, error) {
	args := map[string]any{}
	for name, values := range q {
		last := values[len(values)-1]
		switch {
		case strings.HasSuffix(name, "_ids"), strings.HasSuffix(name, "_types"), strings.HasSuffix(name, "surfaces"), name == "availability":
			args[name] = values
		case name == "seq", name == "before", name == "after", strings.HasSuffix(name, "seq_from"), strings.HasSuffix(name, "seq_to"):
			n, err := strconv.ParseInt(last, 10, 64)
			if err != nil {
				return nil, fault.New(fault.InvalidArgs, "%q is no whole number", name)
			}
			args[name] = n
		case name == "include_root_sessions":
			args[name] = last == "true"
		default:
			args[name] = last
		}
	}
	return json.Marshal(args)
}

// linesOf prints a tool's value as the command line does.
func linesOf(value any, limit int) (lines [][]byte) {
	switch v := value.(type) {
	case *toolset.SessionsResult:
		hits := v.Hits[:min(len(v.Hits), limit)]
		for _, h := range hits {
			lines = append(lines, render.SessionHitJSON(h, ""))
		}
		return append(lines, render.CoverageJSON(v.Coverage, v.Capped || len(hits) < len(v.Hits), render.MaskedSessions(hits)))
	case *toolset.EventsResult:
		hits := v.Hits[:min(len(v.Hits), limit)]
		for _, h := range hits {
			lines = append(lines, render.EventHitJSON(v.Info.Header.Key(), h))
		}
		return append(lines, render.CoverageJSON(v.Coverage, v.Capped || len(hits) < len(v.Hits), render.MaskedEvents(v.Info, hits)))
	case authz.Lineage:
		return [][]byte{render.LineageJSON(v)}
	case query.Relations:
		return [][]byte{render.RelationsJSON(v)}
	case query.Window:
		return [][]byte{render.WindowJSON(v)}
	}
	return nil
}
