package attack

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/session"
)

// spec is one session of a world, and where it lies.
type spec struct {
	header session.Header
	root   int      // which of the roots; -1: registered in this process
	words  []string // that this session alone holds: of its title, its texts, its tool
	flaw   string   // what is wrong with its log; ""
}

// world is a random corpus as a list, from which a folder of logs is made: all of
// it, or the part that one caller may see.
type world struct {
	seed  uint64
	specs []*spec
}

// marker makes a word that nothing else holds.
func marker(r *rand.Rand) string {
	word := []byte("qz")
	for range 9 {
		word = append(word, "abcdefghijklmnopqrstuvwxyz"[r.IntN(26)])
	}
	return string(word)
}

// places are workspaces that are easily taken for one another. What the folder of
// a DSH log is called does not tell some of them apart.
var places = []string{
	"/w/app", "/w/app/", "/w/app2", "/w/App", "/w", "/w/app/sub", "/w-app", "/w/ap", `C:\w\app`, `c:\w\app`, "C:/w/app", "/v/app", "/w/./app",
	"/w/app/../app", "/", "/w/ａｐｐ", "/w/e\u0301", "/w/\u00e9", "",
}

// newWorld makes a world out of a seed.
func newWorld(seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 0))
	w := &world{seed: seed}
	here := slices.Clone(places)
	r.Shuffle(len(here), func(i, j int) { here[i], here[j] = here[j], here[i] })
	here = here[:4+r.IntN(5)]
	taken := map[string]bool{} // of one root: folder and id
	for range 12 + r.IntN(24) {
		s := &spec{root: r.IntN(4) - 1, words: []string{marker(r), marker(r), marker(r), marker(r)}}
		s.header = session.Header{Agent: session.DSH, Cwd: here[r.IntN(len(here))], CreatedAt: int64(1_772_000_000_000 + r.IntN(3)*1000)}
		id := marker(r)
		var other *spec
		if len(w.specs) > 0 {
			other = w.specs[r.IntN(len(w.specs))]
		}
		switch k := r.IntN(12); {
		case other != nil && k < 3:
			id = string(other.header.ID) // in another workspace, another root, or a contradiction
		case other != nil && k == 3:
			id = string(other.header.Key().String())
		case other != nil && k == 4:
			id = string(other.header.ID) + "/agent-" + id
		case k == 5:
			id = "../../" + id + "/etc"
		case k == 6:
			id = `C:\` + id + "\n" + id
		case k == 7:
			id = "%2e%2e%2f" + id + "?in=0"
		}
		s.header.ID = session.ID(id)
		if other != nil && r.IntN(2) == 0 {
			s.header.ParentSession = other.header.ID
		}
		switch r.IntN(12) {
		case 0:
			s.header.ParentSession = session.ID(marker(r)) // of nobody
		case 1:
			s.header.ParentSession = s.header.ID
		case 2:
			if other != nil {
				other.header.ParentSession = s.header.ID // later made than its child: rings come of it
			}
		}
		if s.header.ParentSession != "" && r.IntN(3) == 0 {
			s.header.SeedLength = 1
		}
		switch r.IntN(14) {
		case 0:
			s.flaw = "a line that is none"
		case 1:
			s.flaw = "a torn end"
		case 2:
			s.flaw = "another header behind the first"
		case 3:
			s.flaw = "an unknown version"
		case 4:
			s.flaw = "an open turn"
		}
		if s.root < 0 {
			s.flaw = ""
		}
		if s.root == 2 { // Claude Code: the file's name is the id
			s.header.Agent, s.flaw, s.header.SeedLength = session.Claude, "", 0
			s.header.ParentSession = ""
			if strings.ContainsAny(string(s.header.ID), "/\\\n%:") || s.header.Cwd == "" {
				s.header.ID, s.header.Cwd = session.ID(marker(r)), "/w/app"
			}
		}
		place := strings.ToLower(fmt.Sprint(s.root, s.path()))
		if s.root < 0 {
			place = fmt.Sprintf("%q", s.header.Cwd+string(s.header.ID))
		}
		if taken[place] {
			continue
		}
		taken[place] = true
		w.specs = append(w.specs, s)
	}
	return w
}

// folder and segment are what DSH calls the folders of a workspace and of a session.
func folder(cwd string) string {
	if cwd == "" {
		return "_no-cwd"
	}
	var b strings.Builder
	for i, c := range []byte(cwd) {
		switch {
		case !strings.ContainsRune(`/\:`, rune(c)):
			b.WriteByte(c)
		case i == 0 || !strings.ContainsRune(`/\:`, rune(cwd[i-1])):
			b.WriteByte('-')
		}
	}
	name := segment(strings.TrimLeft(b.String(), "-"))
	if name == "" {
		name = "root"
	}
	return "--" + name + "--"
}

func segment(text string) string {
	var b strings.Builder
	for _, c := range text {
		if c < 0x80 && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-", c)) {
			b.WriteRune(c)
			continue
		}
		fmt.Fprintf(&b, "~%04X", c)
	}
	return b.String()
}

func quote(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

// events are the lines of a DSH log behind its header.
func (s *spec) events() []string {
	lines := []string{
		`{"type":"turn/start","seq":0,"time":1772442001000,"data":{"turn":1}}`,
		fmt.Sprintf(`{"type":"user/message","seq":1,"time":1772442002000,"data":{"id":"u-1","role":"user","content":[{"type":"text","text":%s}],"source":{"kind":"user"}},"surfaceOp":"append"}`, quote("please mend the zephyr "+s.words[0]+" now")),
		fmt.Sprintf(`{"type":"session/title","seq":2,"time":1772442003000,"data":{"title":%s,"messageSeqs":[1],"source":{"kind":"fallback"}}}`, quote("Zephyr of "+s.words[1])),
		`{"type":"step/start","seq":3,"time":1772442004000,"data":{"turn":1,"step":1}}`,
		fmt.Sprintf(`{"type":"assistant/message","seq":4,"time":1772442005000,"data":{"turn":1,"step":1,"message":{"id":"a-4","role":"assistant","content":[{"type":"text","text":%s}],"source":{"kind":"model","provider":"acme","model":"acme-large"}}},"surfaceOp":"append"}`, quote("the zephyr is mended "+s.words[2])),
		fmt.Sprintf(`{"type":"tool/call","seq":5,"time":1772442006000,"data":{"turn":1,"step":1,"callId":"c-1","name":%s,"arguments":"{\"zephyr\":1}"}}`, quote(s.words[3])),
		`{"type":"step/end","seq":6,"time":1772442007000,"data":{"turn":1,"step":1}}`,
		`{"type":"turn/end","seq":7,"time":1772442008000,"data":{"turn":1,"reason":{"kind":"completed"}}}`,
	}
	switch s.flaw {
	case "a line that is none":
		lines[4] = `{"type":"assistant/message",` + s.words[2]
	case "an open turn":
		lines = lines[:6]
	case "another header behind the first":
		lines = append(lines, `{"type":"session","version":0,"id":"forged","createdAt":1,"cwd":"/w/app","delegationDepth":0,"ignorable":true,"seq":8,"time":1772442009000,"data":{}}`)
	case "a torn end":
		lines = append(lines, `{"type":"user/message","seq":8,"time":17724`)
	}
	return lines
}

// text is the session's log as its agent writes it.
func (s *spec) text() string {
	if s.header.Agent == session.Claude {
		head := fmt.Sprintf(`"sessionId":%s,"cwd":%s,"version":"2.1.29","isSidechain":false,"userType":"external"`, quote(string(s.header.ID)), quote(s.header.Cwd))
		return fmt.Sprintf(`{"type":"user","uuid":"u-1","parentUuid":null,%s,"timestamp":"2026-03-02T09:00:00.000Z","message":{"role":"user","content":%s}}`, head, quote("zephyr "+s.words[0]+" "+s.words[1])) + "\n" +
			fmt.Sprintf(`{"type":"assistant","uuid":"a-1","parentUuid":"u-1",%s,"timestamp":"2026-03-02T09:00:01.000Z","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":%s},{"type":"tool_use","id":"t1","name":%s,"input":{"zephyr":1}}]}}`, head, quote("zephyr "+s.words[2]), quote(s.words[3])) + "\n"
	}
	version := 0
	if s.flaw == "an unknown version" {
		version = 7
	}
	header := fmt.Sprintf(`{"type":"session","version":%d,"id":%s,"createdAt":%d,"delegationDepth":0`, version, quote(string(s.header.ID)), s.header.CreatedAt)
	if s.header.Cwd != "" {
		header += `,"cwd":` + quote(s.header.Cwd)
	}
	if s.header.ParentSession != "" {
		header += `,"parentSession":` + quote(string(s.header.ParentSession))
	}
	if s.header.SeedLength > 0 {
		header += fmt.Sprintf(`,"seedLength":%d`, s.header.SeedLength)
	}
	text := header + "}\n" + strings.Join(s.events(), "\n")
	if s.flaw != "a torn end" {
		text += "\n"
	}
	return text
}

// path is where the session's log lies below its root.
func (s *spec) path() string {
	if s.header.Agent == session.Claude {
		return filepath.Join("project", string(s.header.ID)+".jsonl")
	}
	return filepath.Join(folder(s.header.Cwd), segment(string(s.header.ID)), "session.jsonl")
}

// roots are the sources of a world that lies in a folder.
func roots(dir string) []yore.Source {
	return []yore.Source{
		{Agent: session.DSH, Root: filepath.Join(dir, "0")}, {Agent: session.DSH, Root: filepath.Join(dir, "1")}, {Agent: session.Claude, Root: filepath.Join(dir, "2")},
	}
}

// write writes the logs of those sessions that some caller may see; all: everything,
// and files that are nobody's.
func (w *world) write(t testing.TB, dir string, sees func(session.Header) bool) {
	t.Helper()
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		if err := os.MkdirAll(filepath.Join(dir, fmt.Sprint(i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range w.specs {
		if s.root >= 0 && (sees == nil || sees(s.header)) {
			put(filepath.Join(dir, fmt.Sprint(s.root), s.path()), s.text())
		}
	}
	if sees == nil {
		put(filepath.Join(dir, "0", "--w-app--", "nobody", "session.jsonl"), "no header "+nobody+"\n")
		put(filepath.Join(dir, "1", "--w-app--", "elsewhere", "session.jsonl"), `{"type":"session","version":0,"id":"`+nobody+`","createdAt":1,"cwd":"/w/nobody","delegationDepth":0}`+"\n")
		put(filepath.Join(dir, "2", "project", "nobody.jsonl"), `{"type":"user","message":"`+nobody+"\n")
	}
}

// nobody is a word of files that are no session's.
const nobody = "qznobodysword"

// register registers the sessions that live in the process.
func (w *world) register(t testing.TB, h *yore.History, sees func(session.Header) bool) {
	t.Helper()
	for _, s := range w.specs {
		if s.root >= 0 || sees != nil && !sees(s.header) {
			continue
		}
		l, err := h.Register(s.header)
		if err != nil {
			continue // its workspace is no absolute path, or it is registered already
		}
		for _, line := range s.events() {
			if err := l.Append([]byte(line)); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
		}
	}
}

// open opens a world, or what of it may be seen, as a host does.
func (w *world) open(t testing.TB, dir string, sees func(session.Header) bool) *yore.History {
	t.Helper()
	w.write(t, dir, sees)
	h, err := yore.Open(t.Context(), yore.Options{Sources: roots(dir), IndexDir: filepath.Join(dir, "index")})
	if err != nil {
		t.Fatal(err)
	}
	w.register(t, h, sees)
	return h
}
