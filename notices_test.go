package yore

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// component is what is in a binary and not ours.
type component struct{ path, version, dir string }

// TestThirdPartyNotices holds THIRD_PARTY.md to the modules of the binaries, on
// every system, and to their licences as they lie in the module cache:
//
//	go test . -run TestThirdPartyNotices -update-formats
func TestThirdPartyNotices(t *testing.T) {
	const name = "THIRD_PARTY.md"
	all := binaryModules(t)
	if len(all) < 10 {
		t.Fatalf("only %d modules found", len(all))
	}
	var list, texts strings.Builder
	sections := map[string][]string{} // by text, who it is of
	var order []string
	for _, c := range all {
		kinds := []string{}
		for _, text := range licences(t, c.dir) {
			kind := kindOf(text)
			if kind == "" {
				t.Errorf("%s has a licence that is not known to be permissive:\n%.300s", c.path, text)
			}
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
			if sections[text] == nil {
				order = append(order, text)
			}
			sections[text] = append(sections[text], c.path)
		}
		if len(kinds) == 0 {
			t.Errorf("%s has no licence in %s", c.path, c.dir)
		}
		fmt.Fprintf(&list, "| %s | %s | %s |\n", c.path, c.version, strings.Join(kinds, ", "))
	}
	for _, text := range order {
		fmt.Fprintf(&texts, "\n## %s\n\n````text\n%s\n````\n", strings.Join(sections[text], ", "), text)
	}
	want := "# Third-party notices\n\nWhat the binaries of yore are made of beside its own code (Apache-2.0, see [LICENSE](LICENSE)), with the licences as their authors give them. " +
		"Made by `go test . -run TestThirdPartyNotices -update-formats`. A release has the same as a bill of materials for each binary.\n\n" +
		"| component | version | licence |\n|---|---|---|\n" + list.String() + texts.String()
	if *updateFormats {
		if err := os.WriteFile(name, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("run it with -update-formats (-want +got):\n%s", diff)
	}
}

// binaryModules returns what the binaries of all systems that releases are made
// for are built from, Go's own library first.
func binaryModules(t *testing.T) []component {
	t.Helper()
	all := map[string]component{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/yore")
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 3 {
				all[f[0]] = component{f[0], f[1], f[2]}
			}
		}
	}
	var sorted []component
	for _, path := range slices.Sorted(maps.Keys(all)) {
		sorted = append(sorted, all[path])
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile("internal/mask/gitleaks.go")
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(string(rules), "from gitleaks ")
	version, _, _ = strings.Cut(version, ";")
	return append([]component{
		{"Go standard library", "as the toolchain", strings.TrimSpace(string(root))},
		{"rules of gitleaks", version, "internal/mask"},
	}, sorted...)
}

// licences returns the texts of a module that its licence asks to pass on.
func licences(t *testing.T, dir string) (texts []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		base := strings.ToUpper(strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())))
		known := slices.Contains([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"}, base) || strings.HasPrefix(base, "LICENSE-")
		if e.IsDir() || !known {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		// As it stands, but for line ends and white space that says nothing.
		var lines []string
		for line := range bytes.Lines(text) {
			lines = append(lines, strings.TrimRight(string(line), " \t\r\n"))
		}
		texts = append(texts, strings.Trim(strings.Join(lines, "\n"), "\n"))
	}
	return texts
}

// kindOf names a text by sentences that only that licence has; "" is another.
func kindOf(text string) string {
	flat := strings.Join(strings.Fields(text), " ")
	for _, k := range []struct{ kind, sentence string }{
		{"Apache-2.0", "Apache License Version 2.0"},
		{"MIT-0", "MIT No Attribution"},
		{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
		{"BSD-3-Clause", "may be used to endorse or promote products derived from"},
		{"BSD-2-Clause", "Redistributions in binary form must reproduce the above copyright notice"},
		{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose"},
		{"ISC", "Permission to use, copy, modify, and distribute this software for any purpose"},
		{"Unlicense", "This is free and unencumbered software released into the public domain"},
		{"patent grant", "Additional IP Rights Grant (Patents)"},
		{"notice", "This product includes software developed"},
		{"notice", "Copyright"},
	} {
		if strings.Contains(flat, k.sentence) {
			return k.kind
		}
	}
	return ""
}
