package ingest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yorehq/yore/session"
)

func call(id, name string) *session.Event {
	return &session.Event{Type: session.ToolCall, Body: session.Body{
		Speaker: session.Action, CallID: id, Blocks: []session.Block{{Kind: session.CallBlock, Name: name}},
	}}
}

func result(id string) *session.Event {
	return &session.Event{Type: session.ToolResult, Body: session.Body{Speaker: session.Tool, CallID: id}}
}

func TestToolsOfResults(t *testing.T) {
	s := &Stored{}
	for i, step := range []struct {
		e    *session.Event
		want string
	}{
		{call("a", "Bash"), "Bash"},
		{call("b", "Edit"), "Edit"},
		{result("a"), "Bash"},
		{result("a"), ""}, // one call has one result
		{call("b", "Grep"), "Grep"},
		{result("b"), "Grep"}, // of two calls with one id the later
		{result("b"), "Edit"},
		{result("never called"), ""},
		{result(""), ""},
		{call("", "NoID"), "NoID"},
		{&session.Event{Type: session.ToolCall}, ""},
		{&session.Event{Type: session.UserMessage, Body: call("c", "Bash").Body}, ""},
		{result("c"), ""},
		{call(strings.Repeat("x", maxCallID+1), "Long"), "Long"},
		{result(strings.Repeat("x", maxCallID+1)), ""},
		{call("n", strings.Repeat("é", maxCallName)), strings.Repeat("é", maxCallName/2)},
		{call("z", "a\x00\xffb"), "a\uFFFD\uFFFDb"},
	} {
		if got := s.toolOf(step.e); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
}

// TestOpenCallsAreBounded: a log without results does not make its state large.
func TestOpenCallsAreBounded(t *testing.T) {
	s := &Stored{}
	for i := range 1000 {
		s.toolOf(call(fmt.Sprint(i), "Bash"))
	}
	if len(s.Calls) != maxCalls || s.toolOf(result("999")) != "Bash" || s.toolOf(result("1")) != "" {
		t.Errorf("%d calls are kept", len(s.Calls))
	}
	closer := result("998")
	closer.Provisional = true
	for range 2 {
		if s.toolOf(closer) != "Bash" {
			t.Error("a closing record used a call up, which its withdrawal would not bring back")
		}
	}
}
