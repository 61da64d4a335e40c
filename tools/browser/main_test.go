// Package browser tests the local page as a person sees it: the real program,
// over logs that are written here, in a real Chromium.
//
// It knows the page by what is on it and nothing of the packages that make it.
// run.sh brings what it needs. Start at page_test.go.
package browser

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What run.sh brings, or what is found on the machine.
var (
	program  string
	chromium string
	axe      string // the text of axe-core
	pictures = flag.Bool("pictures", false, "write docs/images")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "yore-browser-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := prepare(dir); err != nil {
		fmt.Fprintln(os.Stderr, "the browser tests cannot run:", err)
		return 1
	}
	return m.Run()
}

func prepare(dir string) error {
	var err error
	if chromium = os.Getenv("CHROMIUM"); chromium == "" {
		if chromium, err = exec.LookPath("chromium"); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(os.Getenv("AXE"))
	if err != nil {
		return fmt.Errorf("AXE names no file with axe-core: %w", err)
	}
	axe = string(text)
	program = filepath.Join(dir, "yore")
	build := exec.Command("go", "build", "-o", program, "./cmd/yore")
	build.Dir = "../.."
	build.Stderr = os.Stderr
	return build.Run()
}
