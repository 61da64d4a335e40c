package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// place is where the program, its index and the logs are.
type place struct{ yore, home, root, index string }

func (p place) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.yore, args...)
	cmd.Dir = p.home
	cmd.Env = []string{
		"HOME=" + p.home, "TMPDIR=" + os.TempDir(), "XDG_CONFIG_HOME=" + p.home + "/config",
		"YORE_INDEX=" + p.index, "YORE_ROOTS=dsh=" + p.root,
	}
	return cmd
}

// indexAll runs `yore index --all`. That others were indexing at the same time,
// or that a log grew meanwhile, is no failure.
func (p place) indexAll(ctx context.Context) error {
	cmd := p.command(ctx, "index", "--all")
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 3 && ctx.Err() == nil {
		return fmt.Errorf("yore index: %w: %s", err, out)
	}
	return nil
}

// server is one `yore mcp`.
type server struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs strings.Builder
	id   int
}

func (p place) serve(ctx context.Context) (*server, error) {
	s := &server{cmd: p.command(ctx, "mcp", "--workspace", workspace)}
	s.cmd.Stderr = &s.errs
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	pipe, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReaderSize(pipe, 1<<20)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := s.call("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "load", "version": "1"},
	}); err != nil {
		return nil, err
	}
	_, err = io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return s, err
}

// call sends a request and waits for its answer.
func (s *server) call(method string, params any) (json.RawMessage, error) {
	s.id++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("the server is gone: %w: %s", err, s.errs.String())
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("the server is gone: %w: %s", err, s.errs.String())
		}
		var answer struct {
			ID     *int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			return nil, err
		}
		if answer.ID == nil || *answer.ID != s.id {
			continue // a notification
		}
		if answer.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, answer.Error)
		}
		return answer.Result, nil
	}
}

// ask calls the tools in turn until ctx ends.
func (s *server) ask(ctx context.Context, seed int, t *tally) {
	type args = map[string]any
	for n := seed; ctx.Err() == nil; n++ {
		old := fmt.Sprint("old-", n%100)
		tool, with := "session_search", args{"query": "linker"}
		switch n % 6 {
		case 1:
			with = args{"query": fmt.Sprintf("event %d about", n%40)}
		case 2:
			tool, with = "session_event_search", args{"query": "linker", "session_id": old}
		case 3:
			tool, with = "session_event_read", args{"session_id": old, "seq": n % 40}
		case 4:
			tool, with = "session_trace", args{"session_id": old}
		case 5:
			tool, with = "session_event_trace", args{"session_id": old, "seq": n % 40}
		}
		start := time.Now()
		result, err := s.call("tools/call", args{"name": tool, "arguments": with})
		if err == nil && strings.Contains(string(result), `"isError":true`) {
			err = fmt.Errorf("%s %v: %s", tool, with, result)
		}
		if err != nil {
			t.fail(err)
			return
		}
		t.took(time.Since(start))
	}
}

func (s *server) close() {
	_ = s.in.Close()
	_ = s.cmd.Wait() // it was killed, or has nothing more to say
}
