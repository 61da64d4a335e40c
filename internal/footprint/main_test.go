// Package footprint owns the test that watches the program from outside, through
// the system calls that it makes: no network, no child, nothing written outside of
// its own folders, and nothing that others could read even for a moment.
//
// It holds tests only. It needs Linux and strace. Start at TestFootprint.
package footprint

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binary is the program, and umask what its processes begin with: none of their
// files gets its mode by luck.
const umask = "000"

// TestMain runs nothing where strace is not there, since a clone does not bring
// it; no test is reported then, and the line says so. With YORE_FOOTPRINT=1, as in
// the pipeline, that is a failure.
func TestMain(m *testing.M) {
	if _, err := exec.LookPath("strace"); err != nil {
		fmt.Println("no system call was watched: strace is not installed")
		if os.Getenv("YORE_FOOTPRINT") == "1" {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// build makes the program as people do.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "yore")
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/yore").CombinedOutput(); err != nil {
		t.Fatalf("yore cannot be built: %v\n%s", err, out)
	}
	return path
}
