package codex

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func compacted(second int, message string, items ...string) string {
	return entry(second, "compacted", fmt.Sprintf(`{"message":%q,"replacement_history":[%s]}`, message, strings.Join(items, ",")))
}

const opaque = `{"type":"compaction","encrypted_content":"AAAA"}`

// talk is two turns: events 1 to 6.
var talk = []string{
	itemLine(1, userItem("u1", "<environment_context>")),
	itemLine(2, userItem("u2", "first")),
	itemLine(3, assistantItem("a1", "one")),
	itemLine(4, userItem("u3", "second")),
	itemLine(5, callItem("c1", "ls", "{}")),
	itemLine(6, outputItem("c1", "files")),
}

// Each case follows the talk; want is what comes of it, surface how it ends.
func TestCompaction(t *testing.T) {
	for _, tc := range []struct {
		name          string
		log           []string
		want, surface []string
	}{
		{
			name:    "everything gives way to a summary",
			log:     []string{compacted(7, "sum", userItem("s", "sum")), itemLine(8, userItem("", "third"))},
			want:    []string{"7 user/message replace 1-6 summary: sum", "8 user/message append human: third"},
			surface: []string{"summary: sum", "human: third"},
		},
		{
			name:    "one run gives way, the rest stays",
			log:     []string{compacted(7, "sum", userItem("u1", "<environment_context>"), userItem("u2", "first"), userItem("s", "sum"))},
			want:    []string{"7 user/message replace 3-6 summary: sum"},
			surface: []string{"injected", "human: first", "summary: sum"},
		},
		{
			name:    "kept messages that are scattered",
			log:     []string{compacted(7, "sum", userItem("u2", "first"), userItem("u3", "second"), userItem("s", "sum"))},
			want:    []string{"7 user/message append summary: sum", "8 codex/compacted keep -1 [2 4 7]"},
			surface: []string{"human: first", "human: second", "summary: sum"},
		},
		{
			name:    "found by role and text where items have no ids, reordered, with new context",
			log:     []string{compacted(7, "", userItem("", "second"), userItem("", "<environment_context>"), userItem("", "first"), `{"type":"message","role":"developer","content":[{"type":"input_text","text":"new rules"}]}`, opaque)},
			want:    []string{"7 user/message append injected", "8 user/message append summary", "9 codex/compacted keep -1 [4 1 2 7 8]"},
			surface: []string{"human: second", "injected", "human: first", "injected", "summary"},
		},
		{
			name: "an id before the same words of another message",
			log: []string{
				itemLine(7, userItem("u4", "first")),
				compacted(8, "sum", userItem("u4", "first"), userItem("s", "sum")),
			},
			want:    []string{"7 user/message append human: first", "8 user/message append summary: sum", "9 codex/compacted keep -1 [7 8]"},
			surface: []string{"human: first", "summary: sum"},
		},
		{
			name: "the same words twice are two messages",
			log: []string{
				itemLine(7, userItem("", "go on")), itemLine(8, userItem("", "go on")),
				compacted(9, "sum", userItem("", "go on"), userItem("", "go on"), userItem("", "go on"), userItem("s", "sum")),
			},
			want: []string{
				"7 user/message append human: go on", "8 user/message append human: go on", "9 user/message append human: go on",
				"10 user/message append summary: sum", "11 codex/compacted keep -1 [7 8 9 10]",
			},
			surface: []string{"human: go on", "human: go on", "human: go on", "summary: sum"},
		},
		{
			name:    "a result is known by its call",
			log:     []string{compacted(7, "", callItem("c1", "ls", "{}"), outputItem("c1", "files"))},
			want:    []string{"7 codex/compacted keep -1 [6]"},
			surface: []string{"tool: files"},
		},
		{
			name:    "nothing is left",
			log:     []string{compacted(7, "")},
			want:    []string{"7 codex/compacted keep -1 []"},
			surface: nil,
		},
		{
			name:    "nothing changes",
			log:     []string{compacted(7, "", userItem("u1", ""), userItem("u2", ""), assistantItem("a1", ""), userItem("u3", ""), outputItem("c1", ""))},
			want:    []string{"7 codex/compacted"},
			surface: []string{"injected", "human: first", "assistant: one", "human: second", "tool: files"},
		},
		{
			name:    "a summary that its list does not hold is told once, by the record",
			log:     []string{compacted(7, "sum", userItem("u3", "second"))},
			want:    []string{"7 codex/compacted keep -1 [4] summary: sum"},
			surface: []string{"human: second"},
		},
		{
			name:    "older: no list. The first context, what was typed and the summary",
			log:     []string{entry(7, "compacted", `{"message":"sum"}`)},
			want:    []string{"7 user/message append summary: sum", "8 codex/compacted keep 2 [4 7]"},
			surface: []string{"injected", "human: first", "human: second", "summary: sum"},
		},
		{
			name: "older, again: the summary gives way to the next one",
			log: []string{
				entry(7, "compacted", `{"message":"sum"}`), itemLine(8, assistantItem("a2", "two")),
				entry(9, "compacted", `{"message":"sum of sums","replacement_history":null}`),
			},
			want: []string{
				"7 user/message append summary: sum", "8 codex/compacted keep 2 [4 7]", "9 assistant/message step append assistant: two",
				"10 user/message replace 7-9 summary: sum of sums",
			},
			surface: []string{"injected", "human: first", "human: second", "summary: sum of sums"},
		},
		{
			name:    "a rollback of one turn",
			log:     []string{eventLine(7, `{"type":"thread_rolled_back","num_turns":1}`), itemLine(8, userItem("", "third"))},
			want:    []string{"7 codex/event_msg/thread_rolled_back keep 3 []", "8 user/message append human: third"},
			surface: []string{"injected", "human: first", "assistant: one", "human: third"},
		},
		{
			name:    "rollbacks add up",
			log:     []string{eventLine(7, `{"type":"thread_rolled_back","num_turns":1}`), eventLine(8, `{"type":"thread_rolled_back","num_turns":1}`)},
			want:    []string{"7 codex/event_msg/thread_rolled_back keep 3 []", "8 codex/event_msg/thread_rolled_back keep 1 []"},
			surface: []string{"injected"},
		},
		{
			name:    "a rollback of more turns than there are keeps the first context",
			log:     []string{eventLine(7, `{"type":"thread_rolled_back","num_turns":99}`)},
			want:    []string{"7 codex/event_msg/thread_rolled_back keep 1 []"},
			surface: []string{"injected"},
		},
		{
			name:    "a rollback of nothing, or of no number",
			log:     []string{eventLine(7, `{"type":"thread_rolled_back","num_turns":0}`), eventLine(8, `{"type":"thread_rolled_back","num_turns":"2"}`)},
			want:    []string{"7 codex/event_msg/thread_rolled_back", "8 codex/event_msg/thread_rolled_back"},
			surface: []string{"injected", "human: first", "assistant: one", "human: second", "tool: files"},
		},
		{
			name: "a rollback behind a compaction counts its summary",
			log: []string{
				compacted(7, "sum", userItem("u2", "first"), userItem("u3", "second"), userItem("s", "sum")), itemLine(8, assistantItem("a3", "three")),
				compacted(9, "sum", userItem("u2", "first"), userItem("u3", "second"), userItem("s2", "sum")), itemLine(10, userItem("", "third")),
				eventLine(11, `{"type":"thread_rolled_back","num_turns":2}`),
			},
			want: []string{
				"7 user/message append summary: sum", "8 codex/compacted keep -1 [2 4 7]", "9 assistant/message step append assistant: three",
				"10 codex/compacted keep 7 []", "11 user/message append human: third", "12 codex/event_msg/thread_rolled_back keep 4 []",
			},
			surface: []string{"human: first", "human: second"},
		},
		{
			name: "a rollback over the only compaction leaves what came behind it",
			log: []string{
				compacted(7, "sum", userItem("u2", "first"), userItem("s", "sum")), itemLine(8, userItem("", "<environment_context>")),
				itemLine(8, userItem("", "third")), eventLine(9, `{"type":"task_started"}`), itemLine(9, userItem("", "fourth")),
				eventLine(10, `{"type":"thread_rolled_back","num_turns":2}`),
			},
			want: []string{
				"7 user/message append summary: sum", "8 codex/compacted keep -1 [2 7]", "9 user/message append injected",
				"10 user/message append human: third", "11 turn/start", "12 user/message append human: fourth",
				"13 codex/event_msg/thread_rolled_back keep -1 [9]",
			},
			surface: []string{"injected"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log := append(append([]string{metaLine(idA, "")}, talk...), tc.log...)
			root := home(t, map[string]string{rollout(idA): lines(log...)})
			src := source(t, root, rollout(idA))
			events, _ := readAll(t, src)
			if diff := cmp.Diff(tc.want, outline(events)[7:]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.surface, surface(t, events)); diff != "" {
				t.Errorf("surface (-want +got):\n%s", diff)
			}
			everyWay(t, src)
		})
	}
}

// The native record of an event made of one item of a list is that item.
func TestCompactionNatives(t *testing.T) {
	item := userItem("s", "sum")
	line := compacted(7, "sum", userItem("u2", "first"), userItem("u3", "second"), item)
	root := home(t, map[string]string{rollout(idA): lines(append(append([]string{metaLine(idA, "")}, talk...), line)...)})
	raws := window(t, source(t, root, rollout(idA)), 7, 8)
	if diff := cmp.Diff([]string{item, line}, natives(raws)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if raws[0].Event.NativeID != "s" {
		t.Errorf("native id %q", raws[0].Event.NativeID)
	}
}
