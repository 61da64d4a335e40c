package dsh

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// A long line costs bounded memory, whether its text is needed or not, in either
// encoding; what is around the text is still understood.
func TestLongLines(t *testing.T) {
	const long = 64 << 20
	text := strings.Repeat("long text ", long/10)
	needed := `{"type":"user/message","seq":0,"time":1,"data":{"id":"m","role":"user","content":[{"type":"text","text":"` + text +
		`"},{"type":"text","text":"` + text[:20<<20] + `"},{"type":"text","text":"` + text[:20<<20] + `"}],"source":{"kind":"user"}},"sourceEventSeqs":[],"surfaceOp":"append"}`
	unneeded := `{"type":"tool/code-dispatch","seq":0,"time":1,"data":{"content":"` + text + `"}}`
	const most = 100 << 20
	read := func(src reader.Source, line string) session.Event {
		readertest.WindowMemory(t, New(), src, session.Range{}, most)
		readertest.WindowMemory(t, New(), src, session.One(1), most)
		raws := readertest.WindowMemory(t, New(), src, session.One(0), uint64(most+len(line)))
		if len(raws) != 2 || string(raws[0].Native) != line || raws[1].Native != nil {
			t.Errorf("%s: %d events, the bytes of the first are not those of its line", src.Path, len(raws))
		}
		events := readertest.Memory(t, New(), src, most)
		if len(events) != 2 || !events[0].Body.Clipped || events[1].Body.Clipped {
			t.Fatalf("%s: %d events", src.Path, len(events))
		}
		return events[0]
	}
	e := read(rawLog(t, nil, needed, turnStart(1)), needed)
	if e.Body.Speaker != session.Human || e.Op.Kind != session.OpAppend || e.Sources == nil || len(e.Body.Blocks) != 3 {
		t.Error("the long event is not understood")
	}
	if got := len(e.Body.Blocks[0].Text); got < 8<<20 || got > 9<<20 {
		t.Errorf("%d bytes of the text were kept", got)
	}
	read(zstdLog(t, nil, unneeded+"\n"+turnStart(1)+"\n"), unneeded)
}

// An event in an older shape is made anew of the whole line, in one copy.
func TestLongLegacyLine(t *testing.T) {
	text := strings.Repeat("long text ", 6<<20)
	src := rawLog(t, nil, turnStart(0), `{"type":"tool/result","seq":1,"time":1,"data":{"turn":1,"step":1,"callId":"c","content":[{"type":"text","text":"`+text+
		`"}],"isError":true},"surfaceOp":"append"}`, turnStart(2))
	const most = 100 << 20
	readertest.WindowMemory(t, New(), src, session.Range{}, most)
	raws := readertest.WindowMemory(t, New(), src, session.One(1), uint64(most+2*len(text)))
	want := `{"type":"tool/result","seq":1,"time":1,"data":{"turn":1,"step":1,"message":{"id":"legacy-message:s:1","role":"user","content":[` +
		`{"type":"tool-result","toolCallId":"c","content":[{"type":"text","text":"` + text + `"}],"isError":true}],"source":{"kind":"tool","callId":"c"}}},"surfaceOp":"append"}`
	if len(raws) != 3 || !raws[1].Event.Reconstructed || string(raws[1].Native) != want {
		t.Errorf("%d events; the older one is made to %.400s", len(raws), raws[1].Native)
	}
}

// Values may lie as deep in one another as their line is long, and what reads
// past them does not grow with it; text is taken from no such depth.
func TestDeepLines(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":[`, n) + strings.Repeat(`]}`, n) }
	result := func(seq int, extra string) string {
		return fmt.Sprintf(`{"type":"tool/result","seq":%d,"time":1,"data":{"x":%s,"message":{"id":"m","role":"user","source":{"kind":"tool","callId":"c"},"content":[{"type":"tool-result","toolCallId":"c","content":[%s{"type":"text","text":"out"}]}]}},"surfaceOp":"append"}`,
			seq, extra, strings.Repeat(`{"type":"tool-result","content":[`, 5_000)+`{"type":"text","text":"too deep"}`+strings.Repeat(`]}`, 5_000)+",")
	}
	var lines []string
	for _, n := range []int{1, 4_999, 5_000, 1_400_000} {
		lines = append(lines,
			fmt.Sprintf(`{"type":"tool/code-dispatch","seq":%d,"time":1,"data":%s}`, len(lines), deep(n)),
			result(len(lines)+1, deep(n)))
	}
	lines = append(lines, turnStart(len(lines)))
	frames := strings.Join(lines, "\n") + "\n"
	for _, src := range []reader.Source{rawLog(t, nil, lines...), zstdLog(t, nil, frames)} {
		events := readertest.Memory(t, New(), src, 200<<20)
		if len(events) != len(lines) {
			t.Fatalf("%d events of %d", len(events), len(lines))
		}
		for i, raw := range readWindow(t, src, session.Checkpoint{}, 0, int64(len(lines))) {
			if string(raw.Native) != lines[i] {
				t.Errorf("event %d comes back as %d bytes of %d", i, len(raw.Native), len(lines[i]))
			}
		}
		for _, e := range events {
			if e.Type != session.ToolResult || e.Body.Clipped {
				continue
			}
			text := fmt.Sprint(e.Body.Blocks)
			if strings.Contains(text, "too deep") || !strings.Contains(text, "out") {
				t.Errorf("event %d has the text %.80s", e.Seq, text)
			}
		}
	}
}

// A window gives a long line as a whole, and passes over one before it.
func TestLongLineInWindow(t *testing.T) {
	text := strings.Repeat("long text ", 1<<20)
	line := func(seq int) string {
		return fmt.Sprintf(`{"type":"tool/code-dispatch","seq":%d,"time":1,"data":{"content":"%s"}}`, seq, text)
	}
	packed := `{"type":"text-chunks","seq0":2,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[1],"texts":["` + text + `","b"]}}`
	src := rawLog(t, nil, line(0), line(1), packed, turnStart(4))
	got := readWindow(t, src, session.Checkpoint{}, 1, 1)
	if len(got) != 1 || string(got[0].Native) != line(1) {
		t.Error("the long line is not whole")
	}
	got = readWindow(t, src, session.Checkpoint{}, 3, 4)
	if len(got) != 2 || !json.Valid(got[0].Native) || got[1].Event.Seq != 4 {
		t.Errorf("%d events behind a long packed row", len(got))
	}
	got = readWindow(t, src, session.Checkpoint{}, 2, 2)
	if len(got) != 1 || len(got[0].Native) < len(text) {
		t.Error("a long member is not whole")
	}
}
