package pi

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// The client's own session manager (release 1.6.0) made the logs below
// testdata/made by chance: prompts, answers, failed ones, calls, branches,
// summaries, compactions, edits, forks. Behind each entry its loader was asked
// what the model would be sent; testdata/contexts holds the answers. The surface
// must be that, after every single entry.
func TestContextsOfTheClient(t *testing.T) {
	checked := 0
	for _, src := range readertest.Discover(t, New(), "testdata/made") {
		var want [][]string
		text, err := os.ReadFile(filepath.Join("testdata/contexts", string(src.Header.ID)+".json"))
		if err == nil {
			err = json.Unmarshal(text, &want)
		}
		if err != nil {
			t.Fatal(err)
		}
		log, err := os.ReadFile(src.Path)
		if err != nil {
			t.Fatal(err)
		}
		events, _, err := readertest.ReadFrom(New(), src, reader.Position{})
		if err != nil {
			t.Fatal(err)
		}
		var f session.Fold
		entry, offset, next := 0, 0, 0
		for line := range bytes.Lines(log) {
			offset += len(line)
			if entry == 0 {
				entry++
				continue // the header
			}
			for next < len(events) && events[next].Place.Offset < int64(offset) {
				if _, err := f.Apply(&events[next]); err != nil {
					t.Fatalf("%s, entry %d: %v", src.Header.ID, entry, err)
				}
				next++
			}
			got := []string{}
			for _, seq := range f.Surface() {
				_, said, _ := strings.Cut(readertest.Said(&events[seq]), ": ")
				got = append(got, said)
			}
			if diff := cmp.Diff(want[entry-1], got); diff != "" {
				t.Fatalf("%s, behind entry %d %s (-client +surface):\n%s", src.Header.ID, entry, line, diff)
			}
			entry++
			checked++
		}
		if entry != len(want)+1 {
			t.Errorf("%s: %d entries, the client knows %d", src.Header.ID, entry-1, len(want))
		}
	}
	if checked < 300 {
		t.Errorf("only %d entries were compared", checked)
	}
}
