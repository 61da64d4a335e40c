package readertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yorehq/yore/session"
)

// Outline shows events, one line each, for expectations that a person writes:
// number, type, what it does to the surface, what it cites, and who says what.
func Outline(events []session.Event) []string {
	out := make([]string, 0, len(events))
	for i := range events {
		e := &events[i]
		s := fmt.Sprintf("%d %s", e.Seq, e.Type)
		if e.Step {
			s += " step"
		}
		switch e.Op.Kind {
		case session.OpAppend:
			s += " append"
		case session.OpReplace:
			s += fmt.Sprintf(" replace %d-%d", e.Op.Start, e.Op.End)
		case session.OpSelect:
			s += fmt.Sprintf(" keep %d %v", e.Op.Keep, e.Op.Nodes)
		}
		if e.Sources != nil {
			s += fmt.Sprintf(" from %v", e.Sources)
		}
		if e.Body.CallID != "" {
			s += " #" + e.Body.CallID
		}
		if e.Body.ErrorName != "" {
			s += " !" + e.Body.ErrorName
		}
		if e.Body.Title != nil {
			s += fmt.Sprintf(" title=%q", *e.Body.Title)
		}
		if text := Said(e); text != "" {
			s += " " + text
		}
		out = append(out, s)
	}
	return out
}

// Said shows who says what in an event.
func Said(e *session.Event) string {
	who := [...]string{"", "human", "injected", "summary", "assistant", "tool", "action"}[e.Body.Speaker]
	return strings.TrimSuffix(who+": "+texts(e.Body.Blocks), ": ")
}

func texts(blocks []session.Block) string {
	var parts []string
	for _, b := range blocks {
		switch b.Kind {
		case session.TextBlock:
			parts = append(parts, b.Text)
		case session.CallBlock:
			parts = append(parts, b.Name+"("+b.Text+")")
		case session.ResultBlock:
			parts = append(parts, texts(b.Content))
		}
	}
	return strings.Join(parts, " | ")
}

// Surface folds events, which must be sound, and shows what is current.
func Surface(t testing.TB, events []session.Event) []string {
	t.Helper()
	var f session.Fold
	for i := range events {
		if _, err := f.Apply(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	var out []string
	for _, seq := range f.Surface() {
		out = append(out, Said(&events[seq]))
	}
	return out
}
