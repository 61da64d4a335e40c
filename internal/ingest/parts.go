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

// shareParts brings the catalogued parts in step with a shard, returns the
// catalogued files with them, and whether parts are to be read that have not been.
func (in *Ingester) shareParts(ctx context.Context, p *plan, rows []FileRow, stored []Stored) (_ []FileRow, unread bool, err error) {
	own, divided := map[string]FileRow{}, map[string]bool{}
	keys := map[session.Key]bool{}
	for _, row := range rows {
		if reader.FileOf(row.Path) == row.Path {
			own[row.Path] = row
			keys[row.Header.Key()] = true
		}
	}
	want := map[string]FileRow{}
	p.ends = map[string]int64{}
	at := map[string]int64{}
	for i := range stored {
		s := &stored[i]
		at[s.Source] = s.Position.Offset
		row, ok := own[s.Source]
		if !ok {
			continue
		}
		root, ok := in.root(row)
		if !ok {
			divided[row.Path] = true // another process knows its parts
			continue
		}
		d, ok := root.Reader.(reader.Divider)
		if !ok {
			continue
		}
		src := reader.Source{Agent: row.Agent, Root: row.Root, Path: row.Path, Header: s.Header}
		for _, part := range d.Parts(src, s.Position.State) {
			if keys[part.Header.Key()] || part.Header.Cwd != p.workspace {
				continue // a file of its own outranks a part
			}
			want[part.Path] = FileRow{Path: part.Path, Root: row.Root, Folder: row.Folder, Agent: row.Agent, Header: part.Header}
			p.ends[part.Path] = part.End
		}
	}
	var change CatalogChange
	kept := make([]FileRow, 0, len(rows)+len(want))
	for _, row := range rows {
		file, name := reader.SplitPart(row.Path)
		if w, ok := want[row.Path]; ok && w.Header == row.Header && row.Problem == nil && !row.Pending {
			delete(want, row.Path)
		} else if name != "" && !ok && !divided[file] {
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
		if end := p.ends[row.Path]; end > at[row.Path] && p.concerns(row) {
			unread = true
		}
	}
	if len(change.Files)+len(change.RemoveFiles) == 0 {
		return kept, unread, nil
	}
	return kept, true, in.Catalog.Update(ctx, change)
}

// withoutParts removes the parts of a file from the shard.
func (sl *slice) withoutParts(ctx context.Context, file string) error {
	for source, s := range sl.stored {
		if source == file || reader.FileOf(source) != file {
			continue
		}
		if err := sl.unname(ctx, s); err != nil {
			return err
		}
		if err := sl.w.Delete(ctx, s.Num); err != nil {
			return err
		}
		delete(sl.stored, source)
	}
	return nil
}
