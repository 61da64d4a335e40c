// Command vuln checks a program's dependencies and its toolchain against the Go
// vulnerability database where the web's copy is out of reach: the entries are
// also part of a Go module, golang.org/x/vulndb, which the module proxy serves.
//
//	vuln GOVULNCHECK PACKAGE...
//
// It exits with 1 if vulnerable code is called and with 3 if the entries cannot
// be had.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const entries = "golang.org/x/vulndb@latest"

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: vuln GOVULNCHECK PACKAGE...")
		os.Exit(2)
	}
	code, err := run(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "vuln:", err)
	}
	os.Exit(code)
}

func run(govulncheck string, packages []string) (code int, err error) {
	dir, err := os.MkdirTemp("", "vulndb-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	module, version, err := download(dir)
	if err != nil {
		return 3, err
	}
	db := filepath.Join(dir, "db")
	n, err := write(filepath.Join(module, "data", "osv"), db)
	if err != nil {
		return 1, err
	}
	fmt.Printf("%d entries of %s\n", n, version)
	// Judged is the toolchain that go.mod asks for, which is what releases are built
	// with, if it can be had; else this one, whose own faults are then only told.
	environment, asked := toolchain()
	cmd := exec.Command(govulncheck, append([]string{"-format", "json", "-db", "file://" + filepath.ToSlash(db)}, packages...)...)
	cmd.Env = environment
	cmd.Stderr = os.Stderr
	found, err := cmd.Output()
	if err != nil {
		return 1, fmt.Errorf("govulncheck: %w", err)
	}
	modules, standard, err := judge(bytes.NewReader(found), os.Stdout)
	if err != nil || modules > 0 || standard > 0 && asked {
		return 1, err
	}
	return 0, nil
}

// toolchain returns an environment for commands that use the toolchain of the
// module's go.mod, and whether it does.
func toolchain() (environment []string, asked bool) {
	text, err := exec.Command("go", "mod", "edit", "-json").Output()
	var module struct{ Toolchain string }
	if err != nil || json.Unmarshal(text, &module) != nil || module.Toolchain == "" {
		return os.Environ(), false
	}
	cmd := exec.Command("go", "version")
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+module.Toolchain)
	if version, err := cmd.CombinedOutput(); err != nil {
		fmt.Printf("%s cannot be had: %s", module.Toolchain, version)
		return os.Environ(), false
	}
	fmt.Println("with", module.Toolchain)
	return cmd.Env, true
}

// download fetches the module of entries and returns its folder and version.
func download(dir string) (module, version string, err error) {
	cmd := exec.Command("go", "mod", "download", "-json", entries)
	cmd.Dir = dir
	text, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("%s cannot be had: %w: %s", entries, err, text)
	}
	var m struct{ Dir, Version string }
	if err := json.Unmarshal(text, &m); err != nil {
		return "", "", err
	}
	return m.Dir, m.Version, nil
}
