package openclaw

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// leafTo is a leaf control that hangs on parent; more are further members.
func leafTo(id, parent, target, more string) string {
	t := `null`
	if target != "" {
		t = `"` + target + `"`
	}
	return fmt.Sprintf(`{"type":"leaf","id":%q,"parentId":%q,"targetId":%s%s,%s}`, id, parent, t, more, at)
}

// loose is a message that does not say what it hangs on.
func loose(id, text string) string {
	return strings.Replace(user(id, "", text), `"parentId":null,`, "", 1)
}

// Where entries go that a control, an aside or a reset came before. By the rules of
// the agent's own loader, worked out by hand.
func TestSteering(t *testing.T) {
	root := t.TempDir()
	hi, one := user("a", "", "hi"), assistant("b", "a", "one")
	for name, c := range map[string]struct {
		entries []string
		want    []string
	}{
		"a control that chooses a control": {
			[]string{hi, one, leafTo("l", "b", "a", ""), leafTo("m", "b", "l", ""), assistant("c", "m", "two")},
			[]string{"user/message hi", "assistant/message two"},
		},
		"what hangs on a control in vain hangs on what that hangs on": {
			[]string{hi, one, leafTo("l", "a", "zz", ""), assistant("c", "l", "two")},
			[]string{"user/message hi", "assistant/message two"},
		},
		"nothing is chosen, and the next does not say where it goes": {
			[]string{hi, leafTo("l", "a", "", ""), loose("b", "anew")}, []string{"user/message anew"},
		},
		"an earlier leaf is chosen, and the next does not say where it goes": {
			[]string{hi, one, leafTo("l", "b", "a", ""), loose("c", "more")}, []string{"user/message hi", "user/message more"},
		},
		"a control leaves a place to append to that is not its leaf": {
			[]string{hi, one, leafTo("l", "b", "a", `,"appendParentId":"b"`), user("c", "b", "more")},
			[]string{"user/message hi", "user/message more"},
		},
		"that place is for one entry": {
			[]string{hi, one, leafTo("l", "b", "a", `,"appendParentId":"b"`), user("c", "b", "more"), user("d", "b", "back")},
			[]string{"user/message hi", "assistant/message one", "user/message back"},
		},
		"a later control takes that place back": {
			[]string{hi, one, leafTo("l", "b", "a", `,"appendParentId":"b"`), leafTo("m", "l", "a", ""), user("c", "b", "more")},
			[]string{"user/message hi", "assistant/message one", "user/message more"},
		},
		"a place that is not there: nothing changes": {
			[]string{hi, one, leafTo("l", "b", "a", `,"appendParentId":"zz"`), loose("c", "more")},
			[]string{"user/message hi", "assistant/message one", "user/message more"},
		},
		"no place to append to: the next goes where it says": {
			[]string{hi, one, leafTo("l", "b", "a", `,"appendParentId":null`), user("c", "b", "more")},
			[]string{"user/message hi", "assistant/message one", "user/message more"},
		},
		"what is appended behind an aside goes on at the leaf": {
			[]string{hi, one, aside("s", "a"), user("c", "s", "more")},
			[]string{"user/message hi", "assistant/message one", "user/message more"},
		},
		"a control takes an aside in": {
			[]string{hi, one, aside("s", "a"), leafTo("l", "b", "s", "")}, []string{"user/message hi", "assistant/message aside"},
		},
		"an older parent behind a reset": {
			[]string{hi, one, resetAt("r", "b"), user("c", "r", "new"), user("d", "a", "late")},
			[]string{"user/message new", "user/message late"},
		},
		"the second of two resets counts": {
			[]string{hi, resetAt("r", "a"), user("c", "r", "between"), resetAt("q", "c"), user("d", "q", "new"), user("e", "c", "late")},
			[]string{"user/message new", "user/message late"},
		},
		"no id": {
			[]string{hi, one, strings.Replace(user("", "a", "more"), `"id":"",`, "", 1)},
			[]string{"user/message hi", "assistant/message one", "user/message more"},
		},
		"a parent that is not there": {
			[]string{hi, one, user("c", "zz", "more")}, []string{"user/message hi", "assistant/message one", "user/message more"},
		},
		"null is a root": {[]string{hi, one, user("c", "", "anew")}, []string{"user/message anew"}},
	} {
		t.Run(name, func(t *testing.T) { shows(t, root, name, c.entries, c.want) })
	}
}

