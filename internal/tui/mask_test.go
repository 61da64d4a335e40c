package tui

import (
	"regexp"
	"testing"

	"github.com/yorehq/yore/internal/mask/masktest"
	"github.com/yorehq/yore/session"
)

var styles = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// TestNoScreenLeaks goes to every page over sessions that hold every kind of
// credential. A row is cut and wrapped by the screen's width, so pieces are
// looked for in whole rows and in rows put together.
func TestNoScreenLeaks(t *testing.T) {
	s := newStage(t)
	for i, c := range masktest.All() {
		h := header("s" + string(rune('a'+i%26)) + string(rune('a'+i/26)))
		h.CreatedAt += int64(i)
		s.put(h, "walnut "+c.Text(), "walnut "+c.Text()+" walnut", c.Text()+"\nwalnut")
		s.say(h.ID, session.Event{Type: session.ToolCall, Body: session.Body{CallID: "1", Blocks: []session.Block{{Kind: session.CallBlock, Name: "bash", Text: `{"command":"walnut \u001b[1m` + c.Text() + `"}`}}}})
	}
	s.open(nil)
	for _, size := range [][2]int{{140, 60}, {80, 24}, {50, 12}} {
		s.size(size[0], size[1])
		s.everyPage(func(name string) {
			rows := styles.ReplaceAllString(s.m.View().Content, "")
			if p := masktest.Left(rows); p != "" {
				t.Fatalf("%s at %v shows %q:\n%s", name, size, p, rows)
			}
			if p := masktest.Left(regexp.MustCompile(`[ │|\n]+`).ReplaceAllString(rows, "")); p != "" {
				t.Fatalf("%s at %v shows %q over rows:\n%s", name, size, p, rows)
			}
		})
		s.keys("esc")
	}
	for _, text := range s.clipboard {
		if p := masktest.Left(text); p != "" {
			t.Errorf("the clipboard is given %q", p)
		}
	}
}

// The status row says how many are masked; where none is, nothing.
func TestScreensCountTheMasked(t *testing.T) {
	s := newStage(t)
	a, b := masktest.All()[2].Text(), masktest.All()[3].Text()
	s.put(header("two"), "walnut", "walnut "+a, "plain", b+"\nwalnut")
	s.put(header("none"), "hazel", "hazel of no interest")
	s.open(nil)
	s.size(140, 40)
	s.write("hazel")
	s.lacks("masked")
	s.keys("enter")
	s.lacks("masked")
	s.keys("esc")
	s.keys("esc")
	s.write("walnut")
	s.keys("enter")
	s.sees("2 credentials masked")
	s.keys("r")
	s.sees("1 credential masked")
}
