package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// message is one value of govulncheck's JSON stream, as far as it is needed
// (golang.org/x/vuln/internal/govulncheck documents the stream).
type message struct {
	OSV *struct {
		ID      string `json:"id"`
		Summary string `json:"summary"`
	} `json:"osv"`
	Finding *struct {
		OSV   string `json:"osv"`
		Fixed string `json:"fixed_version"`
		Trace []struct {
			Module   string `json:"module"`
			Version  string `json:"version"`
			Package  string `json:"package"`
			Function string `json:"function"`
		} `json:"trace"`
	} `json:"finding"`
}

// judge reads what govulncheck found and prints a line for each entry whose code
// is called. It returns how many of them are about modules, and how many about
// the standard library and the toolchain.
func judge(stream io.Reader, out io.Writer) (modules, standard int, err error) {
	called := map[string]string{}
	of := map[string]string{}
	summaries := map[string]string{}
	known := map[string]bool{}
	for d := json.NewDecoder(stream); ; {
		var m message
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, 0, fmt.Errorf("govulncheck's output: %w", err)
		}
		if m.OSV != nil {
			summaries[m.OSV.ID] = m.OSV.Summary
		}
		f := m.Finding
		if f == nil || len(f.Trace) == 0 {
			continue
		}
		known[f.OSV] = true
		// The first frame is the vulnerable symbol; without a function, the package
		// or module is there and the symbol is not called.
		if t := f.Trace[0]; t.Function != "" {
			of[f.OSV] = t.Module
			called[f.OSV] = fmt.Sprintf("%s@%s calls %s.%s, fixed in %s", t.Module, t.Version, t.Package, t.Function, f.Fixed)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(called)) {
		fmt.Fprintf(out, "%s %s: %s\n", id, summaries[id], called[id])
		if of[id] == "stdlib" || of[id] == "toolchain" {
			standard++
		} else {
			modules++
		}
	}
	fmt.Fprintf(out, "%d entries concern what is built, %d of them code that is called\n", len(known), len(called))
	return modules, standard, nil
}
