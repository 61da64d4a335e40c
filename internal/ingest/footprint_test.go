package ingest_test

import (
	"fmt"
	"testing"
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
