package codex

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yorehq/yore/session"
)

// An exact read costs what lies between it and its checkpoint, however long the
// log. Only what depends on the surface makes the thread be read up to there: the
// compaction itself, and what stands behind it without a checkpoint between. A
// packed log is decoded up to the event, and no further.
func TestWhatAnExactReadCosts(t *testing.T) {
	records := []string{metaLine(idA, "")}
	const turns = 1500
	for i := range turns {
		call := fmt.Sprint("call_", i)
		records = append(records,
			eventLine(i%3600, `{"type":"task_started"}`), itemLine(i%3600, userItem("", fmt.Sprint("prompt ", i))),
			itemLine(i%3600, callItem(call, "shell", "{}")), itemLine(i%3600, outputItem(call, strings.Repeat("o", 4000))))
	}
	records = append(records, compacted(0, "", opaque))
	behind := int64(len(records)) + 1 // a compaction of one new item gives two events
	records = append(records, itemLine(1, assistantItem("", "done")), itemLine(2, userItem("", "more")))
	log := lines(records...)
	root := home(t, map[string]string{rollout(idA): log})
	src := source(t, root, rollout(idA))
	events, _ := readAll(t, src)
	offset := func(seq int64) int64 { return events[seq].Place.Offset }
	packedRoot := home(t, map[string]string{rollout(idA) + ".zst": compress(t, log)})
	packedSrc := source(t, packedRoot, rollout(idA)+".zst")
	size := int64(len(compress(t, log)))

	last := int64(len(events)) - 1
	for _, tc := range []struct {
		name     string
		from, at int64
		most     int64
	}{
		{"at its checkpoint", 4000, 4000, offset(4001) - offset(4000)},
		{"behind its checkpoint", 4000, 3900, offset(4001) - offset(3900)},
		{"at the beginning", 3, 0, offset(4)},
		{"the end, from a checkpoint behind the compaction", last, behind, int64(len(log)) - offset(behind)},
		{"the end, from one before it", last, behind - 3, offset(behind) + int64(len(log)) - offset(behind-3)},
	} {
		for _, of := range []struct {
			packed bool
			most   int64
		}{{false, tc.most}, {true, 2 * size}} {
			from := src
			if of.packed {
				from = packedSrc
			}
			var got []session.Raw
			_, bytes, err := readWindow(t.Context(), from, session.Checkpoint{Seq: tc.at, Place: events[tc.at].Place}, tc.from, tc.from, session.Every(), func(raw session.Raw) error {
				got = append(got, raw)
				return nil
			})
			if err != nil || len(got) != 1 || got[0].Event.Seq != tc.from {
				t.Fatalf("%s, packed %v: %d events, %v", tc.name, of.packed, len(got), err)
			}
			if bytes > of.most {
				t.Errorf("%s, packed %v: %d bytes were parsed, at most %d are needed", tc.name, of.packed, bytes, of.most)
			}
		}
	}
}
