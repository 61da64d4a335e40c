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
	return in.absences().away(ctx, root)
}

// absences is Away for one look at many files. What the catalog says of a root is
// asked once, since that costs by its number of files; what stands in its place is
// looked at each time, since a disk may be taken out meanwhile.
type absences struct {
	in      *Ingester
	devices map[string]uint64
}

func (in *Ingester) absences() *absences { return &absences{in, map[string]uint64{}} }

func (a *absences) away(ctx context.Context, root string) (bool, error) {
	info, err := os.Stat(root)
	if err != nil || !info.IsDir() {
		return err != nil, nil
	}
	device := reader.StampOf(info).Device
	if device == 0 || !isEmpty(root) {
		return false, nil
	}
	was, known := a.devices[root]
	if !known {
		if was, err = a.in.deviceOf(ctx, root); err != nil {
			return false, err
		}
		a.devices[root] = was
	}
	return was != 0 && was != device, nil
}

// deviceOf returns the device that the files of a root were on; 0: nobody knows.
func (in *Ingester) deviceOf(ctx context.Context, root string) (uint64, error) {
	rows, err := in.Catalog.Files(ctx, FileLookup{Root: &root, Latest: 16})
	for _, row := range rows {
		// A session within a file has a stamp of its own making.
		if reader.FileOf(row.Path) == row.Path && row.Stamp.Device != 0 {
			return row.Stamp.Device, err
		}
	}
	return 0, err
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
