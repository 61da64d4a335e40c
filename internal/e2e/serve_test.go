package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/yorehq/yore/internal/mockmodel"
)

// served is a client that serves HTTP on loopback.
type served struct {
	h    *home
	cmd  *exec.Cmd
	url  string
	end  context.CancelFunc
	done chan struct{}
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)

// serve starts a client that says its address on its output.
func (h *home) serve(dir string, env []string, name string, args ...string) *served {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 5*patience)
	s := &served{h: h, cmd: grouped(h.command(ctx, dir, env, name, args...)), end: cancel, done: make(chan struct{})}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	var errs strings.Builder
	s.cmd.Stderr = &errs
	if err := s.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	said := make(chan string, 1)
	go func() {
		defer close(s.done)
		defer close(said)
		lines, found := bufio.NewScanner(out), false
		for lines.Scan() {
			if a := address.FindString(lines.Text()); a != "" && !found {
				said <- a
				found = true
			}
		}
	}()
	select {
	case s.url = <-said:
	case <-time.After(patience):
	}
	if s.url == "" {
		h.t.Fatalf("%s says no address: %s", name, errs.String())
	}
	return s
}

// post sends JSON and returns what comes back.
func (s *served) post(path string, v any) (answer any) {
	s.h.t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		s.h.t.Fatal(err)
	}
	client := http.Client{Timeout: patience}
	response, err := client.Post(s.url+path, "application/json", bytes.NewReader(body))
	if err != nil {
		s.h.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil || response.StatusCode != http.StatusOK {
		s.h.t.Fatalf("%s: %s, %v\n%s", path, response.Status, err, text)
	}
	return answer
}

// postAndKill kills the server and all that it started, by SIGKILL, a moment
// after the model has begun to answer what was posted and fallen silent.
func (s *served) postAndKill(model *mockmodel.Handler, path string, v any) {
	s.h.t.Helper()
	defer s.end()
	body, err := json.Marshal(v)
	if err != nil {
		s.h.t.Fatal(err)
	}
	go func() {
		// It ends with the server.
		if response, err := http.Post(s.url+path, "application/json", bytes.NewReader(body)); err == nil {
			response.Body.Close()
		}
	}()
	select {
	case <-model.Stalled():
	case <-time.After(patience):
		s.h.t.Fatal("the model was never asked")
	}
	time.Sleep(time.Second) // it shows, and may write, what has come
	s.h.signal(s.cmd, "KILL")
	<-s.done
	_ = s.cmd.Wait() // it tells of the signal
}

// grouped makes a command the leader of a group of its own, with whatever it starts.
func grouped(cmd *exec.Cmd) *exec.Cmd {
	path, err := exec.LookPath("setsid")
	if err != nil {
		return cmd
	}
	cmd.Path, cmd.Args = path, append([]string{"setsid", cmd.Path}, cmd.Args[1:]...)
	return cmd
}

// signal sends a signal to a group.
func (h *home) signal(cmd *exec.Cmd, name string) {
	h.t.Helper()
	if text, err := exec.Command("kill", "-"+name, "--", fmt.Sprintf("-%d", cmd.Process.Pid)).CombinedOutput(); err != nil {
		h.t.Errorf("kill: %v\n%s", err, text)
	}
}
