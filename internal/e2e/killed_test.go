package e2e

import (
	"context"
	"strings"
	"time"

	"github.com/yorehq/yore/internal/mockmodel"
)

// kill runs a command and kills it with all its children, by SIGKILL, a moment
// after its model has begun to answer and fallen silent.
func (h *home) kill(model *mockmodel.Handler, dir string, env []string, name string, args ...string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	cmd := grouped(h.command(ctx, dir, env, name, args...))
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-model.Stalled():
	case err := <-ended:
		h.t.Fatalf("%s ended by itself: %v\n%s", name, err, out.String())
	}
	time.Sleep(time.Second) // it shows, and may write, what has come
	h.signal(cmd, "KILL")
	<-ended
}
