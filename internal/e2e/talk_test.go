package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/mockmodel"
)

// talk is a client that is driven over its standard input and output, one JSON
// object a line, or each behind a header with its length.
type talk struct {
	framed bool
	h      *home
	t      *testing.T
	name   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    chan map[string]any
	errs   *strings.Builder
	seen   []string
	end    context.CancelFunc
}

func (h *home) talk(dir string, env []string, name string, args ...string) *talk {
	return h.talkIn(false, dir, env, name, args...)
}

func (h *home) talkIn(framed bool, dir string, env []string, name string, args ...string) *talk {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 3*patience)
	t := &talk{framed: framed, h: h, t: h.t, name: name, cmd: grouped(h.command(ctx, dir, env, name, args...)), out: make(chan map[string]any, 4096), errs: &strings.Builder{}, end: cancel}
	t.cmd.Stderr = t.errs
	var err error
	if t.in, err = t.cmd.StdinPipe(); err != nil {
		h.t.Fatal(err)
	}
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := t.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() {
		defer close(t.out)
		lines := bufio.NewReader(out)
		for {
			text, err := t.next(lines)
			var v map[string]any
			if json.Unmarshal(text, &v) == nil {
				t.out <- v
			}
			if err != nil {
				return
			}
		}
	}()
	return t
}

// next reads the text of one object, or a line that is none.
func (t *talk) next(from *bufio.Reader) ([]byte, error) {
	line, err := from.ReadBytes('\n')
	if !t.framed || err != nil {
		return line, err
	}
	size := 0
	for err == nil && len(strings.TrimSpace(string(line))) > 0 {
		if n, ok := strings.CutPrefix(string(line), "Content-Length:"); ok {
			if size, err = strconv.Atoi(strings.TrimSpace(n)); err != nil {
				return nil, err
			}
		}
		line, err = from.ReadBytes('\n')
	}
	text := make([]byte, size)
	if err == nil {
		_, err = io.ReadFull(from, text)
	}
	return text, err
}

// say sends an object.
func (t *talk) say(v map[string]any) {
	t.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.t.Fatal(err)
	}
	if text = append(text, '\n'); t.framed {
		text = append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(text)), text...)
	}
	if _, err := t.in.Write(text); err != nil {
		t.t.Fatalf("%s: %v\n%s", t.name, err, t.errs)
	}
}

// await returns the next object that is sought.
func (t *talk) await(what string, sought func(map[string]any) bool) map[string]any {
	t.t.Helper()
	late := time.After(patience)
	for {
		select {
		case v, ok := <-t.out:
			if !ok {
				t.t.Fatalf("%s ended before %s\n%s\n%s", t.name, what, strings.Join(t.seen, "\n"), t.errs)
			}
			t.seen = append(t.seen, fmt.Sprintf("%.300v", v))
			if sought(v) {
				return v
			}
		case <-late:
			t.t.Fatalf("%s never gave %s\n%s\n%s", t.name, what, strings.Join(t.seen, "\n"), t.errs)
		}
	}
}

// kill kills the client and all that it started, by SIGKILL, a moment after its
// model has begun to answer and fallen silent.
func (t *talk) kill(model *mockmodel.Handler) {
	t.t.Helper()
	defer t.end()
	select {
	case <-model.Stalled():
	case <-time.After(patience):
		t.t.Fatalf("%s never asked its model\n%s", t.name, t.errs)
	}
	time.Sleep(time.Second) // it shows, and may write, what has come
	t.h.signal(t.cmd, "KILL")
	for range t.out {
	}
	_ = t.cmd.Wait() // it tells of the signal
}

// close ends the client as its input's end does.
func (t *talk) close() {
	t.t.Helper()
	defer t.end()
	if err := t.in.Close(); err != nil {
		t.t.Error(err)
	}
	for range t.out {
	}
	if err := t.cmd.Wait(); err != nil {
		t.t.Errorf("%s: %v\n%s", t.name, err, t.errs)
	}
}
