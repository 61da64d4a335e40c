package ingest

import (
	"hash/fnv"
	"testing"

	"github.com/yorehq/yore/session"
)

// Indexes hold these hashes, so they stay what they are: FNV-1a of type, NUL, id.
func TestNativeOf(t *testing.T) {
	for _, e := range []session.Event{
		{Type: session.UserMessage, NativeID: "a"}, {Type: "", NativeID: "x/\x00é"}, {Type: session.ToolCall, NativeID: "0bf1ac5e-1111"},
	} {
		h := fnv.New64a()
		h.Write([]byte(e.Type + "\x00" + e.NativeID))
		if got := nativeOf(&e); got != h.Sum64() {
			t.Errorf("%q %q: %#x", e.Type, e.NativeID, got)
		}
	}
	if got := nativeOf(&session.Event{Type: session.UserMessage}); got != 0 {
		t.Errorf("without an id: %#x", got)
	}
}
