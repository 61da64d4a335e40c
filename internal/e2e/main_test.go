// Package e2e owns the tests with real clients: set up by `yore setup`, they start
// `yore mcp` and call its tools, told what to do by a scripted model on loopback;
// and whatever they leave on disk is held to what they sent to that model.
//
// It holds tests only. The clients and the binary are put there by
// tools/e2e/run.sh. Start at TestPlantedHistory and TestRuns.
package e2e

import (
	"fmt"
	"os"
	"testing"
)

// TestMain runs nothing unless YORE_E2E is 1, since the clients are gigabytes that
// a clone does not have; no test is reported then, and the line says so. With it,
// a client that is not named in YORE_E2E_CLIENTS is skipped.
func TestMain(m *testing.M) {
	if os.Getenv("YORE_E2E") != "1" {
		fmt.Println("no end-to-end test was run: `make e2e` installs the clients and runs them")
		os.Exit(0)
	}
	os.Exit(m.Run())
}
