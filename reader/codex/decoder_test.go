package codex

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// kinds is a user's message whose origins are said.
func kinds(text string, kind ...string) string {
	item := userItem("", text)
	return item[:len(item)-1] + `,"internal_chat_message_metadata_passthrough":{"content_item_kinds":["` + strings.Join(kind, `","`) + `"]}}`
}

// Each case is what stands behind a header; what comes of it begins at event 1.
func TestDecode(t *testing.T) {
	for _, tc := range []struct {
		name string
		log  []string
		want []string
	}{
		{
			name: "a turn in the older mode: what is shown repeats what is sent",
			log: []string{
				eventLine(1, `{"type":"task_started","turn_id":"t1"}`),
				itemLine(2, userItem("", "<environment_context>\n<cwd>/w</cwd>")),
				itemLine(3, userItem("", "# Fix it\nplease")),
				eventLine(3, `{"type":"user_message","message":"# Fix it\nplease"}`),
				eventLine(4, `{"type":"agent_reasoning","text":"hm"}`),
				itemLine(4, `{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}`),
				eventLine(5, `{"type":"agent_message","message":"Looking."}`),
				itemLine(5, assistantItem("m1", "Looking.")),
				itemLine(6, callItem("c1", "shell", `{"command":["ls"]}`)),
				eventLine(7, `{"type":"exec_command_end","call_id":"c1","stdout":"main.go"}`),
				itemLine(7, outputItem("c1", "main.go")),
				itemLine(8, assistantItem("m2", "Done.")),
				eventLine(9, `{"type":"task_complete","turn_id":"t1","last_agent_message":"Done."}`),
			},
			want: []string{
				"1 turn/start",
				"2 user/message append injected",
				`3 user/message append title="# Fix it please" human: # Fix it` + "\nplease",
				"4 codex/event_msg/user_message",
				"5 codex/event_msg/agent_reasoning",
				"6 assistant/message step append assistant",
				"7 codex/event_msg/agent_message",
				"8 assistant/message append assistant: Looking.",
				`9 tool/call #c1 action: shell({"command":["ls"]})`,
				"10 codex/event_msg/exec_command_end",
				"11 tool/result append #c1 tool: main.go",
				"12 assistant/message step append assistant: Done.",
				"13 turn/end",
			},
		},
		{
			name: "what is shown, where nothing is sent",
			log: []string{
				eventLine(1, `{"type":"user_message","message":"hello"}`),
				eventLine(2, `{"type":"agent_reasoning","text":"secret"}`),
				eventLine(3, `{"type":"agent_message","message":"hi"}`),
				eventLine(4, `{"type":"error","message":"the stream broke"}`),
			},
			want: []string{
				`1 codex/event_msg/user_message title="hello" human: hello`,
				"2 codex/event_msg/agent_reasoning",
				"3 codex/event_msg/agent_message assistant: hi",
				"4 codex/event_msg/error : the stream broke",
			},
		},
		{
			name: "origins that are said",
			log: []string{
				itemLine(1, kinds("# AGENTS.md instructions, quoted by the user", "user.text")),
				itemLine(2, kinds("be brief", "host_skills.instructions")),
				itemLine(3, kinds("what came before", "compaction.summary")),
				itemLine(4, kinds("typed all the same", "unknown")),
			},
			want: []string{
				`1 user/message append title="# AGENTS.md instructions, quoted by the user" human: # AGENTS.md instructions, quoted by the user`,
				"2 user/message append injected",
				"3 user/message append summary: what came before",
				"4 user/message append human: typed all the same",
			},
		},
		{
			name: "a message of several origins keeps what was typed",
			log: []string{itemLine(1, `{"type":"message","role":"user","content":[{"type":"input_text","text":"rules"},{"type":"input_image","image_url":"data:"},{"type":"input_text","text":"go"}],`+
				`"internal_chat_message_metadata_passthrough":{"content_item_kinds":["agents_md.instructions","user.image","user.text"]}}`)},
			want: []string{`1 user/message append title="go" human: go`},
		},
		{
			name: "injected notes that stand nowhere else keep their text",
			log: []string{
				itemLine(1, userItem("", "<subagent_notification>\ndone\n</subagent_notification>")),
				itemLine(2, userItem("", "<turn_aborted>\nThe user interrupted\n</turn_aborted>")),
				itemLine(3, `{"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]}`),
				itemLine(4, `{"type":"agent_message","author":"x","content":[{"type":"input_text","text":"from another agent"}]}`),
			},
			want: []string{
				"1 user/message append injected: <subagent_notification>\ndone\n</subagent_notification>",
				"2 user/message append injected",
				"3 user/message append injected",
				"4 user/message append injected: from another agent",
			},
		},
		{
			name: "calls of every kind",
			log: []string{
				itemLine(1, `{"type":"custom_tool_call","call_id":"c1","name":"apply_patch","namespace":"functions","input":"*** Begin"}`),
				itemLine(2, `{"type":"function_call","call_id":"c2","name":"search","namespace":"mcp__docs__","arguments":"not JSON {"}`),
				itemLine(3, `{"type":"local_shell_call","call_id":"c3","action":{"type":"exec","command":["ls"]}}`),
				itemLine(4, `{"type":"web_search_call","id":"ws1","action":{"type":"search","query":"go fuzz"}}`),
				itemLine(5, `{"type":"tool_search_call","call_id":"c5","arguments":{"query":"x"}}`),
				itemLine(6, `{"type":"image_generation_call","id":"ig1","revised_prompt":"a cat","result":"iVBORw0KGgo="}`),
			},
			want: []string{
				"1 tool/call step #c1 action: apply_patch(*** Begin)",
				"2 tool/call #c2 action: mcp__docs__search(not JSON {)",
				`3 tool/call #c3 action: local_shell({"type":"exec","command":["ls"]})`,
				`4 tool/call #ws1 action: web_search({"type":"search","query":"go fuzz"})`,
				`5 tool/call #c5 action: tool_search({"query":"x"})`,
				"6 tool/call #ig1 action: image_generation(a cat)",
			},
		},
		{
			name: "outputs of every form",
			log: []string{
				itemLine(1, outputItem("c1", "one")),
				itemLine(2, `{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"two"},{"type":"input_image","image_url":"data:"},{"type":"input_text","text":"three"}]}`),
				itemLine(3, `{"type":"function_call_output","call_id":"c3","output":{"content":"four","success":false}}`),
				itemLine(4, `{"type":"tool_search_output","call_id":"c4","tools":[{"name":"never text"}]}`),
				itemLine(5, `{"type":"function_call_output","call_id":"c5","output":7}`),
			},
			want: []string{
				"1 tool/result append #c1 tool: one",
				"2 tool/result append #c2 tool: two | three",
				"3 tool/result append #c3 tool: four",
				"4 tool/result append #c4 tool",
				"5 tool/result append #c5 tool",
			},
		},
		{
			name: "code mode: only what the outer call does not tell",
			log: []string{
				itemLine(1, `{"type":"custom_tool_call","call_id":"c1","name":"exec","input":"tools.web()"}`),
				eventLine(2, `{"type":"web_search_end","call_id":"exec-1","query":"inner query"}`),
				eventLine(3, `{"type":"item_completed","item":{"type":"WebSearch","id":"exec-2","query":"another"}}`),
				eventLine(4, `{"type":"mcp_tool_call_end","call_id":"exec-3","result":"told by the output"}`),
				itemLine(5, `{"type":"custom_tool_call_output","call_id":"c1","output":"ok"}`),
				eventLine(6, `{"type":"web_search_end","call_id":"ws","query":"told by its item"}`),
			},
			want: []string{
				"1 tool/call step #c1 action: exec(tools.web())",
				"2 codex/event_msg/web_search_end action: inner query",
				"3 codex/event_msg/item_completed action: another",
				"4 codex/event_msg/mcp_tool_call_end",
				"5 tool/result append #c1 tool: ok",
				"6 codex/event_msg/web_search_end",
			},
		},
		{
			name: "names outrank the first prompt, and the latest stands",
			log: []string{
				itemLine(1, userItem("", "first prompt")),
				eventLine(2, `{"type":"thread_name_updated","thread_name":"Parser"}`),
				itemLine(3, userItem("", "second prompt")),
				eventLine(4, `{"type":"thread_name_updated","thread_name":" Lexer\nand more "}`),
				eventLine(5, `{"type":"thread_name_updated","thread_name":""}`),
			},
			want: []string{
				`1 user/message append title="first prompt" human: first prompt`,
				`2 session/title title="Parser"`,
				"3 user/message append human: second prompt",
				`4 session/title title="Lexer and more"`,
				"5 codex/event_msg/thread_name_updated",
			},
		},
		{
			name: "the title is the prompt, not what an editor puts before it",
			log:  []string{itemLine(1, userItem("", "# Context from my IDE setup:\n\n## Open tabs:\n- a.go\n\n## My request for Codex:\nRename it"))},
			want: []string{`1 user/message append title="Rename it" human: # Context from my IDE setup:` + "\n\n## Open tabs:\n- a.go\n\n## My request for Codex:\nRename it"},
		},
		{
			name: "records that are log-only",
			log: []string{
				entry(1, "session_meta", `{"id":"`+idA+`","memory_mode":"x","base_instructions":{"text":"long"}}`),
				entry(2, "turn_context", `{"cwd":"/w"}`),
				entry(3, "world_state", `{"full":true}`),
				entry(4, "token_usage_record", `{}`),
				eventLine(5, `{"type":"thread_settings_applied"}`),
				eventLine(6, `{"type":"token_count","info":null}`),
				itemLine(7, `{"type":"additional_tools","tools":[]}`),
				itemLine(8, `{"type":"ghost_snapshot","ghost_commit":{}}`),
				entry(9, "something_new", `{"type":"x","text":"no text of ours"}`),
				itemLine(10, `{"type":"some/odd type"}`),
				entry(11, "inter_agent_communication", `{"text":"x"}`),
				eventLine(12, `{"type":"turn_aborted","reason":"interrupted"}`),
				eventLine(13, `{"type":"item_completed","item":{"type":"Plan","id":"p","text":"1. look"}}`),
				eventLine(14, `{"type":"context_compacted"}`),
				`{"timestamp":"` + at(15) + `","type":"response_item","payload":` + assistantItem("s", "the summary") + `,"metadata":{"compaction_output":true}}`,
			},
			want: []string{
				"1 codex/session_meta", "2 request/context", "3 request/context", "4 request/context", "5 request/context",
				"6 codex/event_msg/token_count", "7 codex/response_item/additional_tools", "8 codex/response_item/ghost_snapshot",
				"9 codex/something_new", "10 codex/response_item/unknown", "11 codex/inter_agent_communication",
				"12 turn/end : aborted", "13 codex/event_msg/item_completed assistant: 1. look",
				"14 codex/event_msg/context_compacted", "15 codex/response_item/message",
			},
		},
		{
			name: "opaque items are context without text",
			log: []string{
				itemLine(1, userItem("", "go")),
				itemLine(2, `{"type":"compaction","encrypted_content":"AAAA"}`),
				itemLine(3, `{"type":"reasoning","content":[{"type":"reasoning_text","text":"secret"}]}`),
			},
			want: []string{`1 user/message append title="go" human: go`, "2 user/message append summary", "3 assistant/message step append assistant"},
		},
		{
			name: "names are compared as they are written, and of repeated ones the last counts",
			log: []string{
				`{"Timestamp":"x","timestamp":"` + at(1) + `","Type":"compacted","type":"event_msg","type":"response_item","payload":` + userItem("", "a") + `}`,
			},
			want: []string{`1 user/message append title="a" human: a`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := home(t, map[string]string{rollout(idA): lines(append([]string{metaLine(idA, "")}, tc.log...)...)})
			events, _ := readAll(t, source(t, root, rollout(idA)))
			surface(t, events)
			if diff := cmp.Diff(tc.want, outline(events)[1:], cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A title is one line of at most 80 code points.
func TestTitleIsShort(t *testing.T) {
	root := home(t, map[string]string{rollout(idA): lines(metaLine(idA, ""), itemLine(1, userItem("", "  "+strings.Repeat("é ", 100))))})
	events, _ := readAll(t, source(t, root, rollout(idA)))
	if got, want := *events[1].Body.Title, strings.Repeat("é ", 40); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNativeIDs(t *testing.T) {
	records := []string{metaLine(idA, `,"history_mode":"paginated"`), itemLine(1, userItem("msg_1", "go")), itemLine(2, outputItem("c1", "x")), eventLine(3, `{"type":"task_started"}`)}
	root := home(t, map[string]string{rollout(idA): lines(numbered(0, records...)...), rollout(idB): lines(append([]string{metaLine(idB, "")}, records[1:]...)...)})
	for rel, want := range map[string][]string{
		rollout(idA): {idA + "/0", "msg_1", "c1/function_call_output", idA + "/3"},
		rollout(idB): {"", "msg_1", "c1/function_call_output", ""},
	} {
		events, _ := readAll(t, source(t, root, rel))
		var got []string
		for _, e := range events {
			got = append(got, e.NativeID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", rel, diff)
		}
	}
}
