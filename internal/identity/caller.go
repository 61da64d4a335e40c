package identity

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/yorehq/yore/session"
)

// The agents that tell something of their sessions over a wire.
const (
	claude  session.Agent = "claude-code"
	codex   session.Agent = "codex"
	copilot session.Agent = "copilot"
	qwen    session.Agent = "qwen-code"
)

// Clients that give their servers other names than their agents'. Qwen Code's
// ends in the server's name.
const (
	openCodeClient = "opencode" // the Kilo CLI, a fork, says so too

	geminiClient = "gemini-cli-mcp-client"
	qwenClient   = "qwen-cli-mcp-client"
)

// agent returns whose sessions may make this call: that of the client by the
// name it gives itself, "" (any) if it gives none. Of a client that keeps no
// logs that can be read, none of the known sessions is the caller.
func (c Call) agent() (agent session.Agent, readable bool) {
	switch c.Client {
	case "":
		return "", true
	case string(claude):
		return claude, true
	case "codex-mcp-client":
		return codex, true
	case DSHClient:
		return session.DSH, true
	case "pi":
		return session.Pi, true
	case "copilot-cli":
		return copilot, true
	case string(session.Kimi):
		return session.Kimi, true
	case openCodeClient:
		return session.OpenCode, true
	case "kilo":
		return session.Kilo, true
	case openClawClient:
		return session.OpenClaw, true
	case geminiClient:
		return session.Gemini, true
	}
	switch {
	case strings.HasPrefix(c.Client, qwenClient):
		return session.Qwen, true
	case c.fromCursor():
		return session.Cursor, true
	}
	return "", false
}

// fromCursor reports whether Cursor calls, whose editor and command line give
// different names.
func (c Call) fromCursor() bool { return strings.HasPrefix(strings.ToLower(c.Client), "cursor") }

// callID returns the id that Claude Code gives a call, "" if there is none.
func (c Call) callID() string {
	id, _ := c.Meta["claudecode/toolUseId"].(string)
	return id
}

// thread returns the session that Codex says a call is of, "" if it does not.
func (c Call) thread() session.ID {
	id, _ := c.Meta["threadId"].(string)
	return session.ID(id)
}

// byThread believes the thread that Codex sends with each call.
func (r *Resolver) byThread(ctx context.Context, workspace string, call Call) (*session.Key, error) {
	return r.known(ctx, workspace, session.Key{Agent: codex, ID: call.thread()})
}

// Claude Code, Copilot CLI and Kimi Code write a session and its calls down up to a
// second after a call of it reaches the server.
const (
	looks    = 6
	interval = 200 * time.Millisecond
)

// patient reports whether a call whose session is not there yet is worth a wait: it
// means its own session, and its client is one of those.
func (r *Resolver) patient(call Call) bool {
	agent, _ := call.agent()
	return (agent == claude || agent == copilot || agent == session.Kimi) && r.calls != nil && call.asksOwn()
}

// byCallID looks for the call that Claude Code names.
func (r *Resolver) byCallID(ctx context.Context, workspace string, call Call) (*session.Key, error) {
	id := call.callID()
	if id == "" {
		return nil, nil
	}
	return r.pending(ctx, workspace, PendingCall{Agent: claude, ID: id, Tool: call.Tool, Args: call.Args})
}

// asksOwn reports whether the call means the caller's own session: every tool
// but the search over sessions does when it names none.
func (c Call) asksOwn() bool {
	if c.Tool == "session_search" {
		return false
	}
	var args map[string]json.RawMessage
	if json.Unmarshal(c.Args, &args) != nil {
		return len(c.Args) == 0
	}
	_, named := args["session_id"]
	return !named
}

// byEnvironment believes the id that a client put into this process's
// environment, of its own sessions only: an environment is handed on, and an
// agent that was started by another one carries that one's variables.
func (r *Resolver) byEnvironment(ctx context.Context, workspace string, call Call) (*session.Key, error) {
	if call.Remote {
		return nil, nil
	}
	var key session.Key
	switch {
	case call.Client == string(claude):
		key = session.Key{Agent: claude, ID: session.ID(r.getenv("CLAUDE_CODE_SESSION_ID"))}
		return r.newest(ctx, workspace, key)
	case strings.HasPrefix(call.Client, qwenClient):
		// It names the first session of a process that may have begun others since.
		key = session.Key{Agent: qwen, ID: session.ID(r.getenv("QWEN_CODE_SESSION_ID"))}
		return r.newest(ctx, workspace, key)
	case strings.Contains(strings.ToLower(call.Client), string(copilot)):
		key = session.Key{Agent: copilot, ID: session.ID(r.getenv("COPILOT_AGENT_SESSION_ID"))}
	}
	return r.known(ctx, workspace, key)
}

// byPendingCall takes the one session of the client's own agent whose log holds
// exactly this call without a result. Two of them are no answer. A call whose id
// or session is told and was not found is not looked for by less.
func (r *Resolver) byPendingCall(ctx context.Context, workspace string, call Call) (*session.Key, error) {
	agent, readable := call.agent()
	if !readable || call.callID() != "" || call.thread() != "" {
		return nil, nil
	}
	pending := PendingCall{Agent: agent, Tool: call.Tool, Args: call.Args}
	if call.Client == openCodeClient {
		kilo := pending
		kilo.Agent = session.Kilo
		return r.pending(ctx, workspace, pending, kilo)
	}
	return r.pending(ctx, workspace, pending)
}

// known returns the key if it is that of a session in the workspace.
func (r *Resolver) known(ctx context.Context, workspace string, key session.Key) (*session.Key, error) {
	if key.ID == "" || r.finder == nil {
		return nil, nil
	}
	ok, err := r.finder.HasSession(ctx, workspace, key)
	if err != nil || !ok {
		return nil, err
	}
	return &key, nil
}

// newest is known for an id that goes stale while the process lives: the
// session must also be its agent's newest in the workspace.
func (r *Resolver) newest(ctx context.Context, workspace string, key session.Key) (*session.Key, error) {
	finder, ok := r.finder.(NewestFinder)
	if key.ID == "" || !ok {
		return nil, nil
	}
	newest, ok, err := finder.NewestSession(ctx, workspace, key.Agent)
	if err != nil || !ok || newest != key {
		return nil, err
	}
	return r.known(ctx, workspace, key)
}

// pending returns the one session whose log holds one of the calls.
func (r *Resolver) pending(ctx context.Context, workspace string, calls ...PendingCall) (*session.Key, error) {
	if r.calls == nil {
		return nil, nil
	}
	var all []session.Key
	for _, call := range calls {
		keys, err := r.calls.FindCall(ctx, workspace, call)
		if err != nil {
			return nil, err
		}
		all = append(all, keys...)
	}
	if len(all) != 1 {
		return nil, nil
	}
	return r.known(ctx, workspace, all[0])
}
