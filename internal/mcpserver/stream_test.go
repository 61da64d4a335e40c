package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/yorehq/yore/toolset"
)

const callTrace = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"session_trace","arguments":{}}}`

// until answers once the channel is closed, or fails with the context.
func until(ready <-chan struct{}, entered chan<- struct{}) toolFunc {
	return func(ctx context.Context, _ toolset.Call) toolset.Outcome {
		entered <- struct{}{}
		select {
		case <-ready:
			return toolset.Outcome{Text: "done"}
		case <-ctx.Done():
			return toolset.Outcome{Err: &toolset.Failure{Code: "ABORTED", Message: "The call was cancelled."}}
		}
	}
}

func TestLongLine(t *testing.T) {
	p := serve(t, options(echo))
	p.handshake("x")
	sent := p.sending(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"session_trace","arguments":{"x":"` + strings.Repeat("x", 20<<20) + `"}}}`)
	if m := p.receive(); m.Error == nil || m.Error.Code != jsonrpc.CodeParseError || m.ID != 7.0 {
		t.Errorf("got %+v", m)
	}
	sent()
	// The id comes too late to be seen.
	sent = p.sending(`{"jsonrpc":"2.0","method":"` + strings.Repeat("x", maxLine) + `","id":8}`)
	if m := p.receive(); m.Error == nil || m.Error.Code != jsonrpc.CodeParseError || m.ID != nil {
		t.Errorf("got %+v", m)
	}
	sent()
	p.send(callTrace)
	if m := p.receive(); m.text() != "/w session_trace {}" {
		t.Errorf("after the long lines: %+v", m)
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
}

