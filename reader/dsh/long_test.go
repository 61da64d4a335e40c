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
	const long = 96 << 20
	text := strings.Repeat("long text ", long/10)
	needed := `{"type":"user/message","seq":0,"time":1,"data":{"id":"m","role":"user","content":[{"type":"text","text":"` + text +
		`"},{"type":"text","text":"` + text[:20<<20] + `"},{"type":"text","text":"` + text[:20<<20] + `"}],"source":{"kind":"user"}},"sourceEventSeqs":[],"surfaceOp":"append"}`
	unneeded := `{"type":"tool/code-dispatch","seq":0,"time":1,"data":{"content":"` + text + `"}}`
	const most = 100 << 20
	read := func(src reader.Source) session.Event {
		events := readertest.Memory(t, New(), src, most)
		if len(events) != 2 || !events[0].Body.Clipped || events[1].Body.Clipped {
			t.Fatalf("%s: %d events", src.Path, len(events))
		}
		return events[0]
	}
	e := read(rawLog(t, nil, needed, turnStart(1)))
	if e.Body.Speaker != session.Human || e.Op.Kind != session.OpAppend || e.Sources == nil || len(e.Body.Blocks) != 3 {
		t.Error("the long event is not understood")
	}
	if got := len(e.Body.Blocks[0].Text); got < 8<<20 || got > 9<<20 {
		t.Errorf("%d bytes of the text were kept", got)
	}
	read(zstdLog(t, nil, unneeded+"\n"+turnStart(1)+"\n"))
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
