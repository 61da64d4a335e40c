package openclaw

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// A row far longer than is kept of any is found by what stands in it, and given
// byte for byte: as a whole, and each call in it, with line ends as the row has
// them. What is behind it is not lost.
func TestLongRows(t *testing.T) {
	deep := strings.Repeat(`{"a":[["`+strings.Repeat("x", 90)+`"]]},`, 60_000) // 6 MB that no text is
	block := fmt.Sprintf("{\"type\":\"toolCall\",\"id\":\"c1\",\"name\":\"write\",\"arguments\":{\"rows\":[%snull],\n\"end\":\"quince\"}}", deep)
	long := fmt.Sprintf("{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\",\n%s,\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"%s medlar\"},%s]}}", at, strings.Repeat("y", 5<<20), block)
	c := newClaw(t)
	c.start("s1", "k", 1000)
	c.add("s1", user("a", "", "hi"), long, user("d", "b", "bye"))
	src := c.sources()["s1"]
	events, tail := read(t, src, reader.Position{})
	if len(events) != 4 || len(tail.Skips) != 0 || events[3].Body.Blocks[0].Text != "bye" {
		t.Fatalf("%d events, %d skips", len(events), len(tail.Skips))
	}
	if text := events[1].Body.Blocks[0].Text; !strings.HasSuffix(text, " medlar") {
		t.Errorf("a text of %d bytes has lost its end", len(text))
	}
	if name := events[2].Body.Blocks[0].Name; name != "write" {
		t.Errorf("the call is of %q", name)
	}
	for seq, want := range map[int64]string{1: long, 2: block} {
		var raws []session.Raw
		_, err := New().Window(context.Background(), src, session.Checkpoint{}, seq, seq, session.Every(), func(r session.Raw) error {
			raws = append(raws, r)
			return nil
		})
		if err != nil || len(raws) != 1 || string(raws[0].Native) != want {
			t.Errorf("event %d: %d raws, %v", seq, len(raws), err)
			for _, r := range raws {
				t.Errorf("%d bytes, want %d", len(r.Native), len(want))
			}
		}
	}
}
