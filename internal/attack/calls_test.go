package attack

import (
	"encoding/json"
	"math/rand/v2"
	"strings"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/session"
)

// asker makes up callers and calls.
type asker struct {
	*rand.Rand
	world   *world
	callers []authz.Caller // who calls mostly
	now     authz.Caller   // who calls now
}

func newAsker(w *world, seed uint64) *asker {
	a := &asker{Rand: rand.New(rand.NewPCG(w.seed, seed)), world: w}
	for range 5 {
		a.callers = append(a.callers, a.anybody())
	}
	return a
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// spec picks a session: every other time one that the caller may see.
func (a *asker) spec() *spec {
	for tries := a.IntN(2) * 20; ; tries-- {
		if s := pick(a.Rand, a.world.specs...); tries <= 0 || visible(a.now, s.header) {
			return s
		}
	}
}

// caller makes up who calls.
func (a *asker) caller() authz.Caller {
	if a.now = pick(a.Rand, a.callers...); a.IntN(60) == 0 {
		a.now = a.anybody()
	}
	return a.now
}

// anybody is mostly somebody of a workspace that exists.
func (a *asker) anybody() authz.Caller {
	s := a.spec()
	c := authz.Caller{Workspace: s.header.Cwd}
	key := s.header.Key()
	switch a.IntN(12) {
	case 0, 9:
		c.Session = &key
	case 1: // a session of somewhere else, as likely as not
		key = a.spec().header.Key()
		c.Session = &key
	case 2: // one that nobody has
		key.ID = session.ID(marker(a.Rand))
		c.Session = &key
	case 3:
		c.Workspace = pick(a.Rand, places...)
	case 4:
		c.Workspace, c.Session = "", &key
	case 5:
		if a.IntN(4) == 0 {
			c.Workspace = ""
		}
	}
	return c
}

// id makes up a text that names a session, or seems to.
func (a *asker) id() string {
	h := a.spec().header
	id := string(h.ID)
	switch a.IntN(20) {
	case 0:
		return h.Key().String()
	case 1:
		return string(session.Claude) + ":" + id
	case 2:
		return id[:1+a.IntN(len(id))]
	case 3:
		return strings.ToUpper(id)
	case 4:
		return id + pick(a.Rand, "/", " ", "\x00", "/agent-1", ".jsonl", "*", "%", "' OR '1'='1")
	case 5:
		return h.Cwd + "/" + id
	case 6:
		return pick(a.Rand, "", ".", "..", "*", "%", "_", "dsh:", ":", "../"+id, "--w-app--/"+id+"/session.jsonl", "missing")
	case 7:
		return string(h.ParentSession)
	}
	return id
}

// words makes up what is looked for.
func (a *asker) words() string {
	s := a.spec()
	switch a.IntN(10) {
	case 0:
		return pick(a.Rand, s.words...)
	case 1:
		return pick(a.Rand, s.words...) + " " + pick(a.Rand, a.spec().words...)
	case 2:
		return "zephyr " + s.words[0]
	case 3:
		return string(s.header.ID)
	case 4:
		return s.words[0][:5]
	case 5:
		return pick(a.Rand, "", " ", "\x00", "qz*", "qz%", `"zephyr`, "zephyr OR qz", "NEAR(zephyr)", strings.Repeat("zephyr ", 70), "mended the", "*")
	}
	return pick(a.Rand, "zephyr", "the zephyr", "mended", "please mend", "zephyr is mended", "1")
}

func (a *asker) some(value func() any) []any {
	var list []any
	for range a.IntN(4) {
		list = append(list, value())
	}
	if len(list) == 0 && a.IntN(4) > 0 {
		list = append(list, value())
	}
	return list
}

// call makes up a call of a tool.
func (a *asker) call() (tool string, raw json.RawMessage) {
	tool = pick(a.Rand, "session_search", "session_search", "session_search", "session_event_search", "session_trace", "session_event_trace", "session_event_read", "session_event_read")
	args := map[string]any{}
	maybe := func(name string, chance int, value any) {
		if a.IntN(chance) == 0 {
			args[name] = value
		}
	}
	id := func() any { return a.id() }
	at := func() any {
		return pick(a.Rand, "2026-02-25T06:13:20Z", "2026-03-02T09:00:02.000Z", "2026-02-25T06:13:21.000+00:00", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "yesterday", "")
	}
	number := func() any { return pick[any](a.Rand, 0, 1, 2, 3, 4, 5, 7, 8, 50, -1, 1.5, 1e300, "1", nil) }
	switch tool {
	case "session_search":
		args["query"] = a.words()
		maybe("session_ids", 3, a.some(id))
		maybe("parent_session_ids", 3, a.some(id))
		maybe("include_root_sessions", 6, pick[any](a.Rand, true, false))
		maybe("availability", 6, pick[any](a.Rand, []string{"live"}, []string{"persisted"}, []string{}, "live"))
		maybe("created_at_from", 9, at())
		maybe("created_at_to", 9, at())
		maybe("event_seq_from", 9, number())
		maybe("event_seq_to", 9, number())
		maybe("event_types", 9, []string{pick(a.Rand, "user/message", "tool/call", "session", "*")})
		maybe("event_surfaces", 9, []string{pick(a.Rand, "current", "shadowed", "log-only")})
		maybe("match", 6, pick[any](a.Rand, "literal", "auto", "sql"))
	case "session_event_search":
		args["query"] = a.words()
		args["session_id"] = a.id()
		maybe("seq_from", 6, number())
		maybe("seq_to", 6, number())
		maybe("time_from", 9, at())
		maybe("surfaces", 9, []string{"current"})
	case "session_event_read", "session_event_trace":
		if args["seq"] = a.IntN(8); a.IntN(3) == 0 {
			args["seq"] = number()
		}
		fallthrough
	default:
		args["session_id"] = a.id()
		maybe("before", 4, number())
		maybe("after", 4, number())
	}
	if a.IntN(15) == 0 {
		delete(args, "session_id")
	}
	if a.IntN(8) == 0 { // what no tool has, and what a caller might wish for
		other := a.spec().header
		args[pick(a.Rand, "cwd", "workspace", "workspaces", "caller", "all", "owner", "policy", "cursor", "limit", "_meta", "sessionId")] =
			pick[any](a.Rand, other.Cwd, true, string(other.ID), []string{other.Cwd}, map[string]any{"workspace": other.Cwd})
	}
	raw, _ = json.Marshal(args)
	switch a.IntN(40) {
	case 0:
		tool = pick(a.Rand, "session_list", "", "session_search\x00", "../session_trace", "sql")
	case 1:
		raw = json.RawMessage(pick(a.Rand, `null`, `[]`, `"x"`, `{`, `{"query":"zephyr","query":"mended"}`, `{"session_id":null}`, `{"session_id":["`+a.spec().words[0]+`"]}`))
	}
	return tool, raw
}
