package footprint

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// watched are the calls that reach out of a process or change a file system.
const watched = "%network,%process,open,openat,openat2,creat,mkdir,mkdirat,mknod,mknodat,rename,renameat,renameat2,link,linkat,symlink,symlinkat," +
	"unlink,unlinkat,rmdir,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,truncate,setxattr,lsetxattr,fsetxattr,utimensat"

// call is one system call as strace -y prints it.
type call struct {
	name, args, result string
}

var callLine = regexp.MustCompile(`^(\w+)\((.*)\)\s+= (.*)$`)

// calls reads the traces of all threads of a run: strace -ff gives each a file, so
// that no line is cut by another's.
func calls(t *testing.T, prefix string) (all []call) {
	t.Helper()
	names, err := filepath.Glob(prefix + ".*")
	if err != nil || len(names) == 0 {
		t.Fatalf("no trace: %v", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if m := callLine.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
				all = append(all, call{m[1], m[2], m[3]})
			}
		}
	}
	return all
}

var (
	atPath = regexp.MustCompile(`(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"`)
	fdPath = regexp.MustCompile(`^\d+<([^>]*)>`)
	octal  = regexp.MustCompile(`\b0[0-7]{1,4}\b`)
)

// paths returns the files that a call names.
func (c call) paths() (all []string) {
	for _, m := range atPath.FindAllStringSubmatch(c.args, -1) {
		path := m[2]
		if !filepath.IsAbs(path) {
			path = filepath.Join(m[1], path)
		}
		all = append(all, filepath.Clean(path))
	}
	if m := fdPath.FindStringSubmatch(c.args); m != nil && len(all) == 0 {
		all = append(all, m[1])
	}
	return all
}

// mode returns the permissions that a call gives, the last octal number; -1: none.
func (c call) mode() int64 {
	found := octal.FindAllString(c.args, -1)
	if len(found) == 0 {
		return -1
	}
	n, _ := strconv.ParseInt(found[len(found)-1], 8, 32)
	return n
}

