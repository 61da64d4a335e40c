package footprint

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// process is the program that strace runs, by the first of its traces.
func process(t *testing.T, trace string) *os.Process {
	t.Helper()
	names, err := filepath.Glob(trace + ".*")
	var ids []int
	for _, name := range names {
		if id, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(name), ".")); err == nil {
			ids = append(ids, id)
		}
	}
	if err != nil || len(ids) == 0 {
		t.Fatalf("no trace: %v", err)
	}
	p, err := os.FindProcess(slices.Min(ids))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// serves reports whether a call is of a server on this machine alone: it is bound
// to loopback and to nothing else, and connects to nobody. Go tries, before it
// listens, which versions of the protocol there are.
func serves(c call) bool {
	switch c.name {
	case "socket":
		return strings.HasPrefix(c.args, "AF_INET, SOCK_STREAM") || strings.HasPrefix(c.args, "AF_INET6, SOCK_STREAM")
	case "bind":
		for _, own := range []string{`inet_addr("127.0.0.1")`, `inet_pton(AF_INET6, "::1"`, `inet_pton(AF_INET6, "::ffff:127.0.0.1"`} {
			if strings.Contains(c.args, own) {
				return true
			}
		}
	case "listen", "accept", "accept4", "getsockname", "getpeername", "setsockopt", "getsockopt", "shutdown":
		return true
	}
	return false
}

// TestServes holds that judge to calls as strace prints them.
func TestServes(t *testing.T) {
	for line, good := range map[string]bool{
		`socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC|SOCK_NONBLOCK, IPPROTO_IP) = 3<socket:[1]>`:                                                       true,
		`socket(AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC|SOCK_NONBLOCK, 0) = 3<socket:[1]>`:                                                                false,
		`socket(AF_INET, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_IP) = 3<socket:[1]>`:                                                                      false,
		`bind(3<socket:[1]>, {sa_family=AF_INET, sin_port=htons(0), sin_addr=inet_addr("127.0.0.1")}, 16) = 0`:                                      true,
		`bind(3<socket:[1]>, {sa_family=AF_INET, sin_port=htons(0), sin_addr=inet_addr("0.0.0.0")}, 16) = 0`:                                        false,
		`bind(3<socket:[1]>, {sa_family=AF_INET6, sin6_port=htons(0), inet_pton(AF_INET6, "::", &sin6_addr), sin6_scope_id=0}, 28) = 0`:             false,
		`connect(3<socket:[1]>, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("127.0.0.1")}, 16) = -1 EINPROGRESS (in progress)`:      false,
		`accept4(3<socket:[1]>, {sa_family=AF_INET, sin_port=htons(50000), sin_addr=inet_addr("127.0.0.1")}, [112 => 16], SOCK_CLOEXEC) = 8<s:[2]>`: true,
	} {
		m := callLine.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("not understood: %s", line)
			continue
		}
		if got := serves(call{m[1], m[2], m[3]}); got != good {
			t.Errorf("%s: %t", line, got)
		}
	}
}

// TestFootprintOfThePage watches the page's server: it listens on loopback and
// reaches for nothing else, whatever is asked of it.
func TestFootprintOfThePage(t *testing.T) {
	p := newPerson(t)
	before := p.logs()
	args := []string{"web", "--no-open"}
	cmd, trace := p.traced(args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("no address: %v", err)
	}
	yore := process(t, trace)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	visitor := &http.Client{Jar: jar, Timeout: time.Minute}
	address := strings.TrimSpace(line)
	base, _, _ := strings.Cut(address, "/?")
	answers := 0
	for _, page := range []string{address, base + "/search?q=the", base + "/s/dsh/alpha-compact", base + "/s/dsh/alpha-compact/lineage", base + "/nothing"} {
		a, err := visitor.Get(page)
		if err != nil {
			t.Errorf("%s: %v", page, err)
			continue
		}
		body, err := io.ReadAll(a.Body)
		a.Body.Close()
		if err == nil && a.StatusCode == http.StatusOK && len(body) > 500 {
			answers++
		}
	}
	if answers < 3 {
		t.Errorf("%d pages were served", answers)
	}
	visitor.CloseIdleConnections()
	if err := yore.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	p.ended(cmd, 130, 0)
	p.judge(trace, args, serves)
	if after := p.logs(); after != before {
		t.Errorf("the agents' folders were\n%s\nand are\n%s", before, after)
	}
	p.private()
}

// ended waits for a command and checks how it ended.
func (p *person) ended(cmd *exec.Cmd, codes ...int) {
	p.t.Helper()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if code := cmd.ProcessState.ExitCode(); !slices.Contains(codes, code) {
			p.t.Errorf("it ended with %d, %v", code, err)
		}
	case <-time.After(time.Minute):
		cmd.Process.Kill()
		p.t.Error("it does not end")
	}
}

// asksForTheUser reports whether a call is the C library's question, to the name
// service of this machine, who the user is: where a C compiler is there when the
// program is built, Go asks that library. The terminal's description may lie in the
// user's home folder. Releases are built without.
func asksForTheUser(c call) bool {
	return c.name == "socket" && strings.HasPrefix(c.args, "AF_UNIX, SOCK_STREAM") ||
		c.name == "connect" && strings.Contains(c.args, `sun_path="/var/run/nscd/socket"`)
}

// TestFootprintOfTheScreens watches the full screens in a terminal of their own:
// a search is typed, a session opened and left.
func TestFootprintOfTheScreens(t *testing.T) {
	if _, err := exec.LookPath("script"); err != nil {
		t.Log("not run: script, which makes a terminal, is not installed")
		return
	}
	p := newPerson(t)
	before := p.logs()
	args := []string{"tui", "-w", "/srv/code/alpha", "linker"}
	inner, trace := p.traced(args...)
	var words []string
	for _, a := range inner.Args {
		words = append(words, "'"+strings.ReplaceAll(a, "'", `'\''`)+"'")
	}
	cmd := exec.Command("script", "-qefc", "stty rows 40 cols 120; exec "+strings.Join(words, " "), "/dev/null")
	cmd.Dir, cmd.Env = inner.Dir, inner.Env
	keys, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	screen, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	drawn := make(chan string, 1024)
	go func() {
		defer close(drawn)
		b := make([]byte, 32<<10)
		for {
			n, err := screen.Read(b)
			if n > 0 {
				drawn <- string(b[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	seen := ""
	until := func(text string) {
		t.Helper()
		limit := time.After(time.Minute)
		for !strings.Contains(seen, text) {
			select {
			case part, ok := <-drawn:
				if seen += part; !ok {
					t.Fatalf("the screens ended before %q was on them: %q", text, seen)
				}
			case <-limit:
				t.Fatalf("%q was never on the screen: %q", text, seen)
			}
		}
		seen = ""
	}
	press := func(text string) {
		t.Helper()
		time.Sleep(300 * time.Millisecond)
		if _, err := io.WriteString(keys, text); err != nil {
			t.Error(err)
		}
	}
	until("marble") // a session that is found
	press("\r")
	until("nightly")
	press("\x1b")
	press("s")
	press("\x03")
	go func() {
		for range drawn { // so that it can end
		}
	}()
	p.ended(cmd, 0, 130)
	p.judge(trace, args, func(c call) bool {
		return strings.HasPrefix(c.name, "open") && strings.HasPrefix(strings.Join(c.paths(), " "), "/dev/tty") || asksForTheUser(c)
	})
	if after := p.logs(); after != before {
		t.Errorf("the agents' folders were\n%s\nand are\n%s", before, after)
	}
	p.private()
}
