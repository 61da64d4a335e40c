// Package e2e owns the tests with real clients: Claude Code and Codex, set up by
// `yore setup`, start `yore mcp` and call its tools, told what to do by a
// scripted model on loopback.
//
// It holds tests only and looks at the product from outside: a binary, its
// command line, and what a model gets to read. The clients are installed by
// tools/e2e/run.sh. Start at TestPlantedHistory.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMain runs nothing unless YORE_E2E is 1, since the clients are half a
// gigabyte that a clone does not have; no test is reported then, and the line
// says so. With it a client that is missing is a failure.
func TestMain(m *testing.M) {
	if os.Getenv("YORE_E2E") != "1" {
		fmt.Println("no end-to-end test was run: `make e2e` installs the clients and runs them")
		os.Exit(0)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "yore-e2e-")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "yore"), "../../cmd/yore")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("yore cannot be built: %v\n%s", err, out)
		return 1
	}
	// The tests find it as people do.
	if err := os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
		fmt.Println(err)
		return 1
	}
	return m.Run()
}
