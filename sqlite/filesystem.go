package sqlite

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/yorehq/yore/fault"
)

// Processes that share an index share memory and locks through its files. A
// network file system gives each machine its own memory, and some give locks that
// are none, so that an index there is damaged sooner or later, or each reader
// sees another one. So such a folder is refused, unless its owner knows better.

// network are the types of file systems, as Linux names them, whose files other
// machines may change.
var network = []string{
	"nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "ncpfs", "afs", "coda", "ceph", "lustre", "gpfs", "beegfs", "glusterfs", "ocfs2", "gfs2",
	"orangefs", "pvfs2", "davfs", "fuse.sshfs", "fuse.rclone", "fuse.davfs", "fuse.davfs2", "fuse.curlftpfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.goofys",
	"fuse.glusterfs", "fuse.ceph", "fuse.ceph-fuse", "fuse.gvfsd-fuse", "fuse.juicefs", "fuse.seaweedfs", "fuse.smbnetfs", "fuse.nfs", "fuse.moosefs",
}

// errNetwork says that an index would lie on a network file system.
const errNetwork = unusable("network file system")

func refuseNetwork(kind string) error {
	return &fault.Error{
		Code: fault.IndexFailed, Cause: errNetwork,
		Safe: fmt.Sprintf("the index folder is on a network file system (%s), where processes cannot share it safely: "+
			"name a folder on this machine with --index DIR or YORE_INDEX, or say YORE_NETWORK_INDEX=true if no other machine uses it", kind),
	}
}

// checkFileSystem refuses a folder on a network file system.
func (x *Index) checkFileSystem(o Options) error {
	if o.Network {
		return nil
	}
	kindOf := o.FileSystem
	if kindOf == nil {
		kindOf = FileSystem
	}
	// What cannot be told is taken for local.
	if kind := kindOf(x.dir); slices.Contains(network, kind) {
		return refuseNetwork(kind)
	}
	return nil
}

// FileSystem returns the type of the file system that a folder is on, or will
// be on when it is made, as Linux names it; "" if that cannot be told. Windows
// tells of paths to shares alone, which are "smb", macOS of none.
func FileSystem(dir string) string {
	if runtime.GOOS == "windows" {
		volume := filepath.VolumeName(dir)
		if strings.HasPrefix(volume, `\\`) && !strings.HasPrefix(volume, `\\?\`) && !strings.HasPrefix(volume, `\\.\`) || strings.HasPrefix(volume, `\\?\UNC\`) {
			return "smb"
		}
		return ""
	}
	// The mounts of this process (proc(5)); no other system has the file.
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	return mountOf(f, real(dir))
}

// real follows the links of a path as far as it is there.
func real(path string) string {
	at, err := filepath.EvalSymlinks(path)
	if parent := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && parent != path {
		return filepath.Join(real(parent), filepath.Base(path))
	}
	if err != nil {
		return filepath.Clean(path)
	}
	return at
}

// mountOf returns the type of the mount that a path is in. Lines are, as proc(5)
// describes them,
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw
//
// where the fifth field is where it is mounted and the first one behind the dash
// its type. The longest place counts, of equal ones the last: it covers the others.
func mountOf(mounts io.Reader, path string) (kind string) {
	longest := -1
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(before)
		if !ok || len(fields) < 5 {
			continue
		}
		at := unescape.Replace(fields[4])
		if n := len(at); n >= longest && (at == "/" || path == at || strings.HasPrefix(path, at+"/")) {
			longest = n
			kind, _, _ = strings.Cut(after, " ")
		}
	}
	return kind
}

// unescape undoes how the kernel writes what would end a field.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
