package claude

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each case is a transcript, the events it must give, written by hand, and the
// ids that must be on the surface at the end.
func TestTraps(t *testing.T) {
	hello := user("u1", "", "hello")
	yes := answer("a1", "u1", "m1", textBlock("yes"))
	const (
		helloEvent = `user/message append title="hello" human: hello`
		yesEvent   = `assistant/message append step assistant: yes`
	)
	for _, c := range []struct {
		name    string
		text    string
		want    []string
		surface []string
	}{
		{
			"glued records are two events",
			hello.String() + yes.String() + "\n" + meta("mode", object{"mode": "x"}).String() + "\n",
			[]string{helloEvent, yesEvent, "claude/mode"}, []string{"u1", "a1"},
		},
		{
			"a torn record and what is glued to it is one event without text",
			lines(hello) + yes.String()[:60] + yes.String() + "\n" + lines(answer("a2", "u1", "m2", textBlock("no"))),
			[]string{helloEvent, "x/unparsed", "assistant/message append step assistant: no"}, []string{"u1", "a2"},
		},
		{
			"a torn record behind a whole one",
			hello.String() + `{"type":"us` + "\n" + lines(yes),
			[]string{helloEvent, "x/unparsed", yesEvent}, []string{"u1", "a1"},
		},
		{
			"NULs around a record go, nothing but NULs is a record that cannot be read; blank lines are none",
			"\x00\x00" + hello.String() + "\x00\n\x00\x00\x00\n\n \t\r\n" + lines(yes),
			[]string{helloEvent, "x/unparsed", yesEvent}, []string{"u1", "a1"},
		},
		{
			"a byte order mark and CRLF",
			"\xef\xbb\xbf" + strings.ReplaceAll(lines(hello, yes), "\n", "\r\n"),
			[]string{helloEvent, yesEvent}, []string{"u1", "a1"},
		},
		{
			"values that are no records, records without a type, content of any kind",
			"17\n[1]\n" + `{"a":1}` + "\n" + `{"type":7,"uuid":{}}` + "\n" +
				`{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":7}}` + "\n" +
				`{"type":"user","uuid":"u2","parentUuid":"u1","message":[]}` + "\n" +
				`{"type":"assistant","uuid":"a1","parentUuid":"u2","message":{"content":[7,null,{"type":"text"},{"type":"tool_use"}]}}` + "\n" +
				`{"type":"attachment","uuid":"t1","parentUuid":"a1","attachment":"?"}` + "\n",
			[]string{
				"x/unparsed", "x/unparsed", "claude/unknown", "claude/unknown", "user/message append", "user/message append",
				"assistant/message append", "tool/call", "user/message append",
			},
			[]string{"u1", "u2", "a1", "t1"},
		},
		{
			"the last line without a newline is taken when it is whole",
			lines(hello) + yes.String(), []string{helloEvent, yesEvent}, []string{"u1", "a1"},
		},
		{
			"of an unfinished line the records that are whole are taken",
			lines(hello) + yes.String() + `{"type":`, []string{helloEvent, yesEvent}, []string{"u1", "a1"},
		},
		{
			"a record written twice is noted",
			lines(hello, yes, yes, user("u2", "a1", "more")),
			[]string{helloEvent, yesEvent, "claude/assistant/again", "user/message append human: more"}, []string{"u1", "a1", "u2"},
		},
		{
			"a record written twice with other words is replaced",
			lines(hello, yes, answer("a1", "u1", "m1", textBlock("perhaps"))),
			[]string{helloEvent, yesEvent, "assistant/message replace 1-1 of [1] assistant: perhaps"}, []string{"u1", "a1"},
		},
		{
			"a dead record written again with other words has them, and takes no place",
			lines(hello, yes, user("u2", "", "new"), answer("a1", "u1", "m1", textBlock("perhaps")), answer("a1", "u1", "m1", textBlock("perhaps"))),
			[]string{
				helloEvent, yesEvent, "claude/clear select -1 []", "user/message append human: new",
				"claude/assistant/again assistant: perhaps", "claude/assistant/again",
			},
			[]string{"u2"},
		},
		{
			"a dead record written again below a live one comes back",
			lines(hello, yes, compactBoundary("b", object{}), compactSummary("s", "b", "sum"), answer("a1", "s", "m1", textBlock("yes"))),
			[]string{
				helloEvent, yesEvent, "compaction/summary", "user/message replace 0-1 of [0 1] summary: sum",
				"claude/assistant/again select 3 [1]",
			},
			[]string{"s", "a1"},
		},
		{
			"inline sidechains are told elsewhere, but for what belongs to no subagent",
			lines(hello, user("x1", "", "task", object{"isSidechain": true}),
				with(answer("x2", "x1", "mx", textBlock("done")), []object{{"isSidechain": true}}), yes,
				rec{"attachment", "x3", "nowhere", object{"isSidechain": true, "attachment": object{"type": "file", "content": "stray"}}}),
			[]string{helloEvent, "claude/sidechain/user", "claude/sidechain/assistant", yesEvent, "claude/sidechain/attachment injected: stray"},
			[]string{"u1", "a1"},
		},
		{
			"messages that a fallback withdraws leave the surface, and no rewind brings them back",
			lines(hello, yes, user("u2", "a1", "more"),
				rec{"system", "f", "u2", object{"subtype": "model_refusal_fallback", "retractedMessageUuids": []string{"a1", "nowhere"}}},
				user("u3", "a1", "otherwise"), user("u4", "u2", "and back")),
			[]string{
				helloEvent, yesEvent, "user/message append human: more", "claude/system/model_refusal_fallback", "claude/retract select 0 [2]",
				"claude/rewind select 0 []", "user/message append human: otherwise", "claude/branch select 0 [2]",
				"user/message append human: and back",
			},
			[]string{"u1", "u2", "u4"},
		},
		{
			"virtual records, error replies and hidden attachments stay off the surface",
			lines(hello, user("v", "u1", "shown only", object{"isVirtual": true}),
				rec{"assistant", "e", "u1", object{"isApiErrorMessage": true, "message": object{"model": "<synthetic>", "content": []object{textBlock("overloaded")}}}},
				rec{"attachment", "h", "e", object{"attachment": object{"type": "thinking_drop"}}}),
			[]string{
				helloEvent, "claude/user/virtual human: shown only", "claude/assistant/api-error assistant: overloaded",
				"claude/attachment/thinking_drop",
			},
			[]string{"u1"},
		},
		{
			"a filler made on resume trims what came after its parent and has no text",
			lines(hello, yes, user("u2", "a1", "more"), user("u3", "u2", "and more"),
				rec{"assistant", "f", "a1", object{"message": object{"id": "mf", "model": "<synthetic>", "content": []object{textBlock("No response requested.")}}}}),
			[]string{
				helloEvent, yesEvent, "user/message append human: more", "user/message append human: and more",
				"claude/resume-trim select 1 []", "assistant/message append step",
			},
			[]string{"u1", "a1", "f"},
		},
		{
			"hook progress is part of the tree",
			lines(hello, rec{"progress", "p", "u1", object{"data": object{"type": "hook_progress"}}}, answer("a1", "p", "m1", textBlock("yes"))),
			[]string{helloEvent, "claude/progress/hook_progress", yesEvent}, []string{"u1", "a1"},
		},
		{
			"reasoning and images give nothing, and each block is one event at most",
			lines(hello,
				answer("a1", "u1", "m1", object{"type": "thinking", "thinking": "secret"}, object{"type": "redacted_thinking", "data": "x"}),
				answer("a2", "a1", "m1", textBlock("look"), callBlock("c1", "Bash", object{"command": "ls"})),
				blocks("r1", "a2", "user", resultBlock("c1", "a b"), textBlock("by the way"), object{"type": "image", "source": "data"})),
			[]string{
				helloEvent, "assistant/message append step", "assistant/message append assistant: look",
				`tool/call action: Bash {"command":"ls"}`, "tool/result append tool: a b", "user/message append human: by the way",
			},
			[]string{"u1", "a1", "a2", "r1:c1", "r1"},
		},
		{
			"a response written as growing snapshots is one message",
			lines(hello, answer("a1", "u1", "m1", textBlock("one")),
				answer("a2", "a1", "m1", textBlock("one"), callBlock("c1", "Bash", object{})),
				answer("a3", "a2", "m1", textBlock("one"), callBlock("c1", "Bash", object{}), textBlock("two"))),
			[]string{
				helloEvent, "assistant/message append step assistant: one", "assistant/message replace 1-1 of [1] assistant: one",
				"tool/call action: Bash {}", "assistant/message replace 2-2 of [2] assistant: one two",
			},
			[]string{"u1", "a3"},
		},
		{
			"a rewind cuts the tail, and the old branch can come back",
			lines(hello, yes, user("u2", "a1", "left"), user("u3", "a1", "right"), user("u4", "u2", "left again")),
			[]string{
				helloEvent, yesEvent, "user/message append human: left", "claude/rewind select 1 []",
				"user/message append human: right", "claude/branch select 1 [2]", "user/message append human: left again",
			},
			[]string{"u1", "a1", "u2", "u4"},
		},
		{
			"results of parallel calls stay, whatever hangs on what",
			lines(hello, answer("a1", "u1", "m1", callBlock("c1", "A", object{})), answer("a2", "a1", "m1", callBlock("c2", "B", object{})),
				result("r2", "a2", "c2", "two"), result("r1", "a1", "c1", "one"), answer("a3", "r2", "m2", textBlock("both"))),
			[]string{
				helloEvent, "assistant/message append step", "tool/call action: A {}", "assistant/message append", "tool/call action: B {}",
				"tool/result append tool: two", "tool/result append tool: one", "assistant/message append step assistant: both",
			},
			[]string{"u1", "a1", "a2", "r2:c2", "r1:c1", "a3"},
		},
		{
			"a clear inside of a file",
			lines(hello, yes, rec{"progress", "p", "", object{"data": object{"type": "hook_progress"}}}, user("u2", "p", "anew")),
			[]string{helloEvent, yesEvent, "claude/clear select -1 []", "claude/progress/hook_progress", "user/message append human: anew"},
			[]string{"u2"},
		},
		{
			"a parent that was never written",
			lines(hello, yes, user("u2", "lost", "go on"), user("u3", "u1", "back"), user("u4", "u2", "forth")),
			[]string{
				helloEvent, yesEvent, "user/message append human: go on", "claude/rewind select 0 []", "user/message append human: back",
				"claude/branch select 0 [1 2]", "user/message append human: forth",
			},
			[]string{"u1", "a1", "u2", "u4"},
		},
		{
			"late records without conversation move nothing",
			lines(hello, yes, user("u2", "a1", "more"),
				rec{"attachment", "t", "u1", object{"attachment": object{"type": "file", "content": "late"}}},
				rec{"system", "y", "u1", object{"subtype": "turn_duration"}}),
			[]string{
				helloEvent, yesEvent, "user/message append human: more", "user/message append injected: late", "claude/system/turn_duration",
			},
			[]string{"u1", "a1", "u2", "t"},
		},
		{
			"a pinned leaf moves the path, one that is not pinned does not, and another leaf ends it",
			lines(hello, yes, user("u2", "a1", "more"), meta("last-prompt", object{"leafUuid": "a1"}),
				meta("last-prompt", object{"leafUuid": "a1", "rewound": true}), meta("last-prompt", object{"leafUuid": nil, "explicit": true}),
				user("u3", "u2", "no, on")),
			[]string{
				helloEvent, yesEvent, "user/message append human: more", "claude/last-prompt", "claude/last-prompt select 1 []",
				"claude/last-prompt", "claude/branch select 1 [2]", "user/message append human: no, on",
			},
			[]string{"u1", "a1", "u2", "u3"},
		},
		{
			"rewound to nothing",
			lines(hello, yes) + `{"type":"last-prompt","leafUuid":null,"explicit":true}` + "\n" + lines(user("u2", "", "anew")),
			[]string{helloEvent, yesEvent, "claude/last-prompt select -1 []", "user/message append human: anew"}, []string{"u2"},
		},
		{
			"a local command is for the model, other system records are not",
			lines(hello, rec{"system", "y", "u1", object{"subtype": "local_command", "content": "<local-command-stdout>ok</local-command-stdout>"}},
				rec{"system", "z", "y", object{"subtype": "informational", "content": "note"}}),
			[]string{helloEvent, "user/message append injected: <local-command-stdout>ok</local-command-stdout>", "claude/system/informational"},
			[]string{"u1", "y"},
		},
		{
			"unknown records and hostile names",
			lines(meta("brand-new", object{"text": "no text of it"}), meta("a/b\n", object{}), hello,
				rec{"system", "y", "u1", object{"subtype": "../up"}}),
			[]string{"claude/brand-new", "claude/a_b_", helloEvent, "claude/system/___up"}, []string{"u1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, fold, _ := readAll(t, project(t, c.text))
			if diff := cmp.Diff(c.want, described(events)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.surface, names(events, fold.Surface())); diff != "" {
				t.Errorf("surface (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompaction(t *testing.T) {
	before := []rec{
		user("u1", "", "one"), answer("a1", "u1", "m1", textBlock("two")), user("u2", "a1", "three"), answer("a2", "u2", "m2", textBlock("four")),
	}
	first := []string{
		`user/message append title="one" human: one`, "assistant/message append step assistant: two",
		"user/message append human: three", "assistant/message append step assistant: four",
	}
	for _, c := range []struct {
		name    string
		after   []rec
		want    []string
		surface []string
	}{
		{
			"all is summed up",
			[]rec{compactBoundary("b", object{"trigger": "auto"}), compactSummary("s", "b", "sum"), user("u3", "s", "on")},
			[]string{"compaction/summary", "user/message replace 0-3 of [0 1 2 3] summary: sum", "user/message append human: on"},
			[]string{"s", "u3"},
		},
		{
			"the end is kept",
			[]rec{
				compactBoundary("b", object{"preservedMessages": object{"anchorUuid": "s", "uuids": []string{"u2", "a2"}}}),
				compactSummary("s", "b", "sum"), user("u3", "s", "on"),
			},
			[]string{"compaction/summary", "user/message replace 0-1 of [0 1] summary: sum", "user/message append human: on"},
			[]string{"s", "u2", "a2", "u3"},
		},
		{
			"the end is kept, as a segment",
			[]rec{
				compactBoundary("b", object{"preservedSegment": object{"headUuid": "u2", "tailUuid": "a2"}}),
				compactSummary("s", "b", "sum"), user("u3", "a2", "on"),
			},
			[]string{"compaction/summary", "user/message replace 0-1 of [0 1] summary: sum", "user/message append human: on"},
			[]string{"s", "u2", "a2", "u3"},
		},
		{
			"the beginning is kept: the summary hangs on it",
			[]rec{
				compactBoundary("b", object{"preservedMessages": object{"uuids": []string{"u1", "a1"}}}),
				compactSummary("s", "a1", "sum"), user("u3", "s", "on"),
			},
			[]string{"compaction/summary", "user/message replace 2-3 of [2 3] summary: sum", "user/message append human: on"},
			[]string{"u1", "a1", "s", "u3"},
		},
		{
			"scattered records are kept",
			[]rec{
				compactBoundary("b", object{"preservedMessages": object{"uuids": []string{"a1", "a2", "never-written"}}}),
				compactSummary("s", "b", "sum"),
			},
			[]string{"compaction/summary", "user/message append summary: sum", "claude/compact select -1 [5 1 3]"},
			[]string{"s", "a1", "a2"},
		},
		{
			"everything is kept",
			[]rec{
				compactBoundary("b", object{"preservedMessages": object{"uuids": []string{"u1", "a1", "u2", "a2"}}}),
				compactSummary("s", "b", "sum"),
			},
			[]string{"compaction/summary", "user/message append summary: sum", "claude/compact select -1 [5 0 1 2 3]"},
			[]string{"s", "u1", "a1", "u2", "a2"},
		},
		{
			"the summary never came",
			[]rec{compactBoundary("b", object{"preservedMessages": object{"uuids": []string{"a2"}}}), user("u3", "b", "on")},
			[]string{"compaction/summary", "claude/compact select -1 [3]", "user/message append human: on"},
			[]string{"a2", "u3"},
		},
		{
			"nothing changes while the summary is awaited",
			[]rec{compactBoundary("b", object{})},
			[]string{"compaction/summary"},
			[]string{"u1", "a1", "u2", "a2"},
		},
		{
			"an old release wrote a summary and no boundary",
			[]rec{compactSummary("s", "", "sum"), user("u3", "s", "on")},
			[]string{"user/message replace 0-3 of [0 1 2 3] summary: sum", "user/message append human: on"},
			[]string{"s", "u3"},
		},
		{
			"a rewind to before the compaction, and back behind it with what was kept",
			[]rec{
				compactBoundary("b", object{"preservedMessages": object{"uuids": []string{"a2"}}}), compactSummary("s", "b", "sum"),
				user("u3", "u1", "elsewhere"), user("u4", "s", "on"),
			},
			[]string{
				"compaction/summary", "user/message replace 0-2 of [0 1 2] summary: sum", "claude/branch select -1 [0]",
				"user/message append human: elsewhere", "claude/branch select -1 [5 3]", "user/message append human: on",
			},
			[]string{"s", "a2", "u4"},
		},
		{
			"a second compaction sums the first one up",
			[]rec{
				compactBoundary("b", object{}), compactSummary("s", "b", "sum"), user("u3", "s", "on"),
				compactBoundary("b2", object{"preservedMessages": object{"uuids": []string{"u3"}}}), compactSummary("s2", "b2", "sum of sums"),
			},
			[]string{
				"compaction/summary", "user/message replace 0-3 of [0 1 2 3] summary: sum", "user/message append human: on",
				"compaction/summary", "user/message replace 5-5 of [5] summary: sum of sums",
			},
			[]string{"s2", "u3"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, fold, _ := readAll(t, project(t, lines(before...)+lines(c.after...)))
			if diff := cmp.Diff(append(append([]string{}, first...), c.want...), described(events)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.surface, names(events, fold.Surface())); diff != "" {
				t.Errorf("surface (-want +got):\n%s", diff)
			}
		})
	}
}

// Results that the program says it blanked are replaced, one by one; those it
// does not name are left alone.
func TestBlankedResults(t *testing.T) {
	text := lines(user("u1", "", "hi"),
		answer("a1", "u1", "m1", callBlock("c1", "A", object{})), result("r1", "a1", "c1", "long output"),
		answer("a2", "r1", "m2", callBlock("c2", "B", object{})), result("r2", "a2", "c2", "other output"),
		rec{"system", "y", "r2", object{"subtype": "microcompact_boundary", "microcompactMetadata": object{"compactedToolIds": []string{"c1", "gone"}}}},
		meta("content-replacement", object{"replacements": []object{{"kind": "tool-result", "toolUseId": "c2", "replacement": "see the file"}, {"x": 1}}}))
	events, fold, _ := readAll(t, project(t, text))
	want := []string{
		`user/message append title="hi" human: hi`,
		"assistant/message append step", "tool/call action: A {}", "tool/result append tool: long output",
		"assistant/message append step", "tool/call action: B {}", "tool/result append tool: other output",
		"claude/system/microcompact_boundary", "tool/result replace 3-3 of [3]",
		"claude/content-replacement", "tool/result replace 6-6 of [6] tool: see the file",
	}
	for i := range events {
		if events[i].Type == "tool/result" && events[i].Op.Start == 0 && events[i].Op.End == 0 {
			if len(events[i].Sources) != 1 || events[events[i].Sources[0]].Body.CallID != events[i].Body.CallID {
				t.Errorf("the result %d cites %v", i, events[i].Sources)
			}
		}
	}
	if diff := cmp.Diff(want, described(events)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{0, 1, 8, 4, 10}, fold.Surface()); diff != "" {
		t.Errorf("surface (-want +got):\n%s", diff)
	}
}

func TestSpeakers(t *testing.T) {
	for _, c := range []struct {
		name string
		r    rec
		want string
	}{
		{"typed", user("x", "", "fix it"), `title="fix it" human: fix it`},
		{"a caveat", user("x", "", "Caveat", object{"isMeta": true}), "injected: Caveat"},
		{"a note that the user interrupted", user("x", "", "[Request interrupted by user]"), "injected: [Request interrupted by user]"},
		{"a plan that the program carried over", user("x", "", "do the plan", object{"planContent": "p"}), "injected: do the plan"},
		{"another agent", user("x", "", "news", object{"origin": object{"kind": "peer"}}), "injected: news"},
		{"a human, said so", user("x", "", "news", object{"origin": object{"kind": "human"}}), `title="news" human: news`},
		{
			"a notification, though it has the fields of a typed prompt",
			user("x", "", "<task-notification>\ndone</task-notification>", object{"permissionMode": "default"}),
			"injected: <task-notification>\ndone</task-notification>",
		},
		{"typed XML", user("x", "", "<note>mine</note>", object{"todos": []string{}}), "human: <note>mine</note>"},
		{"a wrapper", user("x", "", "<bash-input>ls</bash-input>"), "injected: <bash-input>ls</bash-input>"},
		{"a slash command", user("x", "", "<command-name>/init</command-name>"), "human: <command-name>/init</command-name>"},
		{
			"what an editor put in front", user("x", "", "<ide_selection>code</ide_selection>\nexplain   this"),
			`title="explain this" human: ` + "\nexplain   this",
		},
		{"an unclosed tag", user("x", "", "<ide_selection>code"), `title="<ide_selection>code" human: <ide_selection>code`},
		{"lone surrogates", rec{"user", "x", "", object{"message": object{"content": "cut \ufffd"}}}, `title="cut ` + "\ufffd" + `" human: cut ` + "\ufffd"},
	} {
		events, _, _ := readAll(t, project(t, lines(c.r)))
		got := strings.TrimPrefix(described(events)[0], "user/message append ")
		if got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

func TestTitles(t *testing.T) {
	hello := user("u1", "", "first prompt")
	for _, c := range []struct {
		name string
		list []rec
		want string
	}{
		{"none", []rec{meta("mode", object{})}, ""},
		{"the first prompt", []rec{hello, user("u2", "u1", "second prompt")}, "first prompt"},
		{"not a command", []rec{user("u0", "", "<command-name>/clear</command-name>"), user("u1", "u0", "first prompt")}, "first prompt"},
		{"one line of eighty code points", []rec{user("u1", "", "\n"+strings.Repeat("é ", 60))}, strings.TrimSpace(strings.Repeat("é ", 40))},
		{"generated", []rec{hello, meta("ai-title", object{"aiTitle": "by the model"}), meta("ai-title", object{"aiTitle": "again"})}, "again"},
		{
			"the user's own stands above a generated one",
			[]rec{meta("custom-title", object{"customTitle": "mine"}), hello, meta("ai-title", object{"aiTitle": "by the model"})}, "mine",
		},
		{"the latest of the user's own", []rec{hello, meta("custom-title", object{"customTitle": "mine"}), meta("agent-name", object{"agentName": "name"})}, "name"},
		{"empty ones do not count", []rec{hello, meta("custom-title", object{"customTitle": " "}), meta("ai-title", object{})}, "first prompt"},
		{"a summary of a leaf of ours", []rec{hello, meta("summary", object{"summary": "sum", "leafUuid": "u1"})}, "sum"},
		{"a summary of another session", []rec{meta("summary", object{"summary": "sum", "leafUuid": "elsewhere"}), hello}, "first prompt"},
		{"a prompt that was queued", []rec{{"attachment", "t", "", object{"attachment": object{"type": "queued_command", "prompt": "do this"}}}}, "do this"},
	} {
		events, _, _ := readAll(t, project(t, lines(c.list...)))
		got := ""
		for i := range events {
			if title := events[i].Body.Title; title != nil {
				got = *title
			}
		}
		if got != c.want {
			t.Errorf("%s: title %q, want %q", c.name, got, c.want)
		}
	}
}

// A prompt typed while the model works is found in the queue, if nowhere else;
// one typed while it waits is found once.
func TestQueue(t *testing.T) {
	enqueue := func(text string) rec {
		return meta("queue-operation", object{"operation": "enqueue", "content": text})
	}
	events, _, _ := readAll(t, project(t, lines(
		enqueue("hello"), meta("queue-operation", object{"operation": "dequeue"}), user("u1", "", "hello"),
		enqueue("and this"), enqueue("<task-notification>x</task-notification>"),
		answer("a1", "u1", "m1", callBlock("c1", "A", object{})), enqueue("faster"), result("r1", "a1", "c1", "out"),
		answer("a2", "r1", "m2", textBlock("done")), enqueue("thanks"), user("u2", "a2", "thanks"),
	)))
	want := []string{
		"claude/queue-operation/enqueue", "claude/queue-operation/dequeue", `user/message append title="hello" human: hello`,
		"claude/queue-operation/enqueue human: and this", "claude/queue-operation/enqueue",
		"assistant/message append step", "tool/call action: A {}", "claude/queue-operation/enqueue human: faster", "tool/result append tool: out",
		"assistant/message append step assistant: done", "claude/queue-operation/enqueue", "user/message append human: thanks",
	}
	if diff := cmp.Diff(want, described(events)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A result that names no call is counted among the results of its record.
func TestBlankedBehindANamelessResult(t *testing.T) {
	nameless := object{"type": "tool_result", "content": "stays"}
	src := project(t, lines(user("u1", "", "hello"), answer("a1", "u1", "m1", callBlock("c1", "T", object{})),
		blocks("r1", "a1", "user", nameless, resultBlock("c1", "goes")),
		rec{"system", "x1", "r1", object{"subtype": "microcompact_boundary", "microcompactMetadata": object{"compactedToolIds": []string{"c1"}}}}))
	events, fold, _ := readAll(t, src)
	var left []string
	for _, seq := range fold.Surface() {
		left = append(left, plainBody(events[seq].Body.Blocks))
	}
	all := strings.Join(left, "|")
	if !strings.Contains(all, "stays") || strings.Contains(all, "goes") {
		t.Errorf("left of the surface: %q", all)
	}
}
