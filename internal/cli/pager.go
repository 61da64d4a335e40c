package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// paged runs print with standard output going through a pager, on a terminal
// only. The pager is $YORE_PAGER, else $PAGER, else less; "" and cat are none.
// That the person leaves the pager early is no failure.
func (a *app) paged(ctx context.Context, off bool, print func() error) error {
	words := a.pager()
	if off || !a.screen || len(words) == 0 {
		return print()
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Env = a.raw, a.errs, a.pagerEnv()
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		a.logger.Debug("no pager", "error", err)
		return print()
	}
	if err := a.out.Flush(); err != nil {
		return errors.Join(err, pipe.Close(), cmd.Wait())
	}
	screen := a.out
	a.out = bufio.NewWriter(pipe)
	err = print()
	if flushed := a.out.Flush(); err == nil {
		err = flushed
	}
	a.out = screen
	pipe.Close()
	// The terminal belongs to the pager until it ends, also after an interrupt,
	// which reaches it as well.
	failed := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, syscall.EPIPE), errors.Is(err, os.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return nil
	case err == nil && failed != nil:
		a.logger.Debug("the pager failed", "error", failed)
	}
	return err
}

// pager returns the pager's words; none where the person wants none.
func (a *app) pager() []string {
	for _, name := range []string{"YORE_PAGER", "PAGER"} {
		if v, ok := a.lookup(name); ok {
			if words := strings.Fields(v); len(words) > 0 && words[0] != "cat" {
				return words
			}
			return nil
		}
	}
	if path, err := exec.LookPath("less"); err == nil {
		return []string{path}
	}
	return nil
}

// lookup tells a variable that is empty on purpose from one that is not there.
func (a *app) lookup(name string) (string, bool) {
	if v := a.getenv(name); v != "" {
		return v, true
	}
	_, there := os.LookupEnv(name)
	return "", there
}

// pagerEnv has less pass colours on, leave a text that fits where it is, and
// end with an interrupt.
func (a *app) pagerEnv() []string {
	env := os.Environ()
	if a.getenv("LESS") == "" {
		env = append(env, "LESS=FRXK")
	}
	if a.getenv("LESSCHARSET") == "" {
		env = append(env, "LESSCHARSET=utf-8")
	}
	return env
}
