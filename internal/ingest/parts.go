package ingest

import (
	"context"
	"maps"
	"slices"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// A file may hold more sessions than its own (reader.Divider). They come to light
// when it is read, and the position where that read ended knows them: the shard
// is the truth of which parts there are, and the catalog follows it.
//
//	shard     s.jsonl at 9000, knows a@1200 until 4000 and b@3000 until 8800
//	catalog   s.jsonl, s.jsonl//a@1200, s.jsonl//b@3000
//
// From there on a part is a source like any other. What its file gained is read
// for it only up to its end, so that many parts do not read a file many times. A
// file that is read anew takes its parts out of the shard with it.

// partRounds bounds how often a plan is made again for parts: a file's own
// session is read first, then its parts, which have none themselves.
const partRounds = 2

// isDivided reports whether a file among those that are known has parts. What
// lies on a shelf is none.
func (in *Ingester) isDivided(rows []FileRow, stored []Glance) bool {
	return slices.ContainsFunc(stored, func(g Glance) bool { return g.Divided }) ||
		slices.ContainsFunc(rows, func(r FileRow) bool { return reader.FileOf(r.Path) != r.Path && !in.shelved(r) })
}

// divided reports whether a position knows parts of its source.
func (j *job) divided(at reader.Position) bool {
	d, ok := j.reader.(reader.Divider)
	return ok && reader.FileOf(j.src.Path) == j.src.Path && len(d.Parts(j.src, at.State)) > 0
}

// shareParts brings the catalogued parts in step with a shard and returns the
// catalogued files with them.
func (in *Ingester) shareParts(ctx context.Context, p *plan, rows []FileRow, stored []Glance) ([]FileRow, error) {
	own, divided := map[string]FileRow{}, map[string]bool{}
	keys := map[session.Key]bool{}
	for _, row := range rows {
		if reader.FileOf(row.Path) == row.Path || in.shelved(row) {
			own[row.Path] = row
			if row.Agent == row.Header.Agent {
				keys[row.Header.Key()] = true
			}
		}
	}
	var sources []string
	for i := range stored {
		if row, ok := own[stored[i].Source]; ok {
			if _, known := in.root(row); !known {
				divided[row.Path] = true // another process knows its parts
			} else if stored[i].Divided {
				sources = append(sources, row.Path)
			}
		}
	}
	want := map[string]FileRow{}
	p.ends = map[string]int64{}
	if len(sources) > 0 {
		states, err := in.Shards.Peek(ctx, p.workspace, StoredLookup{Sources: sources})
		if err != nil {
			return nil, err
		}
		for _, s := range states {
			row := own[s.Source]
			root, _ := in.root(row)
			d, ok := root.Reader.(reader.Divider)
			if !ok {
				continue
			}
			src := reader.Source{Agent: row.Agent, Root: row.Root, Path: row.Path, Header: s.Header}
			for _, part := range d.Parts(src, s.Position.State) {
				if keys[part.Header.Key()] || part.Header.Cwd != p.workspace {
					continue // a file of its own outranks a part; a copy in an archive is chosen from like any copy
				}
				want[part.Path] = FileRow{Path: part.Path, Root: row.Root, Folder: row.Folder, Agent: row.Agent, Header: part.Header}
				p.ends[part.Path] = part.End
			}
		}
	}
	var change CatalogChange
	kept := make([]FileRow, 0, len(rows)+len(want))
	for _, row := range rows {
		file, name := reader.SplitPart(row.Path)
		if w, ok := want[row.Path]; ok && w.Header == row.Header && row.Problem == nil && !row.Pending {
			delete(want, row.Path)
		} else if _, known := in.root(row); name != "" && !ok && !divided[file] && known && !in.shelved(row) {
			change.RemoveFiles = append(change.RemoveFiles, row.Path)
			continue
		} else if ok {
			continue // catalogued anew below
		}
		kept = append(kept, row)
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		change.Files = append(change.Files, want[path])
		kept = append(kept, want[path])
	}
	for _, row := range kept {
		if p.only != nil && row.Header.Key() == *p.only {
			if file, name := reader.SplitPart(row.Path); name != "" {
				p.file = file
			}
		}
	}
	if len(change.Files)+len(change.RemoveFiles) == 0 {
		return kept, nil
	}
	return kept, in.Catalog.Update(ctx, change)
}

// withoutParts removes the parts of a file from the shard.
func (sl *slice) withoutParts(ctx context.Context, file string) error {
	parts, err := sl.load(ctx, StoredLookup{PartsOf: file})
	if err != nil {
		return err
	}
	for _, s := range parts {
		if err := sl.drop(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
