package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// entry is what the indexes need of one OSV entry.
type entry struct {
	ID       string   `json:"id"`
	Aliases  []string `json:"aliases"`
	Affected []struct {
		Package struct {
			Name string `json:"name"`
		} `json:"package"`
		Ranges []struct {
			Events []struct {
				Fixed string `json:"fixed"`
			} `json:"events"`
		} `json:"ranges"`
	} `json:"affected"`
}

// module is one row of index/modules.json.
type module struct {
	Path  string `json:"path"`
	Vulns []vuln `json:"vulns"`
}

// vuln is one row of index/vulns.json, and of a module.
type vuln struct {
	ID       string   `json:"id"`
	Modified string   `json:"modified"`
	Fixed    string   `json:"fixed,omitempty"`
	Aliases  []string `json:"aliases,omitempty"`
}

// write makes a folder of OSV entries (GO-*.json) into a database that
// govulncheck -db file:// reads, and returns how many there are. The layout is
// version 1 of the Go vulnerability database
// (https://go.dev/doc/security/vuln/database).
func write(from, to string) (int, error) {
	files, err := filepath.Glob(filepath.Join(from, "GO-*.json"))
	if err != nil {
		return 0, err
	}
	if len(files) == 0 {
		return 0, fmt.Errorf("%s holds no GO-*.json", from)
	}
	for _, dir := range []string{"ID", "index"} {
		if err := os.MkdirAll(filepath.Join(to, dir), 0o755); err != nil {
			return 0, err
		}
	}
	// The module's entries state no times, and nothing here asks what is new.
	now := time.Now().UTC().Format(time.RFC3339)
	modules := map[string]*module{}
	var vulns []vuln
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return 0, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		if err := os.WriteFile(filepath.Join(to, "ID", filepath.Base(file)), text, 0o644); err != nil {
			return 0, err
		}
		vulns = append(vulns, vuln{ID: e.ID, Modified: now, Aliases: e.Aliases})
		for _, a := range e.Affected {
			m := modules[a.Package.Name]
			if m == nil {
				m = &module{Path: a.Package.Name}
				modules[a.Package.Name] = m
			}
			row := vuln{ID: e.ID, Modified: now}
			for _, r := range a.Ranges {
				for _, event := range r.Events {
					row.Fixed = cmp.Or(event.Fixed, row.Fixed)
				}
			}
			m.Vulns = append(m.Vulns, row)
		}
	}
	rows := make([]*module, 0, len(modules))
	for _, m := range modules {
		rows = append(rows, m)
	}
	slices.SortFunc(rows, func(a, b *module) int { return cmp.Compare(a.Path, b.Path) })
	for name, value := range map[string]any{
		"db.json": map[string]string{"modified": now}, "modules.json": rows, "vulns.json": vulns,
	} {
		text, err := json.Marshal(value)
		if err != nil {
			return 0, err
		}
		if err := os.WriteFile(filepath.Join(to, "index", name), text, 0o644); err != nil {
			return 0, err
		}
	}
	return len(files), nil
}
