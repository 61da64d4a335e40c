package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/reader/codex"
)

// call and result are a tool call and its answer, as DSH logs them.
func call(seq int, id, name, args string) string {
	return fmt.Sprintf(`{"type":"tool/call","seq":%d,"time":1,"data":{"turn":1,"step":1,"callId":%q,"name":%q,"arguments":%q}}`+"\n", seq, id, name, args)
}

func result(seq int, id, text string) string {
	return fmt.Sprintf(`{"type":"tool/result","seq":%d,"time":1,"data":{"turn":1,"step":1,"message":{"id":"r-%d","role":"user","source":{"kind":"tool","callId":%q},"content":[{"type":"tool-result","toolCallId":%q,"content":[{"type":"text","text":%q}]}]}},"surfaceOp":"append"}`+"\n", seq, seq, id, id, text)
}

func TestOwnFootprintsAreNoHistory(t *testing.T) {
	b := newBench(t)
	b.write("a", header("a")+user(0, "zephyr of a person")+
		call(1, "c1", "mcp__yore__session_search", `{"query":"zephyr"}`))
	b.refresh()
	// The result comes in a later update: the call must be remembered.
	b.append("a", result(2, "c1", "found: zephyr zephyr")+
		call(3, "c2", "grep", `{"query":"zephyr"}`)+result(4, "c2", "zephyr.go"))
	b.refresh()
	if n := b.found("zephyr"); n != 3 {
		t.Errorf("found %d, want the prompt, another tool's call and its result", n)
	}
	snap, err := b.index.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	rows, err := snap.Sessions(t.Context())
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	if got, err := snap.Log(rows[0].Num).Surface(t.Context()); err != nil || fmt.Sprint(got) != "[0 2 4]" {
		t.Errorf("surface %v, %v: the place of a footprint stays", got, err)
	}
}

// Codex's code mode calls tools from a script, and the script's output holds
// what they returned.
func TestOwnFootprintsInScriptsAreNoHistory(t *testing.T) {
	b := newBench(t)
	root := t.TempDir()
	const id = "01a22bac-7c75-73b3-9b05-a777d7c21201"
	line := func(second int, kind, payload string) string {
		return fmt.Sprintf(`{"timestamp":"2026-11-30T08:57:%02dZ","type":%q,"payload":%s}`+"\n", second, kind, payload)
	}
	log := line(0, "session_meta", fmt.Sprintf(`{"id":%q,"timestamp":"2026-11-30T08:57:00Z","cwd":%q}`, id, workspace)) +
		line(1, "response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look for the takahe"}]}`) +
		line(2, "response_item", `{"type":"custom_tool_call","call_id":"c1","name":"exec","namespace":"functions","input":"const r = await tools.mcp__yore__session_search({query:\"takahe\"});\ntext(r)"}`) +
		line(3, "response_item", `{"type":"custom_tool_call_output","call_id":"c1","output":[{"type":"input_text","text":"found: takahe takahe"}]}`) +
		line(4, "response_item", `{"type":"custom_tool_call","call_id":"c2","name":"exec","namespace":"functions","input":"const r = await tools.exec_command({cmd:\"grep takahe\"});\ntext(r)"}`) +
		line(5, "response_item", `{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"birds.txt: takahe"}]}`)
	path := filepath.Join(root, "sessions", "2026", "11", "30", "rollout-2026-11-30T08-57-00-"+id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	b.in = ingest.New(ingest.Options{Roots: []ingest.Root{{Reader: codex.New(), Path: root}}, Catalog: b.index, Shards: b.index})
	b.refresh()
	if n := b.found("takahe"); n != 3 {
		t.Errorf("found %d, want the message, another script and its output", n)
	}
}
