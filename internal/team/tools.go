package team

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/toolset"
)

// Local runs calls over the history of this machine; *toolset.Set does.
type Local interface {
	Call(ctx context.Context, call toolset.Call) toolset.Outcome
}

// Tools are the five tools over the history of this machine and the team's: a
// search over sessions is answered by both, everything that names one session by
// whoever has it. The team's part of an answer is headed as such, and its ids
// carry Prefix. A server that does not answer in time takes its own part out of
// an answer and nothing else, and the answer says so.
type Tools struct {
	Local  Local
	Server *Server

	// Name is what a workspace of this machine is called on the server.
	Name func(workspace string) string
}

// search is the one tool that looks at more than one session.
const search = "session_search"

// Call implements mcpserver.Tools.
func (t *Tools) Call(ctx context.Context, call toolset.Call) toolset.Outcome {
	if call.Caller.Workspace == "" {
		return t.Local.Call(ctx, call) // a caller without a workspace sees its own session alone
	}
	here, there, ask := divide(call.Tool, call.Args)
	switch {
	case !ask.there:
		return t.Local.Call(ctx, call)
	case !ask.here:
		return t.remote(ctx, call, there)
	}
	type part struct {
		answer Answer
		err    error
	}
	inline := call.InlineBytes / 2 // each has its half; 0 stays no limit
	if call.InlineBytes > 0 {
		call.InlineBytes = max(inline, 1)
	}
	began := time.Now()
	asked, cancel := context.WithTimeout(ctx, t.Server.timeout)
	defer cancel()
	parts := make(chan part, 1)
	go func() {
		a, err := t.Server.Ask(asked, t.question(call, there, inline))
		parts <- part{a, err}
	}()
	call.Args = here
	out := t.Local.Call(ctx, call)
	if out.Err != nil {
		return out // what is wrong with the question is wrong with both
	}
	p := <-parts
	out.Text = strings.TrimRight(out.Text, "\n") + "\n\n" + t.Part(p.answer, p.err, time.Since(began))
	return out
}

// Part is the team's part of an answer, headed.
func (t *Tools) Part(a Answer, err error, waited time.Duration) string {
	switch {
	case err != nil:
		return fmt.Sprintf("[team history: missing. %s; what stands above is of this machine alone]", t.Server.Excuse(err, waited))
	case a.Empty:
		return "[team history: nothing found]"
	}
	return "[team history, from " + t.Server.Host() + "; ids of its sessions begin with " + Prefix + "]\n" + strings.TrimRight(a.Text, "\n")
}

// Excuse says in one clause why the server did not answer.
func (s *Server) Excuse(err error, waited time.Duration) string {
	var status *StatusError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		return "this machine does not trust the certificate of the team's server"
	case errors.As(err, &status) && (status.Status == 401 || status.Status == 403):
		return "the team's server refuses the token"
	case errors.As(err, &status) && status.Status == 429:
		return "the team's server is busy"
	case errors.As(err, &status):
		return fmt.Sprintf("the team's server answered %d", status.Status)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("the team's server did not answer within %s", s.timeout)
	}
	return "the team's server cannot be reached"
}

// remote is a call that the team's server alone can answer.
func (t *Tools) remote(ctx context.Context, call toolset.Call, args json.RawMessage) toolset.Outcome {
	began := time.Now()
	a, err := t.Server.Ask(ctx, t.question(call, args, call.InlineBytes))
	if err == nil {
		return toolset.Outcome{Text: a.Text}
	}
	var status *StatusError
	if errors.As(err, &status) && status.Code != "" {
		return toolset.Outcome{Err: &toolset.Failure{Code: status.Code, Message: status.Text}}
	}
	if ctx.Err() != nil {
		return toolset.Outcome{Err: &toolset.Failure{Code: fault.Aborted, Message: fault.Sentence(fault.Aborted)}}
	}
	return toolset.Outcome{Err: &toolset.Failure{Code: fault.Timeout, Message: t.Server.Excuse(err, time.Since(began)) + ". Sessions of this machine can still be searched and read."}}
}

func (t *Tools) question(call toolset.Call, args json.RawMessage, inline int) Question {
	return Question{Tool: call.Tool, Args: args, Workspace: t.Name(call.Caller.Workspace), Bytes: inline}
}

// asked says who is asked.
type asked struct{ here, there bool }

// divide says who a call is for and with which arguments. Arguments that are no
// object go to this machine, whose tools say what is wrong with them.
func divide(tool string, args json.RawMessage) (here, there json.RawMessage, ask asked) {
	var fields map[string]json.RawMessage
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if json.Unmarshal(args, &fields) != nil || fields == nil {
		return args, nil, asked{here: true}
	}
	if tool != search {
		var id string
		if json.Unmarshal(fields["session_id"], &id) != nil {
			return args, nil, asked{here: true}
		}
		rest, ours := Split(id)
		if !ours {
			return args, nil, asked{here: true}
		}
		return nil, with(fields, "session_id", rest), asked{there: true}
	}
	ask = asked{here: true, there: true}
	here, there = args, args
	for _, name := range []string{"session_ids", "parent_session_ids"} {
		var ids []string
		if fields[name] == nil || json.Unmarshal(fields[name], &ids) != nil || len(ids) == 0 {
			continue
		}
		own, theirs := []string{}, []string{}
		for _, id := range ids {
			if rest, ours := Split(id); ours {
				theirs = append(theirs, rest)
			} else {
				own = append(own, id)
			}
		}
		ask.here, ask.there = ask.here && len(own) > 0, ask.there && len(theirs) > 0
		here, there = with(fieldsOf(here), name, own), with(fieldsOf(there), name, theirs)
	}
	if !ask.here && !ask.there {
		ask.here = true
		here = args
	}
	return here, there, ask
}

func fieldsOf(args json.RawMessage) (fields map[string]json.RawMessage) {
	_ = json.Unmarshal(args, &fields) // it was read before
	return fields
}

// with replaces one field.
func with(fields map[string]json.RawMessage, name string, value any) json.RawMessage {
	text, _ := json.Marshal(value) // strings
	changed := map[string]json.RawMessage{}
	for n, v := range fields {
		changed[n] = v
	}
	changed[name] = text
	out, _ := json.Marshal(changed)
	return out
}
