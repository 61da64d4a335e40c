package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/identity"
	"github.com/yorehq/yore/toolset"
)

// service answers calls. Its methods run concurrently.
type service struct {
	options Options
	log     *slog.Logger
	remote  bool // reached over a network
}

// call is one call of a tool, from the wire to the wire. Whatever goes wrong is
// a result that the model can read; it returns no protocol error.
func (s *service) call(ctx context.Context, req *mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			s.log.Error("a call panicked", "tool", req.Params.Name, "cause", fmt.Sprintf("%v", thrown), "stack", string(debug.Stack()))
			result, err = failed(fault.ToolFailed), nil
		}
	}()
	client := clientName(req)
	args := req.Params.Arguments
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	caller, err := s.options.Callers.Caller(ctx, identity.Call{
		Client: client,
		Meta:   req.Params.Meta,
		Tool:   req.Params.Name,
		Args:   args,
		Remote: s.remote,
	})
	if err != nil {
		return s.refused(ctx, req.Params.Name, err), nil
	}
	budget := s.budget(client)
	p := progressOf(ctx, req)
	defer p.stop()
	outcome := s.options.Tools.Call(ctx, toolset.Call{
		Caller:      authz.Caller{Workspace: caller.Workspace, Session: caller.Session},
		Tool:        req.Params.Name,
		Args:        args,
		InlineBytes: budget,
		Progress:    p.report(),
	})
	if outcome.Err != nil {
		// A failure of the tools is made to be shown: code and sentence.
		return failure(outcome.Err.Error()), nil
	}
	return s.answer(outcome.Text, budget), nil
}

// answer is a text, spilled if it is longer than the client takes.
func (s *service) answer(text string, budget int) *mcp.CallToolResult {
	if budget > 0 {
		policy := s.options.Spill
		policy.MaxBytes = budget
		spilled := policy.Apply(text)
		if spilled.Err != nil {
			s.log.Warn("a long result stays inline", "bytes", len(text), "error", spilled.Err)
		}
		text = spilled.Text
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// refused is a call whose caller is in doubt.
func (s *service) refused(ctx context.Context, tool string, err error) *mcp.CallToolResult {
	if fault.IsContext(err) || ctx.Err() != nil {
		return failed(fault.Aborted)
	}
	s.log.Warn("a call was refused", "tool", tool, "error", err)
	code, ok := fault.Of(err)
	if !ok {
		return failed(fault.ToolFailed)
	}
	return failure(string(code) + ": " + fault.SafeText(err))
}

func failed(code fault.Code) *mcp.CallToolResult {
	return failure(string(code) + ": " + fault.Sentence(code) + " " + fault.Remedy(code))
}

// maxFailure is how many bytes of a failure are shown; clients cut or double
// longer ones.
const maxFailure = 1024

func failure(text string) *mcp.CallToolResult {
	if len(text) > maxFailure {
		cut := maxFailure - len("…")
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// clientName is what the client calls itself, "" if it does not say. In the
// stateless era only the request itself counts, not what came before it on the
// same connection.
func clientName(req *mcp.CallToolRequest) string {
	if version, _ := req.Params.Meta[mcp.MetaKeyProtocolVersion].(string); version >= firstStateless {
		info, _ := req.Params.Meta[mcp.MetaKeyClientInfo].(map[string]any)
		name, _ := info["name"].(string)
		return name
	}
	if p := req.Session.InitializeParams(); p != nil && p.ClientInfo != nil && p.ProtocolVersion < firstStateless {
		return p.ClientInfo.Name
	}
	return ""
}

// budget is the longest text, in bytes, for a client; 0: no limit.
func (s *service) budget(client string) int {
	if s.options.MaxInlineBytes != nil {
		return *s.options.MaxInlineBytes
	}
	return inlineBytes(client)
}

// inlineBytes is a length that a client shows its model uncut, as measured with
// its default settings, less a tenth. The name is only a hint for it.
func inlineBytes(client string) int {
	switch {
	case client == "claude-code", client == "opencode", client == identity.DSHClient:
		return 45_000
	case strings.HasPrefix(client, "gemini-cli-mcp-client"):
		return 36_000
	case strings.HasPrefix(client, "qwen-cli-mcp-client"):
		return 22_000
	case client == "pi":
		return 18_000
	}
	return 10_000 // Codex, which keeps what it cuts nowhere, and everyone unknown
}
