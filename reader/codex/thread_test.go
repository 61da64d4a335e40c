package codex

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

func paged(id, more string) string { return metaLine(id, `,"history_mode":"paginated"`+more) }

func baseOf(seg string, end int) string {
	return fmt.Sprintf(`,"history_base":{"thread_id":"%s","end_ordinal_exclusive":%d}`, seg, end)
}

// compress is the whole of a text as one zstd stream.
func compress(t testing.TB, content string) string {
	t.Helper()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(enc.EncodeAll([]byte(content), nil))
}

// parent is a thread of two turns: ordinals 0 to 4.
func parent() []string {
	return numbered(0, paged(idA, ""), itemLine(1, userItem("u1", "first")), itemLine(2, assistantItem("a1", "one")),
		itemLine(3, userItem("u2", "second")), itemLine(4, assistantItem("a2", "two")))
}

// segmentB goes on from the parent's first turn.
func segmentB() []string {
	return numbered(3, paged(idA, baseOf(idA, 3)), itemLine(5, userItem("u3", "another second")))
}

var wholeThread = []string{
	"0 codex/session_meta", `1 user/message append title="first" human: first`, "2 assistant/message step append assistant: one",
	"3 user/message append human: second", "4 assistant/message step append assistant: two",
	"5 codex/session_meta keep 2 []", "6 user/message append human: another second",
}

func TestSegments(t *testing.T) {
	root := home(t, map[string]string{rollout(idA): lines(parent()...), rollout(idA, idB): lines(segmentB()...)})
	first, second := source(t, root, rollout(idA)), source(t, root, rollout(idA, idB))
	if first.Header != second.Header {
		t.Errorf("two headers of one thread:\n%+v\n%+v", first.Header, second.Header)
	}
	for _, src := range []reader.Source{first, second} {
		events, _ := readAll(t, src)
		if diff := cmp.Diff(wholeThread, outline(events)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", filepath.Base(src.Path), diff)
		}
		if diff := cmp.Diff([]string{"human: first", "assistant: one", "human: another second"}, surface(t, events)); diff != "" {
			t.Errorf("surface (-want +got):\n%s", diff)
		}
		everyWay(t, src)
	}
	events, _ := readAll(t, second)
	if events[4].Place.Part != 0 || events[5].Place.Part != 1 {
		t.Errorf("places %+v, %+v", events[4].Place, events[5].Place)
	}
}

func TestSegmentsOfManyReverts(t *testing.T) {
	root := home(t, map[string]string{
		rollout(idA):      lines(parent()...),
		rollout(idA, idB): lines(segmentB()...),
		// Back to before the first turn's answer, past the beginning of the second segment.
		rollout(idA, idC): lines(numbered(2, paged(idA, baseOf(idA, 2)), itemLine(6, userItem("u4", "third")))...),
		// Back into the second segment, to its end.
		rollout(idA, idD): lines(numbered(5, paged(idA, baseOf(idB, 5)), itemLine(7, userItem("u5", "fourth")))...),
	})
	src := source(t, root, rollout(idA, idD))
	events, _ := readAll(t, src)
	want := append(append([]string{}, wholeThread...),
		"7 codex/session_meta keep 1 []", "8 user/message append human: third",
		"9 codex/session_meta keep 1 [2 6]", "10 user/message append human: fourth")
	if diff := cmp.Diff(want, outline(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"human: first", "assistant: one", "human: another second", "human: fourth"}, surface(t, events)); diff != "" {
		t.Errorf("surface (-want +got):\n%s", diff)
	}
	everyWay(t, src)
}

