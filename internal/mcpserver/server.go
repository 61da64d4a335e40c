// Package mcpserver owns the tools' appearance over the Model Context Protocol:
// what a client is told of them, how a call comes in, and how an answer or a
// failure goes out, in both eras of the protocol (with and without handshake).
//
// It is the only importer of the protocol's SDK. Who is calling is decided by
// identity, what a tool answers by toolset, what becomes of a long answer by
// spill; this package joins the three and knows nothing of sessions itself.
// Around the stream stands a guard (conn.go, message.go) that survives what
// would otherwise end the connection. Nothing but messages goes to the output.
// Start at Serve, then service.call.
package mcpserver

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/identity"
	"github.com/yorehq/yore/internal/spill"
	"github.com/yorehq/yore/toolset"
)

// Tools runs calls; *toolset.Set does.
type Tools interface {
	Call(ctx context.Context, call toolset.Call) toolset.Outcome
}

// Callers tells who makes a call; *identity.Resolver does. Its failures are
// shown to the agent by their code and safe text.
type Callers interface {
	Caller(ctx context.Context, call identity.Call) (identity.Caller, error)
}

// Options configure a server. Tools and Callers are required.
type Options struct {
	Tools   Tools
	Callers Callers
	Version string // of the product, as shown to clients

	// MaxInlineBytes is the longest text a client gets inline; nil: a length that
	// the client, known by its name, does not cut. 0: no limit, and no spill.
	MaxInlineBytes *int

	// Spill says where longer texts go; its MaxBytes is not used. Without a
	// folder they stay inline.
	Spill spill.Policy

	Logger *slog.Logger // nil discards; never writes to the protocol's stream
}

// Serve speaks newline-delimited JSON-RPC until the input ends, and then until
// the answers in flight are out, at most grace. It returns nil at the end of
// the input, the context's error if that ended first, or why the stream broke.
//
// Neither stream is closed. A read of the input that cannot be interrupted may
// outlive the call; it takes nothing that a later reader should have had.
func Serve(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	s, err := newServer(o, false)
	if err != nil {
		return err
	}
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	sweeping.Go(func() {
		if n, err := o.Spill.Sweep(time.Now()); err != nil || n > 0 {
			logger(o).Info("old results swept", "removed", n, "error", err)
		}
	})
	c := newConn(in, out, logger(o))
	open, err := s.Connect(ctx, stream{c}, nil)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- open.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		c.Close()
	case <-c.over:
	}
	// The handlers have been cancelled now. One that does not listen is left behind.
	select {
	case err = <-ended:
	case <-time.After(grace):
		logger(o).Warn("a call did not stop in time")
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// newServer makes the server for one stream, or for any number of stateless
// requests over a network.
func newServer(o Options, remote bool) (*mcp.Server, error) {
	if o.Tools == nil || o.Callers == nil {
		return nil, fault.New(fault.InvalidConfig, "a server needs tools and a way to tell who is calling")
	}
	if o.MaxInlineBytes != nil && *o.MaxInlineBytes < 0 {
		return nil, fault.New(fault.InvalidConfig, "MaxInlineBytes is %d: want 0 for no limit, or a number of bytes", *o.MaxInlineBytes)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "yore", Title: "yore", Version: o.Version}, &mcp.ServerOptions{
		Instructions: toolset.Guidance(),
		Logger:       logger(o),
		// Given in full: what is left nil, the SDK fills in. The list never changes.
		Capabilities: &mcp.ServerCapabilities{
			Tools:        &mcp.ToolCapabilities{},
			Experimental: map[string]any{identity.SandboxMeta: map[string]any{}},
		},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	})
	s.AddReceivingMiddleware(narrow)
	v := &service{options: o, log: logger(o), remote: remote}
	for _, t := range toolset.Catalogue() {
		s.AddTool(describe(t), v.call)
	}
	return s, nil
}

func logger(o Options) *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// maxResultChars is what Claude Code is told not to cut below.
const maxResultChars = 400_000

// describe makes the protocol's form of a tool. No output schema: a client
// shows a model either the text or the structure, and the text is complete.
func describe(t toolset.Tool) *mcp.Tool {
	no := false
	d := &mcp.Tool{
		Name:        t.Name,
		Title:       t.Title,
		Description: t.Description,
		InputSchema: t.Schema,
		Annotations: &mcp.ToolAnnotations{Title: t.Title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no},
	}
	if t.MaxResultChars {
		d.Meta = mcp.Meta{"anthropic/maxResultSizeChars": maxResultChars}
	}
	return d
}

// firstStateless is the first revision of the protocol without a handshake, and
// lastHandshake the one before it.
const (
	firstStateless = "2026-07-28"
	lastHandshake  = "2025-11-25"
)

// narrow answers for methods of the protocol that this server does not have,
// which the SDK would serve all the same, and keeps the two eras apart.
func narrow(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "initialize":
			// A handshake never leads into the stateless era, whatever is asked for:
			// the SDK answers such a client with lastHandshake. Recorded like this,
			// the version tells later whether there was a handshake.
			if p, ok := req.GetParams().(*mcp.InitializeParams); ok && p != nil && p.ProtocolVersion >= firstStateless {
				p.ProtocolVersion = lastHandshake
			}
		case "prompts/list", "prompts/get", "resources/list", "resources/templates/list", "resources/read",
			"resources/subscribe", "resources/unsubscribe", "completion/complete", "logging/setLevel":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this server has tools only, not " + method}
		}
		return next(ctx, method, req)
	}
}
