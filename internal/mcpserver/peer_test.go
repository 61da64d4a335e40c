package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"testing"

	"github.com/yorehq/yore/internal/identity"
	"github.com/yorehq/yore/toolset"
)

// toolFunc is a tool set of one function.
type toolFunc func(ctx context.Context, call toolset.Call) toolset.Outcome

func (f toolFunc) Call(ctx context.Context, call toolset.Call) toolset.Outcome { return f(ctx, call) }

// callerFunc tells callers by one function.
type callerFunc func(ctx context.Context, call identity.Call) (identity.Caller, error)

func (f callerFunc) Caller(ctx context.Context, call identity.Call) (identity.Caller, error) {
	return f(ctx, call)
}

func someone(context.Context, identity.Call) (identity.Caller, error) {
	return identity.Caller{Workspace: "/w"}, nil
}

// echo answers with what it was called with.
func echo(_ context.Context, call toolset.Call) toolset.Outcome {
	return toolset.Outcome{Text: call.Caller.Workspace + " " + call.Tool + " " + string(call.Args)}
}

func options(tools toolFunc) Options {
	return Options{Tools: tools, Callers: callerFunc(someone), Version: "test"}
}

// peer is the client's end of a server's streams.
type peer struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *bufio.Reader
	cancel context.CancelFunc
	ended  chan error
}

// serve runs a server until the peer ends it, at the latest with the test.
func serve(t *testing.T, o Options) *peer {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	p := &peer{t: t, in: inW, out: bufio.NewReader(outR), cancel: cancel, ended: make(chan error, 1)}
	go func() {
		p.ended <- Serve(ctx, o, inR, outW)
		outW.Close()
	}()
	t.Cleanup(func() {
		cancel()
		inW.Close()
		outR.Close()
	})
	return p
}

func (p *peer) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// sending sends a line while the test reads; sent waits for the end of it.
func (p *peer) sending(line string) (sent func()) {
	done := make(chan error, 1)
	go func() {
		_, err := io.WriteString(p.in, line+"\n")
		done <- err
	}()
	return func() {
		p.t.Helper()
		if err := <-done; err != nil {
			p.t.Fatal(err)
		}
	}
}

// line reads one line of the server's output, "" at its end.
func (p *peer) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil && err != io.EOF {
		p.t.Fatal(err)
	}
	return line
}

// message is what the tests look at of a message.
type message struct {
	ID     any    `json:"id"`
	Method string `json:"method"`
	Params struct {
		Token    any     `json:"progressToken"`
		Progress float64 `json:"progress"`
		Total    float64 `json:"total"`
	} `json:"params"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Result *struct {
		IsError bool `json:"isError"`
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured any `json:"structuredContent"`
	} `json:"result"`
}

func (m message) text() string {
	if m.Result == nil || len(m.Result.Content) != 1 {
		return ""
	}
	return m.Result.Content[0].Text
}

func (p *peer) receive() message {
	p.t.Helper()
	line := p.line()
	var m message
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		p.t.Fatalf("the line %q is no message: %v", line, err)
	}
	return m
}

// handshake opens the connection as a legacy client of this name.
func (p *peer) handshake(client string) {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"` + client + `","version":"1"}}}`)
	if m := p.receive(); m.Error != nil || m.ID != "hello" {
		p.t.Fatalf("the handshake failed: %+v", m)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// end closes the input and returns what Serve returned.
func (p *peer) end() error {
	p.t.Helper()
	if err := p.in.Close(); err != nil {
		p.t.Fatal(err)
	}
	return <-p.ended
}
