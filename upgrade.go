package yore

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

//go:embed CHANGELOG.md
var changelog string

// Changelog returns the changes of every release up to this build, newest first,
// in Markdown.
func Changelog() string { return changelog }

// Upgrade is what this build does to an index that an earlier one made. Nothing
// but the index is ever made anew: settings, the list of what is forgotten, the
// record of worktrees and archives are no part of it.
type Upgrade struct {
	Index  sqlite.Survey
	Schema int // of the index, as this build makes it

	// Again counts the indexed sessions, by agent, that are read anew because this
	// build makes something else of their logs. Nil if the index is of another
	// schema, in part or whole: nothing of that is known then.
	Again map[session.Agent]int
}

// Rebuilds reports whether the next looks make something of the index anew.
func (u Upgrade) Rebuilds() bool {
	return u.Index.Catalog > 0 && u.Index.Catalog < u.Schema || u.Index.Outgrown() > 0 || len(u.Again) > 0
}

// Upgrading says what this build will do to the index of o, which it leaves as it
// is. An index that cannot be looked at is fault.IndexFailed.
func Upgrading(ctx context.Context, o Options) (u Upgrade, err error) {
	if o, err = o.resolve(); err != nil {
		return u, err
	}
	u.Schema = len(sqlite.SchemaHistory())
	if u.Index, err = sqlite.Look(o.IndexDir); err != nil {
		return u, err
	}
	if u.Index.Catalog != u.Schema || u.Index.Foreign || u.Index.Newer() || u.Index.Outgrown() > 0 {
		return u, nil
	}
	index, err := sqlite.Open(ctx, sqlite.Options{Dir: o.IndexDir, Network: o.NetworkIndex, Logger: o.Logger})
	if err != nil {
		return u, err
	}
	defer index.Close()
	held, err := index.Mappings(ctx)
	if err != nil {
		return u, err
	}
	var made []string
	for _, r := range Readers() {
		made = append(made, ingest.Mapping(r))
	}
	u.Again = map[session.Agent]int{}
	for mapping, sessions := range held {
		if !slices.Contains(made, mapping) {
			agent, _, _ := strings.Cut(mapping, "/")
			u.Again[session.Agent(agent)] += sessions
		}
	}
	return u, nil
}
