package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// interruptedAt is a context that is cancelled when it has been looked at so
// many times: an interrupt at a place that does not depend on any clock.
type interruptedAt struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

func (c *interruptedAt) Err() error {
	if c.left.Add(-1) == 0 {
		c.cancel()
	}
	return c.Context.Err()
}

func (c *interruptedAt) Done() <-chan struct{} {
	if c.left.Add(-1) == 0 {
		c.cancel()
	}
	return c.Context.Done()
}

// command runs a command line in this process.
func command(ctx context.Context, env map[string]string, args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	a := &app{in: strings.NewReader(""), raw: &o, out: bufio.NewWriter(&o), errs: &e, getenv: func(k string) string { return env[k] }}
	code = a.run(ctx, args)
	return code, o.String(), e.String()
}

// TestInterruptsLeaveTheIndexWhole interrupts commands at one place after the
// other. Each ends with 130 or had finished before, and when all are done the index
// answers as one that nobody disturbed.
func TestInterruptsLeaveTheIndexWhole(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	samples, err := filepath.Abs("../demo/samples")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "logs"), os.DirFS(samples)); err != nil {
		t.Fatal(err)
	}
	env := func(index string) map[string]string {
		return map[string]string{"YORE_ROOTS": "dsh=" + filepath.Join(dir, "logs"), "YORE_INDEX": filepath.Join(dir, index), "HOME": dir}
	}
	answers := func(index string) string {
		t.Helper()
		var all strings.Builder
		for _, args := range [][]string{{"doctor", "--deep"}, {"search", "--all", "quota ledger"}, {"stats", "--all", "--utc"}, {"show", "-w", "/srv/code/alpha", "alpha-compact"}} {
			code, out, errs := command(t.Context(), env(index), args...)
			if code != exitAnswered {
				t.Fatalf("%v exits with %d: %s%s", args, code, out, errs)
			}
			if args[0] != "doctor" { // which says how many bytes the index has, too
				all.WriteString(out)
			}
		}
		return all.String()
	}
	interrupted := 0
	for i, args := range [][]string{
		{"index", "--all"}, {"list", "--all"}, {"search", "--all", "quota"}, {"stats", "--all"}, {"trace", "--all", "alpha-lead"},
		{"show", "--all", "alpha-compact"}, {"events", "--all", "alpha-compact"}, {"read", "--all", "alpha-compact", "3"},
	} {
		for _, at := range []int64{1, 2, 4, 8, 16, 40, 100, 400, 2000} {
			base, cancel := context.WithCancel(t.Context())
			ctx := &interruptedAt{Context: base, cancel: cancel}
			ctx.left.Store(at)
			code, _, errs := command(ctx, env(fmt.Sprint("disturbed", i%3)), args...)
			cancel()
			switch {
			case code == exitInterrupted && strings.Contains(errs, "yore: interrupted"):
				interrupted++
			case code != exitAnswered:
				t.Errorf("%v interrupted at look %d exits with %d: %s", args, at, code, errs)
			}
		}
	}
	if interrupted < 20 {
		t.Errorf("only %d interrupts were felt", interrupted)
	}
	want := answers("quiet")
	for i := range 3 {
		if d := cmp.Diff(want, answers(fmt.Sprint("disturbed", i))); d != "" {
			t.Errorf("after interrupts the answers differ (-quiet +disturbed):\n%s", d)
		}
	}
}
