package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// SQLite makes journals and write-ahead logs with the mode that the umask leaves
// and corrects it afterwards. For a moment others could open them, where the
// folder is theirs to enter. This file system makes each file for its owner alone
// and then opens it as one that is there. The shared memory, which has no session
// text, is made before: see readyCompanions.
type private struct{ vfs.VFSFilename }

// openPrivate opens a database on the private file system.
func openPrivate(path string) (*sqlite3.Conn, error) {
	registerPrivate()
	return sqlite3.OpenFlags("file:"+inURI.Replace(path)+"?vfs="+privateName, sqlite3.OPEN_READWRITE|sqlite3.OPEN_URI)
}

const privateName = "yore"

var registerPrivate = sync.OnceFunc(func() {
	vfs.Register(privateName, private{vfs.Find("os").(vfs.VFSFilename)})
})

// inURI escapes what has a meaning in a database's URI (sqlite.org/uri.html).
var inURI = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23")

// OpenFilename implements vfs.VFSFilename.
func (p private) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	path := name.String()
	if path == "" || flags&vfs.OPEN_CREATE == 0 {
		return p.VFSFilename.OpenFilename(name, flags)
	}
	// Who closes a database last removes its log: it may go between the two steps.
	for tries := 0; ; tries++ {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
		if err == nil {
			err = f.Close()
		}
		switch {
		case errors.Is(err, fs.ErrExist) && flags&vfs.OPEN_EXCLUSIVE == 0:
		case errors.Is(err, fs.ErrPermission):
			return nil, flags, sqlite3.READONLY_DIRECTORY
		case err != nil:
			return nil, flags, err
		}
		file, got, err := p.VFSFilename.OpenFilename(name, flags&^(vfs.OPEN_CREATE|vfs.OPEN_EXCLUSIVE))
		if !errors.Is(err, fs.ErrNotExist) || tries == 16 {
			return file, got, err
		}
	}
}