// Segments of other days are found as far as something goes on from them.
func TestSegmentsOfOtherDays(t *testing.T) {
	elsewhere := func(month string, ids ...string) string {
		return "sessions/2027/" + month + "/01/" + filepath.Base(rollout(ids...))
	}
	last := elsewhere("03", idA, idC)
	root := home(t, map[string]string{
		rollout(idA):                    lines(parent()...),
		elsewhere("02", idA, idB):       lines(segmentB()...),
		last:                            lines(numbered(5, paged(idA, baseOf(idB, 5)), itemLine(7, userItem("u5", "fourth")))...),
		elsewhere("02", idD, idB) + "x": "no log",
	})
	events, _ := readAll(t, source(t, root, last))
	want := append(append([]string{}, wholeThread...), "7 codex/session_meta", "8 user/message append human: fourth")
	if diff := cmp.Diff(want, outline(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRevertToTheStart(t *testing.T) {
	root := home(t, map[string]string{
		rollout(idA): lines(parent()...), rollout(idA, idB): lines(numbered(0, paged(idA, ""), itemLine(5, userItem("", "anew")))...),
	})
	events, _ := readAll(t, source(t, root, rollout(idA, idB)))
	if diff := cmp.Diff([]string{"human: anew"}, surface(t, events)); diff != "" {
		t.Errorf("surface (-want +got):\n%s", diff)
	}
}

func forkFile() string {
	return lines(numbered(3, paged(idC, `,"forked_from_id":"`+idA+`"`+baseOf(idA, 3)), itemLine(9, userItem("u9", "fork's own")))...)
}

func TestPaginatedFork(t *testing.T) {
	want := []string{
		"0 codex/session_meta", `1 user/message append title="first" human: first`, "2 assistant/message step append assistant: one",
		"3 codex/session_meta", "4 user/message append human: fork's own",
	}
	for name, files := range map[string]map[string]string{
		"beside":     {rollout(idA): lines(parent()...)},
		"archived":   {"archived_sessions/" + filepath.Base(rollout(idA)): lines(parent()...)},
		"compressed": {rollout(idA) + ".zst": compress(t, lines(parent()...))},
		"far away":   {"sessions/2020/01/01/" + filepath.Base(rollout(idA)): lines(parent()...)},
		"both":       {rollout(idA): lines(parent()...), rollout(idA) + ".zst": "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			files[rollout(idC)] = forkFile()
			root := home(t, files)
			src := source(t, root, rollout(idC))
			if src.Header.SeedLength != 3 || src.Header.ParentSession != idA {
				t.Errorf("header %+v", src.Header)
			}
			events, tail := readAll(t, src)
			if diff := cmp.Diff(want, outline(events)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(tail.Skips) > 0 {
				t.Errorf("skips %+v", tail.Skips)
			}
			if got := events[1].NativeID + " " + events[0].NativeID; got != "u1 "+idA+"/0" {
				t.Errorf("native ids %s", got)
			}
			everyWay(t, src)
		})
	}
}

// A fork that inherits a compaction counts all of its events, and a fork of a
// reverted thread takes no abandoned line.
func TestForkSeeds(t *testing.T) {
	log := numbered(0, paged(idA, ""), itemLine(1, userItem("u1", "first")), itemLine(2, userItem("u2", "second")),
		compacted(3, "sum", userItem("u2", "second"), userItem("s", "sum")), itemLine(4, userItem("u3", "third")))
	root := home(t, map[string]string{
		rollout(idA):      lines(log...),
		rollout(idA, idB): lines(numbered(4, paged(idA, baseOf(idA, 4)), itemLine(5, userItem("u4", "fourth")))...),
		rollout(idC):      lines(numbered(6, paged(idC, baseOf(idB, 6)), itemLine(6, userItem("u5", "own")))...),
	})
	src := source(t, root, rollout(idC))
	events, _ := readAll(t, src)
	want := []string{
		"0 codex/session_meta", `1 user/message append title="first" human: first`, "2 user/message append human: second",
		"3 user/message append summary: sum", "4 codex/compacted keep -1 [2 3]",
		"5 codex/session_meta", "6 user/message append human: fourth",
		"7 codex/session_meta", "8 user/message append human: own",
	}
	if diff := cmp.Diff(want, outline(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if src.Header.SeedLength != 7 {
		t.Errorf("seed %d", src.Header.SeedLength)
	}
	everyWay(t, src)
}

// Without its first segment a thread is as old as its id.
func TestMissingFirstSegment(t *testing.T) {
	root := home(t, map[string]string{rollout(idA, idB): lines(segmentB()...)})
	src := source(t, root, rollout(idA, idB))
	events, tail := readAll(t, src)
	want := session.Header{Agent: session.Codex, ID: idA, CreatedAt: 0x01a22bac0000, Cwd: "/w"}
	if src.Header != want || len(events) != 2 || len(tail.Skips) != 1 {
		t.Errorf("header %+v, %d events, skips %+v", src.Header, len(events), tail.Skips)
	}
}

func TestMissingBase(t *testing.T) {
	root := home(t, map[string]string{rollout(idC): forkFile()})
	src := source(t, root, rollout(idC))
	events, tail := readAll(t, src)
	if len(events) != 2 || src.Header.SeedLength != 0 || src.Header.ParentSession != idA || len(tail.Skips) != 1 {
		t.Errorf("%d events, header %+v, skips %+v", len(events), src.Header, tail.Skips)
	}
	put(t, root, rollout(idA), lines(parent()...))
	if rev, _, err := New().Revise(context.Background(), src, tail.Position); err != nil || rev != reader.Replaced {
		t.Errorf("when the base appears: revision %d, %v", rev, err)
	}
}

func TestBaseRings(t *testing.T) {
	root := home(t, map[string]string{
		rollout(idA): lines(numbered(3, paged(idA, baseOf(idB, 3)), itemLine(1, userItem("", "a")))...),
		rollout(idB): lines(numbered(3, paged(idB, baseOf(idC, 3)), itemLine(1, userItem("", "b")))...),
		rollout(idC): lines(numbered(3, paged(idC, baseOf(idB, 3)), itemLine(1, userItem("", "c")))...),
		rollout(idD): lines(numbered(3, paged(idD, baseOf("../../etc/passwd", 3)), itemLine(1, userItem("", "d")))...),
	})
	for _, id := range []string{idA, idB, idC, idD} {
		events, _ := readAll(t, source(t, root, rollout(id)))
		if n := len(events); n != 2 {
			t.Errorf("%s: %d events", id, n)
		}
	}
}

// What is noticed in the files beside the primary one, and what is none of the
// thread's business.
func TestReviseBases(t *testing.T) {
	later := time.Now().Add(time.Hour)
	write := func(content string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(content), 0o600) }
	}
	for _, tc := range []struct {
		name   string
		of     string // the source
		change func(path string) error
		want   reader.Revision
	}{
		{"nothing", rollout(idC), func(string) error { return nil }, reader.Unchanged},
		{"a parent goes on", rollout(idC), write(lines(append(parent(), itemLine(9, userItem("", "more")))...)), reader.Unchanged},
		{"a parent is touched", rollout(idC), func(p string) error { return os.Chtimes(p, later, later) }, reader.Unchanged},
		{"a parent is rewritten", rollout(idC), write(strings.Replace(lines(parent()...), "first", "fjrst", 1)), reader.Replaced},
		{"a parent is removed", rollout(idC), os.Remove, reader.Replaced},
		{"a parent is cut", rollout(idC), write(lines(parent()[:2]...)), reader.Replaced},
		{"an earlier segment grows", rollout(idA, idB), write(lines(append(parent(), itemLine(9, userItem("", "more")))...)), reader.Replaced},
		{"an earlier segment is touched", rollout(idA, idB), func(p string) error { return os.Chtimes(p, later, later) }, reader.Unchanged},
		{"an earlier segment is removed", rollout(idA, idB), os.Remove, reader.Replaced},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := home(t, map[string]string{rollout(idA): lines(parent()...), rollout(idA, idB): lines(segmentB()...), rollout(idC): forkFile()})
			src := source(t, root, tc.of)
			_, tail := readAll(t, src)
			if err := tc.change(filepath.Join(root, rollout(idA))); err != nil {
				t.Fatal(err)
			}
			rev, _, err := New().Revise(context.Background(), src, tail.Position)
			if err != nil || rev != tc.want {
				t.Errorf("revision %d, %v; want %d", rev, err, tc.want)
			}
		})
	}
}

// Growth of the primary file costs its new lines only, bases or not.
func TestGrowthOnBases(t *testing.T) {
	root := home(t, map[string]string{rollout(idA): lines(parent()...), rollout(idC): forkFile()})
	src := source(t, root, rollout(idC))
	_, tail := readAll(t, src)
	more := lines(numbered(5, itemLine(10, userItem("", "more")))...)
	put(t, root, rollout(idC), forkFile()+more)
	if rev, _, err := New().Revise(context.Background(), src, tail.Position); err != nil || rev != reader.Grown {
		t.Fatalf("revision %d, %v", rev, err)
	}
	var got []session.Event
	next, err := New().Read(context.Background(), src, tail.Position, func(e session.Event) error { got = append(got, e); return nil })
	if err != nil || next.Bytes != int64(len(more)) {
		t.Errorf("%d bytes for %d new ones, %v", next.Bytes, len(more), err)
	}
	if diff := cmp.Diff([]string{"5 user/message append human: more"}, outline(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A fork of a fork may go on from before where its base began.
func TestForkBeforeItsBase(t *testing.T) {
	root := home(t, map[string]string{
		rollout(idA): lines(parent()...), rollout(idC): forkFile(),
		rollout(idD): lines(numbered(2, paged(idD, baseOf(idC, 2)), itemLine(9, userItem("", "own")))...),
	})
	src := source(t, root, rollout(idD))
	events, _ := readAll(t, src)
	want := []string{
		"0 codex/session_meta", `1 user/message append title="first" human: first`, "2 codex/session_meta", "3 user/message append human: own",
	}
	if diff := cmp.Diff(want, outline(events)); diff != "" || src.Header.SeedLength != 2 {
		t.Errorf("seed %d (-want +got):\n%s", src.Header.SeedLength, diff)
	}
}