func TestLongestLine(t *testing.T) {
	head, tail := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`, `"}}`
	line := head + strings.Repeat("x", maxLine-len(head)-len(tail)) + tail
	for name, tc := range map[string]struct {
		line string
		code int
	}{
		"as long as it may be": {line, 0},
		"with a Windows end":   {line[:len(line)-4] + tail + "\r", 0},
		"a byte longer":        {line + " ", jsonrpc.CodeParseError},
	} {
		p := serve(t, options(echo))
		sent := p.sending(tc.line)
		m := p.receive()
		sent()
		if got := m.Error; (got == nil) != (tc.code == 0) || got != nil && got.Code != tc.code {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// The last line needs no end, and its answer still comes.
func TestEndWithoutNewline(t *testing.T) {
	var out bytes.Buffer
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if err := Serve(t.Context(), options(echo), in, &out); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEndWithCallsInFlight(t *testing.T) {
	ready, entered := make(chan struct{}), make(chan struct{}, 2)
	p := serve(t, options(until(ready, entered)))
	p.handshake("x")
	p.send(callTrace)
	p.send(strings.Replace(callTrace, `"id":1`, `"id":2`, 1))
	<-entered
	<-entered
	if err := p.in.Close(); err != nil {
		t.Fatal(err)
	}
	close(ready)
	got := map[any]string{}
	for range 2 {
		m := p.receive()
		got[m.ID] = m.text()
	}
	if diff := cmp.Diff(map[any]string{1.0: "done", 2.0: "done"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
}

// A call that takes longer than the grace is cancelled; one that does not
// listen either is left behind.
func TestEndIsNotWaitedForLong(t *testing.T) {
	for name, tc := range map[string]struct {
		listens bool
		want    time.Duration
	}{
		"a call that listens":  {true, grace},
		"a call that does not": {false, 2 * grace},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				tool := toolFunc(func(ctx context.Context, _ toolset.Call) toolset.Outcome {
					if tc.listens {
						<-ctx.Done()
					} else {
						<-release
					}
					return toolset.Outcome{Text: "late"}
				})
				var out bytes.Buffer
				in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"session_trace","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n")
				start := time.Now()
				if err := Serve(t.Context(), options(tool), in, &out); err != nil {
					t.Errorf("got %v", err)
				}
				if took := time.Since(start); took != tc.want {
					t.Errorf("took %v, want %v", took, tc.want)
				}
				close(release)
			})
		})
	}
}

func TestContextEnds(t *testing.T) {
	entered := make(chan struct{}, 1)
	stopped := make(chan struct{})
	p := serve(t, options(func(ctx context.Context, call toolset.Call) toolset.Outcome {
		defer close(stopped)
		return until(nil, entered)(ctx, call)
	}))
	p.handshake("x")
	p.send(callTrace)
	<-entered
	p.cancel()
	<-stopped
	if err := <-p.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCancellation(t *testing.T) {
	entered := make(chan struct{}, 1)
	p := serve(t, options(until(nil, entered)))
	p.handshake("x")
	p.send(callTrace)
	<-entered
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"changed my mind"}}`)
	if m := p.receive(); m.ID != 1.0 || !strings.HasPrefix(m.text(), "ABORTED: ") {
		t.Errorf("got %+v", m)
	}
	// Of a call that has ended already: some clients send it after every one.
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	p.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if m := p.receive(); m.ID != 2.0 || m.Error != nil {
		t.Errorf("got %+v", m)
	}
}

// Two calls run at once: each waits until the other is there.
func TestTwoCallsAtOnce(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	p := serve(t, options(func(context.Context, toolset.Call) toolset.Outcome {
		both.Done()
		both.Wait()
		return toolset.Outcome{Text: "met"}
	}))
	p.handshake("x")
	p.send(callTrace)
	p.send(strings.Replace(callTrace, `"id":1`, `"id":"1"`, 1)) // another id
	ids := map[any]bool{}
	for range 2 {
		m := p.receive()
		if m.text() != "met" {
			t.Errorf("got %+v", m)
		}
		ids[m.ID] = true
	}
	if !ids[1.0] || !ids["1"] {
		t.Errorf("answers to %v", ids)
	}
}

func TestIDInUse(t *testing.T) {
	ready, entered := make(chan struct{}), make(chan struct{}, 2)
	p := serve(t, options(until(ready, entered)))
	p.handshake("x")
	p.send(callTrace)
	<-entered
	p.send(callTrace)
	if m := p.receive(); m.ID != nil || m.Error == nil || m.Error.Code != jsonrpc.CodeInvalidRequest {
		t.Errorf("got %+v", m)
	}
	close(ready)
	if m := p.receive(); m.ID != 1.0 || m.text() != "done" {
		t.Errorf("got %+v", m)
	}
	p.send(callTrace) // free again
	if m := p.receive(); m.ID != 1.0 || m.text() != "done" {
		t.Errorf("got %+v", m)
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
}

// brokenPipe takes nothing.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestOutputBreaks(t *testing.T) {
	for name, line := range map[string]string{
		"an answer":                     `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		"a rejection":                   `what`,
		"a rejection, and more to read": "what\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
	} {
		in, w := io.Pipe()
		go io.WriteString(w, line+"\n") // and then nothing, and no end
		done := make(chan error, 1)
		go func() { done <- Serve(t.Context(), options(echo), in, brokenPipe{}) }()
		<-done // whatever it returns: it must return
		if err := w.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// brokenReader fails after some input.
type brokenReader struct{ r io.Reader }

func (b brokenReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err == io.EOF {
		err = errors.New("the disk is on fire")
	}
	return n, err
}

func TestInputBreaks(t *testing.T) {
	var out bytes.Buffer
	err := Serve(t.Context(), options(echo), brokenReader{strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}, &out)
	if err == nil || !strings.Contains(err.Error(), "on fire") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(out.String(), `"id":1`) {
		t.Errorf("the answer is lost: %q", out.String())
	}
}

// Whatever lines come, the server goes on: a request behind them has its answer,
// and every line it writes is a message.
func FuzzServe(f *testing.F) {
	for _, seed := range []string{
		"", "x", "{}", "[]", "[[]]", `{"jsonrpc":"2.0"}`, "\x00", "\xff", "\ufeff{}", "1e999",
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"initialize"}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		`{"jsonrpc":"2.0","id":-9007199254740993,"method":"ping","params":null}`,
		`{"jsonrpc":"2.0","id":1,"result":{},"error":7}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"session_trace","arguments":"x","_meta":{"progressToken":[]}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"ping","params":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const last = `{"jsonrpc":"2.0","id":"the last one","method":"ping"}`
		if bytes.Contains(data, []byte("last")) {
			return // may hold the id of our own request
		}
		var out bytes.Buffer
		if err := Serve(t.Context(), options(echo), io.MultiReader(bytes.NewReader(data), strings.NewReader("\n"+last)), &out); err != nil {
			t.Fatalf("Serve ended with %v", err)
		}
		answered := false
		for line := range bytes.Lines(out.Bytes()) {
			var m message
			if err := json.Unmarshal(line, &m); err != nil {
				t.Fatalf("the line %q is no message: %v", line, err)
			}
			if m.Result == nil && m.Error == nil && m.Method == "" {
				t.Fatalf("the line %q is no answer", line)
			}
			answered = answered || m.ID == "the last one" && m.Result != nil
		}
		if !answered {
			t.Fatalf("the last request has no answer in %q", out.Bytes())
		}
	})
}
