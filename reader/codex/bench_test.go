package codex

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
)

// BenchmarkRead reads a log of many turns whole.
func BenchmarkRead(b *testing.B) {
	for _, turns := range []int{100, 10_000} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			records := []string{metaLine(idA, "")}
			for i := range turns {
				call := fmt.Sprint("call_", i)
				records = append(records,
					eventLine(i%3600, `{"type":"task_started"}`), itemLine(i%3600, userItem("", fmt.Sprint("prompt ", i))),
					itemLine(i%3600, callItem(call, "shell", `{"command":["ls","-la"]}`)),
					itemLine(i%3600, outputItem(call, strings.Repeat("drwxr-xr-x \"x\"\n", 200))),
					itemLine(i%3600, assistantItem(fmt.Sprint("msg_", i), "done")), eventLine(i%3600, `{"type":"token_count","info":{"total":1}}`))
			}
			log := lines(records...)
			root := home(b, map[string]string{rollout(idA): log})
			src := source(b, root, rollout(idA))
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := readertest.ReadFrom(New(), src, reader.Position{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
