package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yorehq/yore/fault"
)

func TestMountOf(t *testing.T) {
	// The first two lines are the examples of proc(5) and of the kernel's documentation.
	const mounts = `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
26 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 26 0:40 / /home rw,relatime shared:7 - nfs4 server:/export/home rw,vers=4.2
41 40 8:1 / /home/ada/local\040disk rw - xfs /dev/sda1 rw
42 26 0:42 / /srv/share rw master:3 propagate_from:2 - cifs //server/share rw
43 26 0:43 / /mnt/stack rw - nfs server:/a rw
44 43 0:44 / /mnt/stack rw - tmpfs tmpfs rw
45 26 0:45 / /home/ada/remote rw - fuse.sshfs ada@host: rw
a line of something else
`
	for path, want := range map[string]string{
		"/":                              "ext4",
		"/mnt2/x":                        "ext3",
		"/homes/ada":                     "ext4",
		"/home":                          "nfs4",
		"/home/ada/.cache/yore":          "nfs4",
		"/home/ada/local disk/yore":      "xfs",
		"/home/ada/local":                "nfs4",
		"/srv/share/yore":                "cifs",
		"/srv/shared":                    "ext4",
		"/mnt/stack/yore":                "tmpfs",
		"/home/ada/remote/.cache":        "fuse.sshfs",
		"/home/ada/remote-not/.cache/xy": "nfs4",
	} {
		if got := mountOf(strings.NewReader(mounts), path); got != want {
			t.Errorf("%s is on %q, want %q", path, got, want)
		}
	}
	if got := mountOf(strings.NewReader(""), "/home"); got != "" {
		t.Errorf("without mounts: %q", got)
	}
}

func TestNetworkFolder(t *testing.T) {
	for _, kind := range []string{"nfs4", "cifs", "fuse.sshfs"} {
		dir := filepath.Join(t.TempDir(), "index")
		on := func(asked string) string {
			if asked != dir {
				t.Errorf("asked about %s", asked)
			}
			return kind
		}
		_, err := Open(t.Context(), Options{Dir: dir, FileSystem: on})
		if !errors.Is(err, fault.IndexFailed) || !strings.Contains(fault.SafeText(err), "("+kind+")") || !strings.Contains(fault.SafeText(err), "--index DIR") {
			t.Errorf("%s: %v", kind, err)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: something was made there (%v)", kind, err)
		}
		x, err := Open(t.Context(), Options{Dir: dir, FileSystem: on, Network: true})
		if err != nil {
			t.Fatalf("%s, allowed: %v", kind, err)
		}
		x.Close()
	}
	for _, kind := range []string{"", "ext4", "tmpfs", "overlay", "9p"} {
		x, err := Open(t.Context(), Options{Dir: t.TempDir(), FileSystem: func(string) string { return kind }})
		if err != nil {
			t.Fatalf("%q: %v", kind, err)
		}
		x.Close()
	}
}

// TestFileSystem asks the system about a folder that is not there yet, through a link.
func TestFileSystem(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if got, want := FileSystem(filepath.Join(link, "not", "yet")), FileSystem(dir); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
