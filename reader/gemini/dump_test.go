package gemini

import (
	"fmt"
	"os"
	"testing"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

func TestDump(t *testing.T) {
	root := os.Getenv("DUMP")
	if root == "" {
		t.Skip()
	}
	for _, src := range readertest.Discover(t, New(), root) {
		fmt.Printf("%s\n%+v\n", src.Path, src.Header)
		events, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
		if err != nil {
			t.Fatal(err)
		}
		var f session.Fold
		for _, e := range events {
			if _, err := f.Apply(&e); err != nil {
				t.Error(err)
			}
			title := ""
			if e.Body.Title != nil {
				title = " TITLE " + *e.Body.Title
			}
			fmt.Printf("%d %d %s op%+v sp%d call=%q err=%q %.200q%s\n", e.Seq, e.Time, e.Type, e.Op, e.Body.Speaker, e.Body.CallID, e.Body.ErrorName, fmt.Sprint(e.Body.Blocks), title)
		}
		fmt.Println(f.Surface(), tail.Skips, len(tail.Position.State))
	}
}
