package qwen

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// What a client sent to its model is the proof of the surface: every request, in
// order, is the surface at some moment of its log. testdata/<run>/sent.json lists
// the requests of the run that wrote the log beside it, without reminders.
func TestSurfaceIsWhatWasSent(t *testing.T) {
	runs, err := filepath.Glob(filepath.Join("testdata", "*", "sent.json"))
	if err != nil || len(runs) == 0 {
		t.Fatal("no runs", err)
	}
	for _, path := range runs {
		root := filepath.Dir(path)
		t.Run(filepath.Base(root), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var sent [][]string
			if err := json.Unmarshal(text, &sent); err != nil {
				t.Fatal(err)
			}
			found := readertest.Discover(t, New(), root)
			if len(found) != 1 {
				t.Fatalf("%d sessions", len(found))
			}
			events := read(t, found[0])
			var f session.Fold
			next := 0
			for i := range events {
				if _, err := f.Apply(&events[i]); err != nil {
					t.Fatal(err)
				}
				for next < len(sent) && slices.Equal(asSent(events, f.Surface()), sent[next]) {
					next++
				}
			}
			if next < len(sent) {
				t.Errorf("request %d was never the surface: %q\nin the end that is %q", next, sent[next], asSent(events, f.Surface()))
			}
			readertest.Run(t, New(), root)
		})
	}
}

// asSent writes a surface down as the requests are listed.
func asSent(events []session.Event, surface []int64) []string {
	var out []string
	for _, seq := range surface {
		e := &events[seq]
		role := "user: "
		switch e.Type {
		case session.ToolResult:
			out = append(out, "result: "+e.Body.CallID)
			continue
		case session.AssistantMessage:
			role = "model: "
		}
		for _, b := range e.Body.Blocks {
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, role+b.Text)
			}
		}
	}
	return out
}
