package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/session"
)

// A crowd is many small logs as three agents lay them out, of which one
// workspace has a few: what a start costs among everything that a machine has
// gathered in years. Folders and files are old, as almost all of them are.

// crowded is the workspace that searches are made in.
const crowded = "/home/dev/work/project-00"

// crowd describes the logs of the three agents.
type crowd struct {
	home  string
	files int       // in all
	own   int       // of these, in the crowded workspace
	now   time.Time // when the youngest was written
	made  int
	inOwn int
}

// sources returns where the three agents keep their logs below a home.
func sourcesIn(home string) []yore.Source {
	return []yore.Source{
		{Agent: session.DSH, Root: filepath.Join(home, "dsh")},
		{Agent: session.Claude, Root: filepath.Join(home, "claude", "projects")},
		{Agent: session.Codex, Root: filepath.Join(home, "codex")},
	}
}

// write lays the logs down: two fifths DSH, two fifths Claude Code (of which a
// fifth are subagents in folders of their own), one fifth Codex in a folder for
// each day.
func (c *crowd) write() error {
	for i := range c.files {
		ours := (i+i/40)*c.own%c.files < c.own && c.inOwn < c.own
		cwd := crowded
		if !ours {
			cwd = fmt.Sprintf("/home/dev/work/project-%04d", 1+i/8%1200)
		}
		// The i-th oldest of some three years.
		at := c.now.Add(-time.Duration(c.files-i) * (26_000 * time.Hour / time.Duration(c.files)))
		var err error
		switch c.made++; {
		case i%5 < 2:
			err = c.dsh(i, cwd, at)
		case i%5 < 4:
			err = c.claude(i, cwd, at)
		default:
			err = c.codex(i, cwd, at)
		}
		if err != nil {
			return err
		}
		if ours {
			c.inOwn++
		}
	}
	return c.age()
}

// text is what a log of the crowd says; one of the workspace holds a phrase.
func text(i int, cwd string) string {
	if cwd == crowded {
		return fmt.Sprintf("question %d about the walnut gazebo", i)
	}
	return fmt.Sprintf("question %d about something else", i)
}

func (c *crowd) dsh(i int, cwd string, at time.Time) error {
	id := fmt.Sprintf("5ae95ec4-17f2-4aef-bcb9-%012x", i)
	header := fmt.Sprintf(`{"type":"session","version":0,"id":%q,"createdAt":%d,"cwd":%q,"delegationDepth":0}`, id, at.UnixMilli(), cwd)
	message := fmt.Sprintf(`{"type":"user/message","seq":0,"time":%d,"data":{"id":"u-0","role":"user","content":[{"type":"text","text":%q}],"source":{"kind":"user"}},"surfaceOp":"append"}`,
		at.UnixMilli(), text(i, cwd))
	folder := "--" + strings.ReplaceAll(strings.TrimPrefix(cwd, "/"), "/", "-") + "--"
	return put(at, header+"\n"+message+"\n", c.home, "dsh", folder, id, "session.jsonl")
}

func (c *crowd) claude(i int, cwd string, at time.Time) error {
	id, side, extra := fmt.Sprintf("7624157f-e99f-4018-9d2b-%012x", i), "false", ""
	parts := []string{c.home, "claude", "projects", strings.ReplaceAll(cwd, "/", "-")}
	if i%25 < 5 {
		// The session that it belongs to need not be there any more.
		side, extra = "true", fmt.Sprintf(`"agentId":"a%016x",`, i)
		parts = append(parts, id, "subagents", fmt.Sprintf("agent-a%016x.jsonl", i))
	} else {
		parts = append(parts, id+".jsonl")
	}
	stamp := at.UTC().Format("2006-01-02T15:04:05.000Z")
	line := func(n int, typ, parent, role, content string) string {
		return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":%s,%s"type":%q,"message":{"role":%q,"content":%s},"uuid":"%08x-0000-4000-8000-%012x","timestamp":%q,"userType":"external","cwd":%q,"sessionId":%q,"version":"2.1.0","gitBranch":"main"}`+"\n",
			parent, side, extra, typ, role, content, n, i, stamp, cwd, id)
	}
	log := line(1, "user", "null", "user", fmt.Sprintf("%q", text(i, cwd)))
	log += line(2, "assistant", fmt.Sprintf(`"%08x-0000-4000-8000-%012x"`, 1, i), "assistant", `[{"type":"text","text":"An answer."}]`)
	return put(at, log, parts...)
}

func (c *crowd) codex(i int, cwd string, at time.Time) error {
	ms := at.UnixMilli()
	id := fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, i)
	stamp := at.UTC().Format("2006-01-02T15:04:05.000Z")
	log := fmt.Sprintf(`{"timestamp":%q,"type":"session_meta","payload":{"id":%q,"timestamp":%q,"cwd":%q,"originator":"codex_exec","cli_version":"0.171.0","source":"exec","model_provider":"mock"}}`+"\n",
		stamp, id, stamp, cwd)
	log += fmt.Sprintf(`{"timestamp":%q,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}}`+"\n", stamp, text(i, cwd))
	log += fmt.Sprintf(`{"timestamp":%q,"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"An answer."}]}}`+"\n", stamp)
	day := at.UTC()
	return put(at, log, c.home, "codex", "sessions", day.Format("2006"), day.Format("01"), day.Format("02"),
		"rollout-"+day.Format("2006-01-02T15-04-05")+"-"+id+".jsonl")
}

// put writes a file that is as old as it says.
func put(at time.Time, content string, parts ...string) error {
	path := filepath.Join(parts...)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	if err == nil {
		err = os.Chtimes(path, at, at)
	}
	return err
}

// age makes every folder as old as the youngest thing in it.
func (c *crowd) age() error {
	_, err := ageFolder(c.home)
	return err
}

func ageFolder(dir string) (latest time.Time, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return latest, err
	}
	for _, e := range entries {
		var at time.Time
		if e.IsDir() {
			at, err = ageFolder(filepath.Join(dir, e.Name()))
		} else if info, failed := e.Info(); failed == nil {
			at = info.ModTime()
		} else {
			err = failed
		}
		if err != nil {
			return latest, err
		}
		if at.After(latest) {
			latest = at
		}
	}
	return latest, os.Chtimes(dir, latest, latest)
}
