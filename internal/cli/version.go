package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
	"github.com/yorehq/yore/toolset"
)

// release is the version of a released binary; the linker sets it
// (tools/release/run.sh).
var release string

// version is what the build says of itself.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func (a *app) versionCommand() *cobra.Command {
	var check, changes, asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Version prints the version. With --check it also says which versions this build has
of all that has one (the index, the tools, each reader), and what it will do to
the index on this machine: nothing, make files of an older schema anew from the
logs, read some sessions again, or refuse a newer one. With --changes it prints
the changes of every release so far. All of it comes from the program itself and
from the index: nothing is asked over a network, and nothing is changed.`,
		Example: `  yore version --check
  yore version --check --json
  yore version --changes | less`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			switch {
			case changes:
				return a.emit(yore.Changelog())
			case !check:
				if asJSON {
					return a.emitLine(versionJSON(nil))
				}
				return a.emit("yore " + version() + "\n")
			}
			if a.settings, err = a.configure(cmd); err != nil {
				return err
			}
			u, err := yore.Upgrading(cmd.Context(), yore.Options{IndexDir: a.settings.index, NetworkIndex: a.settings.network, Logger: a.logger})
			if err != nil {
				return err
			}
			if asJSON {
				return a.emitLine(versionJSON(&u))
			}
			return a.emit(versionText(u))
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "say what this version will do to the index on this machine")
	cmd.Flags().BoolVar(&changes, "changes", false, "print what changed from release to release")
	cmd.MarkFlagsMutuallyExclusive("check", "changes")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// platform is what the build was made with and for.
func platform() string {
	return strings.TrimPrefix(runtime.Version(), "go") + ", " + runtime.GOOS + "/" + runtime.GOARCH
}

func versionText(u yore.Upgrade) string {
	var b strings.Builder
	fmt.Fprintf(&b, "yore %s (Go %s)\n", version(), platform())
	fmt.Fprintf(&b, "index: schema %d\ntools: version %d\n", u.Schema, toolset.SchemaVersion)
	var readers []string
	for _, r := range yore.Readers() {
		readers = append(readers, fmt.Sprintf("%s %d", r.Agent(), r.Version()))
	}
	fmt.Fprintf(&b, "readers: %s\n\non this machine:\n", strings.Join(readers, ", "))
	fmt.Fprintf(&b, "  %s: %s\n", render.Line(u.Index.Dir, 0), outlook(u))
	if oldest := oldestSchema(u); oldest > 0 && oldest < u.Schema {
		fmt.Fprintf(&b, "\nwhat the index has gained since schema %d:\n", oldest)
		for i, line := range sqlite.SchemaHistory()[oldest:] {
			fmt.Fprintf(&b, "  %d: %s\n", oldest+1+i, line)
		}
	}
	return b.String()
}

// outlook says in a sentence what becomes of the index.
func outlook(u yore.Upgrade) string {
	s := u.Index
	shards := s.Outgrown()
	switch {
	case s.Foreign:
		return "something that is no index of yore's lies there; it stays as it is, and commands that need an index fail"
	case s.Newer():
		return "a newer version made it; it stays as it is, and commands that need an index fail: use that version, or another folder (--index)"
	case s.Catalog == 0:
		return "there is no index yet; the first search makes one"
	case s.Catalog < u.Schema:
		return fmt.Sprintf("schema %d; it is removed (%d bytes) and made anew from the logs, a workspace at its next search; settings, what is forgotten, and archives stay", s.Catalog, s.Size)
	case shards > 0:
		return fmt.Sprintf("%d of %d workspaces are of an older schema; each is made anew from the logs at its next search", shards, shards+s.Current())
	case len(u.Again) > 0:
		var parts []string
		for _, agent := range slices.Sorted(maps.Keys(u.Again)) {
			parts = append(parts, fmt.Sprintf("%d of %s", u.Again[agent], render.Name(string(agent))))
		}
		return fmt.Sprintf("schema %d, as this version makes it; of its sessions are read again, because more is made of their logs now: %s", s.Catalog, strings.Join(parts, ", "))
	}
	return fmt.Sprintf("schema %d, as this version makes it; nothing is made anew", s.Catalog)
}

// oldestSchema is the lowest schema of any file of the index, 0 if there is none.
func oldestSchema(u yore.Upgrade) int {
	oldest := u.Index.Catalog
	for schema := range u.Index.Shards {
		if schema > 0 && (oldest == 0 || schema < oldest) {
			oldest = schema
		}
	}
	return oldest
}

// versionJSON is the same as one object:
//
//	{"version","go","platform","schema","tools","readers":{agent:version,…},
//	 "index"?:{"path","present":bool,"schema"?,"bytes","newer":bool,"foreign":bool,"outgrown_shards","current_shards",
//	   "rebuilds":bool,"read_again":{agent:sessions,…}}}
func versionJSON(u *yore.Upgrade) []byte {
	type index struct {
		Path     string                `json:"path"`
		Present  bool                  `json:"present"`
		Schema   int                   `json:"schema,omitempty"`
		Bytes    int64                 `json:"bytes"`
		Newer    bool                  `json:"newer"`
		Foreign  bool                  `json:"foreign"`
		Outgrown int                   `json:"outgrown_shards"`
		Current  int                   `json:"current_shards"`
		Rebuilds bool                  `json:"rebuilds"`
		Again    map[session.Agent]int `json:"read_again"`
	}
	out := struct {
		Version  string                `json:"version"`
		Go       string                `json:"go"`
		Platform string                `json:"platform"`
		Schema   int                   `json:"schema"`
		Tools    int                   `json:"tools"`
		Readers  map[session.Agent]int `json:"readers"`
		Index    *index                `json:"index,omitempty"`
	}{version(), strings.TrimPrefix(runtime.Version(), "go"), runtime.GOOS + "/" + runtime.GOARCH, len(sqlite.SchemaHistory()), toolset.SchemaVersion, map[session.Agent]int{}, nil}
	for _, r := range yore.Readers() {
		out.Readers[r.Agent()] = r.Version()
	}
	if u != nil {
		s := u.Index
		out.Index = &index{s.Dir, s.Catalog > 0, s.Catalog, s.Size, s.Newer(), s.Foreign, s.Outgrown(), s.Current(), u.Rebuilds(), map[session.Agent]int{}}
		maps.Copy(out.Index.Again, u.Again)
	}
	line, _ := json.Marshal(out) // strings, numbers and booleans only
	return line
}
