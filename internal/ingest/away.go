package ingest

import (
	"context"
	"os"

	"github.com/yorehq/yore/reader"
)

// Away reports whether a root is away as a whole, so that nothing can be said of
// the files below it. It is not there; or it is an empty folder on another device
// than they were on, which is what stays in the place of a disk that is not mounted.
func (in *Ingester) Away(ctx context.Context, root string) (bool, error) {
	info, err := os.Stat(root)
	if err != nil || !info.IsDir() {
		return err != nil, nil
	}
	device := reader.StampOf(info).Device
	if device == 0 || !isEmpty(root) {
		return false, nil
	}
	rows, err := in.Catalog.Files(ctx, FileLookup{Root: &root, Latest: 16})
	for _, row := range rows {
		// A session within a file has a stamp of its own making.
		if reader.FileOf(row.Path) == row.Path && row.Stamp.Device != 0 {
			return row.Stamp.Device != device, err
		}
	}
	return false, err
}

func isEmpty(folder string) bool {
	f, err := os.Open(folder)
	if err != nil {
		return false
	}
	defer f.Close()
	names, _ := f.Readdirnames(1)
	return len(names) == 0
}
