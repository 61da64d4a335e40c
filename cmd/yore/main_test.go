package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestBinary builds the program and runs it where nothing is configured: no
// home folder, no environment but what the system needs.
func TestBinary(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "yore")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	temp := t.TempDir()
	run := func(args ...string) (string, int) {
		cmd := exec.Command(bin, args...)
		cmd.Dir = temp
		cmd.Env = []string{"TMPDIR=" + temp, "TMP=" + temp, "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := run("demo"); code != 0 || !strings.Contains(out, "alpha-build-fix") || !strings.Contains(out, "refused: ") {
		t.Errorf("demo exits with %d:\n%s", code, out)
	}
	if out, code := run("bogus"); code != 2 {
		t.Errorf("an unknown command exits with %d:\n%s", code, out)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
