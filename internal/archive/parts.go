package archive

import (
	"context"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	format "github.com/yorehq/yore/reader/archive"
)

// parts returns the sessions that stand in another one's file, as far as a read
// of that one has found them.
func (o original) parts(at reader.Position) []original {
	d, ok := o.reader.(reader.Divider)
	if !ok {
		return nil
	}
	var all []original
	for _, src := range d.Parts(o.src, at.State) {
		all = append(all, original{o.reader, src, o.stamp})
	}
	return all
}

// archivedParts returns the parts of a log as far as the archive has read it.
func (a *Archiver) archivedParts(ctx context.Context, o original) ([]original, error) {
	if _, ok := o.reader.(reader.Divider); !ok {
		return nil, nil
	}
	k, err := open(ctx, format.Path(a.dir, o.src.Header))
	if err != nil {
		if fault.IsContext(err) {
			return nil, err
		}
		return nil, nil // it is named where the archive's files are gone through
	}
	defer k.close()
	if !k.whole {
		return nil, nil
	}
	return o.parts(k.at), nil
}