// offence says what is wrong with a call of a program that may write to own
// folders alone; "" if nothing is.
func (c call) offence(own []string) string {
	inside := func(path string) bool {
		return slices.ContainsFunc(own, func(dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") })
	}
	failed := strings.HasPrefix(c.result, "-1")
	switch c.name {
	case "exit", "exit_group", "wait4", "waitid", "rt_sigreturn", "pidfd_open", "pidfd_send_signal":
		return ""
	case "kill", "tkill", "tgkill":
		return "" // of its own threads, and the question whether a process is there
	case "clone", "clone3":
		if strings.Contains(c.args, "CLONE_THREAD") {
			return ""
		}
		return "starts a process"
	case "fork", "vfork":
		return "starts a process"
	case "execve", "execveat":
		return "" // counted by the caller
	case "open", "openat", "openat2", "creat":
		writes := c.name == "creat" || strings.Contains(c.args, "O_WRONLY") || strings.Contains(c.args, "O_RDWR") ||
			strings.Contains(c.args, "O_CREAT") || strings.Contains(c.args, "O_TRUNC") || strings.Contains(c.args, "O_TMPFILE")
		path := strings.Join(c.paths(), " ")
		if !writes || path == "/dev/null" {
			return ""
		}
		if !inside(path) {
			return "opens a file for writing outside of its folders"
		}
		if strings.HasSuffix(path, ".db-shm") {
			return "" // made before, or it holds page numbers and no text; its mode is looked at in the end
		}
		if strings.Contains(c.args, "O_CREAT") && c.mode()&0o177 != 0 {
			return "makes a file that is not its owner's alone"
		}
		return ""
	case "mkdir", "mkdirat":
		if failed {
			return ""
		}
		if c.mode() != 0o700 {
			return "makes a folder that is not its owner's alone"
		}
	case "chmod", "fchmod", "fchmodat":
		if c.mode()&0o077 != 0 {
			return "opens a file to others"
		}
	case "mknod", "mknodat", "chown", "fchown", "lchown", "fchownat", "setxattr", "lsetxattr", "fsetxattr", "symlink", "symlinkat":
		return "is nothing that it has to do"
	case "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "rmdir", "truncate", "utimensat":
	default:
		return "reaches out" // of the network
	}
	for _, path := range c.paths() {
		if !inside(path) {
			return "changes what is not in its folders"
		}
	}
	return ""
}

// TestOffences holds the judge to calls of each kind, as strace prints them.
func TestOffences(t *testing.T) {
	own := []string{"/home/ada/.cache/yore"}
	for line, bad := range map[string]bool{
		`socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP) = 3<socket:[1]>`:                                                    true,
		`connect(3<socket:[1]>, {sa_family=AF_UNIX, sun_path="/run/x"}, 12) = -1 ENOENT (No such file or directory)`:                true,
		`clone(child_stack=0xc00005a000, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD|CLONE_SYSVSEM, tls=0) = 12`: false,
		`clone(child_stack=NULL, flags=CLONE_VM|CLONE_VFORK|SIGCHLD) = 12`:                                                          true,
		`vfork() = 12`: true,
		`openat(AT_FDCWD</home/ada>, "/home/ada/.cache/yore/catalog.db", O_RDWR|O_CLOEXEC) = 5</home/ada/.cache/yore/catalog.db>`:                      false,
		`openat(AT_FDCWD</home/ada>, "/home/ada/.cache/yore/lock", O_RDWR|O_CREAT|O_CLOEXEC, 0600) = 5</home/ada/.cache/yore/lock>`:                    false,
		`openat(AT_FDCWD</home/ada>, "/home/ada/.cache/yore/lock", O_RDWR|O_CREAT|O_CLOEXEC, 0666) = 5</home/ada/.cache/yore/lock>`:                    true,
		`openat(AT_FDCWD</home/ada>, "/home/ada/.claude/projects/x/a.jsonl", O_RDONLY|O_CLOEXEC) = 5</home/ada/.claude/projects/x/a.jsonl>`:            false,
		`openat(AT_FDCWD</home/ada>, "/home/ada/.claude/projects/x/a.jsonl", O_RDWR|O_CLOEXEC) = 5</home/ada/.claude/projects/x/a.jsonl>`:              true,
		`openat(AT_FDCWD</home/ada/.cache/yore>, "../evil", O_WRONLY|O_CREAT, 0600) = 5</home/ada/.cache/evil>`:                                        true,
		`openat(4</home/ada/.cache/yore>, "result-A.txt", O_WRONLY|O_CREAT|O_EXCL|O_NOFOLLOW|O_CLOEXEC, 0600) = 5</home/ada/.cache/yore/result-A.txt>`: false,
		`openat(AT_FDCWD</home/ada>, "/dev/null", O_RDWR|O_CLOEXEC) = 5</dev/null>`:                                                                    false,
		`mkdirat(AT_FDCWD</home/ada>, "/home/ada/.cache/yore", 0700) = 0`:                                                                              false,
		`mkdirat(AT_FDCWD</home/ada>, "/home/ada/.cache/yore", 0755) = 0`:                                                                              true,
		`mkdirat(AT_FDCWD</home/ada>, "/home/ada/.cache/yore2", 0700) = 0`:                                                                             true,
		`fchmod(5</home/ada/.cache/yore/lock>, 0600) = 0`:                                                                                              false,
		`fchmod(5</home/ada/.cache/yore/lock>, 0644) = 0`:                                                                                              true,
		`fchmod(5</home/ada/.profile>, 0600) = 0`:                                                                                                      true,
		`renameat(AT_FDCWD</home/ada>, "/home/ada/.cache/yore/a", AT_FDCWD</home/ada>, "/home/ada/.cache/yore/b") = 0`:                                 false,
		`renameat(AT_FDCWD</home/ada>, "/home/ada/.cache/yore/a", AT_FDCWD</home/ada>, "/home/ada/.bashrc") = 0`:                                       true,
		`unlinkat(AT_FDCWD</home/ada>, "/home/ada/.claude/x", 0) = -1 ENOENT (No such file or directory)`:                                              true,
		`symlinkat("/etc/passwd", AT_FDCWD</home/ada>, "/home/ada/.cache/yore/p") = 0`:                                                                 true,
	} {
		m := callLine.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("not understood: %s", line)
			continue
		}
		if got := (call{m[1], m[2], m[3]}).offence(own); (got != "") != bad {
			t.Errorf("%s: %q", line, got)
		}
	}
}

func (c call) String() string { return fmt.Sprintf("%s(%s) = %s", c.name, c.args, c.result) }