func aside(id, parent string) string {
	return strings.Replace(assistant(id, parent, "aside"), `{"type"`, `{"appendMode":"side","type"`, 1)
}

func resetAt(id, parent string) string {
	return fmt.Sprintf(`{"type":"reset","id":%q,"parentId":%q,%s}`, id, parent, at)
}

// Which types become the leaf: the context then ends with them, where they hang.
func TestLeaves(t *testing.T) {
	root := t.TempDir()
	hi := "user/message hi"
	for kind, c := range map[string]struct {
		more string
		want []string
	}{
		"thinking_level_change": {`,"thinkingLevel":"high"`, []string{hi}},
		"model_change":          {`,"provider":"p","modelId":"m"`, []string{hi}},
		"label":                 {`,"targetId":"a","label":"here"`, []string{hi}},
		"session_info":          {`,"name":"A name"`, []string{hi}},
		"custom":                {`,"customType":"x","data":{}`, []string{hi}},
		"custom_message":        {`,"customType":"x","content":"told","display":true`, []string{hi, "user/message told"}},
		"branch_summary":        {`,"fromId":"b","summary":"left behind"`, []string{hi, "user/message left behind"}},
		"compaction":            {`,"summary":"sum","firstKeptEntryId":"a","tokensBefore":9`, []string{"user/message sum", hi}},
		"context_edit":          {`,"targetId":"a","replacement":null`, nil},
		"reset":                 {``, nil},
		"checkpoint":            {``, []string{hi, "assistant/message one"}}, // nobody's type
	} {
		t.Run(kind, func(t *testing.T) {
			entry := fmt.Sprintf(`{"type":%q,"id":"x","parentId":"a"%s,%s}`, kind, c.more, at)
			shows(t, root, kind, []string{user("a", "", "hi"), assistant("b", "a", "one"), entry}, c.want)
		})
	}
}

// Of a long session a position keeps the end alone; what steers goes back behind
// that all the same, and so does an older parent.
func TestSteeringALongSession(t *testing.T) {
	const long = 4000
	c := newClaw(t)
	c.start("s1", "k", 1000)
	c.exec(`BEGIN`)
	parent := ""
	for i := range long {
		id := fmt.Sprintf("m%d", i)
		c.add("s1", user(id, parent, id))
		parent = id
	}
	c.exec(`COMMIT`)
	events, tail := read(t, c.sources()["s1"], reader.Position{})
	if len(tail.Position.State) > 48<<10 {
		t.Fatalf("a position of %d bytes", len(tail.Position.State))
	}
	for _, step := range []struct {
		entry string
		want  []string
	}{
		{leafTo("l", parent, "m1", ""), []string{"user/message m0", "user/message m1"}},
		{loose("n", "next"), []string{"user/message m0", "user/message m1", "user/message next"}},
		{aside("s", "m0"), []string{"user/message m0", "user/message m1", "user/message next"}},
		{user("o", "s", "behind"), []string{"user/message m0", "user/message m1", "user/message next", "user/message behind"}},
		{user("p", "m0", "back"), []string{"user/message m0", "user/message back"}},
		{resetAt("r", "p"), nil},
		{user("q", "m2", "late"), []string{"user/message late"}},
	} {
		c.add("s1", step.entry)
		more, next := read(t, c.sources()["s1"], tail.Position)
		events, tail = append(events, more...), next
		if diff := cmp.Diff(step.want, current(t, events)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", step.entry, diff)
		}
	}
	again, _ := read(t, c.sources()["s1"], reader.Position{})
	if diff := cmp.Diff(again, events); diff != "" {
		t.Errorf("step by step (-at once +in steps):\n%s", diff)
	}
	// From a mark in its midst a window gives the same.
	var raws []session.Raw
	_, err := New().Window(context.Background(), c.sources()["s1"], session.Checkpoint{}, int64(len(events)-2), session.MaxSafe, session.Every(), func(r session.Raw) error {
		raws = append(raws, r)
		return nil
	})
	if err != nil || len(raws) != 2 || raws[1].Event.Seq != int64(len(events)-1) {
		t.Errorf("%d raws, %v", len(raws), err)
	}
}
