// Command yore searches, traces and reads the prior sessions of AI coding
// agents. Everything it does is in internal/cli.
package main

import (
	"os"

	"github.com/yorehq/yore/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
