package dsh

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// one decodes a line as the first event of a log.
func one(line string) ([]session.Raw, error) {
	return NewDecoder(session.Header{Agent: session.DSH, ID: "s"}).Event([]byte(line))
}

const (
	persistence = fault.Persistence
	corrupt     = fault.CorruptSession
)

// What one line may and may not be; code "" is a sound line.
func TestLineRules(t *testing.T) {
	event := func(typ, data, more string) string {
		return `{"type":"` + typ + `","seq":0,"time":1,"data":` + data + more + `}`
	}
	user := func(message, more string) string { return event("user/message", message, `,"surfaceOp":"append"`+more) }
	const sound = `{"id":"m","role":"user","content":[],"source":{"kind":"user"}}`
	result := func(source, block string) string {
		return event("tool/result", `{"message":{"id":"r","role":"user","source":`+source+`,"content":`+block+`}}`, `,"surfaceOp":"append"`)
	}
	for _, c := range []struct {
		line string
		code fault.Code
	}{
		{event("goal/change", `{}`, ""), ""},
		{event("goal/change", `null`, ""), ""},
		{event("goal/change", `{}`, `,"ignorable":true`), ""},
		{event("goal/change", `{}`, `,"ignorable":null`), corrupt},
		{event("stranger", `{}`, `,"ignorable":true`), ""},
		{event("stranger", `{}`, ""), persistence},
		{event("request/header-delta", `{}`, ""), corrupt},
		{event("mode/set", `{}`, ""), corrupt},
		{event("goal/change", `{}`, `,"extra":1`), corrupt},
		{event("goal/change", `{}`, `,"seq0":1`), corrupt},
		{" \t" + event("goal/change", `{}`, "") + "\r", ""},
		{`{"type":"goal/change","seq":0.0,"time":-1e3,"data":{}}`, ""},
		{`{"type":"goal/change","seq":7,"seq":0,"time":1,"data":{}}`, ""},
		{`{"\u0074ype":"goal/change","seq":0,"time":1,"data":{}}`, ""},
		{`{"type":"goal/change","seq":0,"time":9007199254740992,"data":{}}`, corrupt},
		{`{"type":"goal/change","seq":0,"time":"1","data":{}}`, corrupt},
		{`{"type":7,"seq":0,"time":1,"data":{}}`, corrupt},
		{`{"seq":0,"time":1,"data":{}}`, corrupt},
		{`{"type":"goal/change","seq":0,"time":1}`, corrupt},
		{`{"type":"goal/change","seq":1,"time":1,"data":{}}`, persistence},
		{`{"type":"goal/change","seq":"0","time":1,"data":{}}`, persistence},
		{`{"type":"goal/change","time":1,"data":{}}`, persistence},
		{`{"type":"goal/change","seq":0,"time":1,"data":{}} {}`, persistence},
		{`[]`, persistence},
		{`null`, persistence},
		{``, persistence},
		{"\xef\xbb\xbf" + event("goal/change", `{}`, ""), persistence},

		{user(sound, ""), ""},
		{user(`{"id":"m","role":"user","content":[],"source":{"kind":"relay"}}`, ""), ""},
		{user(`{"id":"m","content":[],"source":{"kind":"user"}}`, ""), corrupt},
		{user(`{"role":"user","content":[],"source":{"kind":"user"}}`, ""), corrupt},
		{user(`{"id":7,"role":"user","content":[],"source":{"kind":"user"}}`, ""), corrupt},
		{user(`{"id":"m","role":"user","content":{},"source":{"kind":"user"}}`, ""), corrupt},
		{user(`{"id":"m","role":"user","content":[],"source":"user"}`, ""), corrupt},
		{user(`{"content":[],"source":{}}`, ""), corrupt},
		{user(`[]`, ""), corrupt},
		{user(sound, `,"sourceEventSeqs":[0.5]`), corrupt},
		{user(sound, `,"sourceEventSeqs":[-1]`), corrupt},
		{user(sound, `,"sourceEventSeqs":null`), corrupt},
		{event("user/message", sound, `,"surfaceOp":{"op":"replace","start":0}`), corrupt},
		{event("user/message", sound, `,"surfaceOp":{"op":"select","start":0,"end":0}`), corrupt},

		{result(`{"kind":"tool","callId":"c"}`, `[{"type":"tool-result","toolCallId":"c","content":[]}]`), ""},
		{result(`{"kind":"tool","callId":"\u0063"}`, `[{"type":"tool-result","toolCallId":"c","content":[]}]`), ""},
		{result(`{"kind":"tool"}`, `[{"type":"tool-result","content":[]}]`), corrupt},
		{result(`{"kind":"tool","callId":"c"}`, `[]`), corrupt},
		{result(`{"kind":"tool","callId":"c"}`, `[{"type":"text","toolCallId":"c"}]`), corrupt},

		{event("turn/end", `{"turn":1,"reason":{"kind":"completed"}}`, ""), ""},
		{event("turn/end", `{"turn":1,"reason":{"kind":"stranger","note":1}}`, ""), ""},
		{event("turn/end", `{"turn":1,"reason":{"kind":"error"}}`, ""), corrupt},
		{event("turn/end", `{"turn":1,"reason":"completed"}`, ""), corrupt},
		{event("turn/end", `{"turn":1}`, ""), corrupt},
		{event("request/header", `{"header":{"config":{"provider":"p","model":"m"}},"reason":"resume"}`, ""), ""},
		{event("request/header", `{"header":{"config":{"provider":"p","model":""}},"reason":"resume"}`, ""), corrupt},
	} {
		_, err := one(c.line)
		if code, _ := fault.Of(err); code != c.code {
			t.Errorf("%s: %v, want %q", c.line, err, c.code)
		}
	}
}

func TestPackedRows(t *testing.T) {
	row := func(typ, seq, data string) string {
		return `{"type":"` + typ + `","seq0":` + seq + `,"time0":10,"data":{"turn":1,"step":2,"index":3,` + data + `}}`
	}
	for line, members := range map[string]int{
		row("text-chunks", "0", `"dt":[5,-7],"texts":["a","b","c"]`):                                                      3,
		row("text-chunks", "0", `"dt":[],"texts":["a"]`):                                                                  1,
		row("reasoning-chunks", "0", `"dt":[1],"texts":["a","b"]`):                                                        2,
		row("tool-call-chunks", "0", `"id":"c","dt":[1],"args":["a","b"]`):                                                2,
		row("tool-call-chunks", "0", `"id":"c","name":"n","dt":[1],"args":["a","b"]`):                                     2,
		row("text-chunks", "1", `"dt":[],"texts":["a"]`):                                                                  0,
		row("text-chunks", "-0", `"dt":[],"texts":["a"]`):                                                                 1,
		row("text-chunks", "0", `"dt":[],"texts":[]`):                                                                     0,
		row("text-chunks", "0", `"dt":[1,2],"texts":["a","b"]`):                                                           0,
		row("text-chunks", "0", `"dt":[],"texts":["a","b"]`):                                                              0,
		row("text-chunks", "0", `"dt":[0.5],"texts":["a","b"]`):                                                           0,
		row("text-chunks", "0", `"dt":[9007199254740991],"texts":["a","b"]`):                                              0,
		row("text-chunks", "0", `"dt":["1"],"texts":["a","b"]`):                                                           0,
		row("text-chunks", "0", `"dt":[],"texts":[1]`):                                                                    0,
		row("text-chunks", "0", `"dt":[],"texts":"a"`):                                                                    0,
		row("text-chunks", "0", `"id":"c","dt":[],"texts":["a"]`):                                                         0,
		row("text-chunks", "0", `"dt":[],"args":["a"]`):                                                                   0,
		row("tool-call-chunks", "0", `"dt":[],"args":["a"]`):                                                              0,
		row("tool-call-chunks", "0", `"id":"c","name":7,"dt":[],"args":["a"]`):                                            0,
		strings.Replace(row("text-chunks", "0", `"dt":[],"texts":["a"]`), `"turn":1,`, ``, 1):                             0,
		strings.Replace(row("text-chunks", "0", `"dt":[],"texts":["a"]`), `"time0":10`, `"time0":10,"seq":0`, 1):          0,
		strings.Replace(row("text-chunks", "0", `"dt":[],"texts":["a"]`), `"time0":10`, `"time0":10,"ignorable":true`, 1): 0,
		strings.Replace(row("text-chunks", "0", `"dt":[],"texts":["a"]`), `"time0":10`, `"time0":1.5`, 1):                 0,
	} {
		raws, err := one(line)
		if code, _ := fault.Of(err); len(raws) != members || (members == 0) != (code == persistence) {
			t.Errorf("%s: %d members, %v; want %d", line, len(raws), err, members)
		}
	}
	raws, err := one(row("text-chunks", "0", `"dt":[5,-7],"texts":["a","b","\u0063"]`))
	if err != nil {
		t.Fatal(err)
	}
	var times []int64
	for _, raw := range raws {
		times = append(times, raw.Event.Time)
	}
	if diff := cmp.Diff([]int64{10, 15, 8}, times); diff != "" {
		t.Errorf("times of the members (-want +got):\n%s", diff)
	}
	const want = `{"type":"assistant/chunk","seq":2,"time":8,"data":{"turn":1,"step":2,"chunk":{"type":"text-delta","index":3,"text":"\u0063"}}}`
	if got := string(raws[2].Native); got != want {
		t.Errorf("the third member is %s", got)
	}
}

// A run counts as one value in sequence, and the decoder goes on behind it; a
// failure leaves it where it was.
func TestDecoderSequence(t *testing.T) {
	d := NewDecoder(session.Header{Agent: session.DSH, ID: "s"})
	steps := []struct {
		line string
		want int
	}{
		{`{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}`, 1},
		{`{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}`, 0},
		{`{"type":"text-chunks","seq0":1,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[1],"texts":["a","b"]}}`, 2},
		{`{"type":"turn/end","seq":3,"time":1,"data":{"turn":1,"reason":{}}}`, 0},
		{`{"type":"turn/end","seq":3,"time":1,"data":{"turn":1,"reason":{"kind":"completed"}}}`, 1},
	}
	for i, s := range steps {
		raws, err := d.Event([]byte(s.line))
		if len(raws) != s.want || (err == nil) != (s.want > 0) {
			t.Errorf("line %d: %d events, %v", i, len(raws), err)
		}
	}
	for _, h := range []session.Header{{ID: "s", Version: 1}, {ID: "s", Cwd: "relative"}} {
		if _, err := NewDecoder(h).Event([]byte(steps[0].line)); err == nil {
			t.Errorf("a log with the header %+v is decoded", h)
		}
	}
	if _, err := NewDecoder(session.Header{ID: "s", Cwd: `c:\w`}).Event([]byte(steps[0].line)); err != nil {
		t.Errorf("a workspace with a drive: %v", err)
	}
}

// Older shapes and what they become.
func TestOlderShapes(t *testing.T) {
	for _, c := range []struct{ typ, data, wantType, want string }{
		{"turn/end", `{"turn":1,"reason":{"kind":"error","failure":{"message":"m","status":5}}}`, "turn/end", `{"turn":1,"reason":{"kind":"error","error":{"message":"m","status":5}}}`},
		{"turn/end", `{"turn":1,"reason":{"kind":"error","message":"m","code":"C","step":2}}`, "turn/end", `{"turn":1,"reason":{"kind":"error","error":{"message":"m","code":"C"}}}`},
		{"turn/end", `{"turn":1,"reason":{"kind":"aborted"}}`, "turn/end", `{"turn":1,"reason":{"kind":"aborted","reason":{"kind":"legacy"}}}`},
		{"turn/end", `{"turn":1,"reason":{"kind":"disposed"}}`, "turn/end", `{"turn":1,"reason":{"kind":"aborted","reason":{"kind":"disposed"}}}`},
		{"turn/start", `{"turn":1,"trigger":{"kind":"user"}}`, "turn/start", `{"turn":1}`},
		{"steering/message", `{"turn":1,"id":"x","role":"user","content":[],"source":{"kind":"user"}}`, "user/message", `{"id":"x","role":"user","content":[],"source":{"kind":"user"}}`},
		{"assistant/message", `{"turn":1,"step":1,"content":[],"provenance":{"provider":"p","model":"m","replayState":{"a":1}},"usage":{"in":1}}`, "assistant/message", `{"turn":1,"step":1,"usage":{"in":1},"message":{"id":"legacy-message:s:0","role":"assistant","content":[],"source":{"kind":"model","provider":"p","model":"m","replayState":{"a":1}}}}`},
		{"tool/result", `{"turn":1,"step":1,"callId":"c","content":[],"error":{"name":"E","code":"C"}}`, "tool/result", `{"turn":1,"step":1,"error":{"name":"E","code":"C"},"message":{"id":"legacy-message:s:0","role":"user","content":[{"type":"tool-result","toolCallId":"c","content":[]}],"source":{"kind":"tool","callId":"c"}}}`},
	} {
		line := `{"type":"` + c.typ + `","seq":0,"time":1,"data":` + c.data
		if session.SurfaceType(c.wantType) {
			line += `,"surfaceOp":"append"`
		}
		raws, err := one(line + `}`)
		if err != nil || len(raws) != 1 {
			t.Errorf("%s %s: %d events, %v", c.typ, c.data, len(raws), err)
			continue
		}
		var got, want any
		var made struct {
			Type string
			Data json.RawMessage
		}
		if err := errors.Join(json.Unmarshal(raws[0].Native, &made), json.Unmarshal([]byte(c.want), &want)); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(made.Data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || made.Type != c.wantType || !raws[0].Event.Reconstructed {
			t.Errorf("%s %s: type %s, reconstructed %t (-want +got):\n%s", c.typ, c.data, made.Type, raws[0].Event.Reconstructed, diff)
		}
	}
}

// A chain of rewritten results of the older shape keeps the first one's id, also
// where the reading starts in the middle of it.
func TestOlderRewrites(t *testing.T) {
	result := func(seq, op string) string {
		return `{"type":"tool/result","seq":` + seq + `,"time":1,"data":{"callId":"c","content":[]},"surfaceOp":` + op + `}`
	}
	src := rawLog(t, nil,
		result("0", `"append"`),
		result("1", `{"op":"replace","start":0,"end":0}`),
		result("2", `{"op":"replace","start":1,"end":1}`))
	events := mustRead(t, src)
	if events[0].Sameness != events[1].Sameness || events[1].Sameness != events[2].Sameness || events[0].Sameness == 0 {
		t.Errorf("the rewrites change more than the content: %x %x %x", events[0].Sameness, events[1].Sameness, events[2].Sameness)
	}
	got := readWindow(t, src, session.Checkpoint{Seq: 2, Place: events[2].Place}, 2, 2)
	if len(got) != 1 || !strings.Contains(string(got[0].Native), `"legacy-message:s:0"`) {
		t.Errorf("read from the middle: %+v", got)
	}
}

// What may differ between a tool result and its rewriting, and what may not.
func TestSameness(t *testing.T) {
	of := func(data string) uint64 { return sameness(nil, []byte(data)) }
	base := of(`{"a":1,"message":{"id":"x","content":[{"type":"tool-result","content":["long"],"isError":false}]},"meta":{"p":[1,2],"q":"é"}}`)
	for data, same := range map[string]bool{
		`{"message":{"content":[{"isError":false,"content":[],"type":"tool-result"}],"id":"x"},"meta":{"q":"\u00e9","p":[1.0,2e0]},"a":1}`:              true,
		`{"a":7,"a":1,"message":{"id":"x","content":[{"type":"tool-result","content":null,"isError":false}]},"meta":{"p":[1,2],"q":"é"}}`:               true,
		`{"a":1,"message":{"id":"x","content":[{"type":"tool-result","isError":false}]},"meta":{"p":[1,2],"q":"é"}}`:                                    true,
		`{"a":1,"message":{"id":"x","content":[{"type":"tool-result","content":["long"],"isError":true}]},"meta":{"p":[1,2],"q":"é"}}`:                  false,
		`{"a":1,"message":{"id":"x","content":[{"type":"tool-result","content":["long"],"isError":false}]},"meta":{"p":[2,1],"q":"é"}}`:                 false,
		`{"a":1,"message":{"id":"y","content":[{"type":"tool-result","content":["long"],"isError":false}]},"meta":{"p":[1,2],"q":"é"}}`:                 false,
		`{"a":1,"message":{"id":"x","content":[{"type":"tool-result","content":["long"],"isError":false}]},"meta":{"p":[1,2],"q":"é","content":"new"}}`: false,
		`{"a":"1","message":{"id":"x","content":[{"type":"tool-result","content":["long"],"isError":false}]},"meta":{"p":[1,2],"q":"é"}}`:               false,
	} {
		if got := of(data) == base; got != same {
			t.Errorf("%s: same is %t, want %t", data, got, same)
		}
	}
}

func TestBodies(t *testing.T) {
	text := func(s string) session.Block { return session.Block{Text: s} }
	for _, c := range []struct {
		name, line string
		want       session.Body
	}{
		{"human", `{"type":"user/message","seq":0,"time":1,"surfaceOp":"append","data":{"id":"m","role":"user","content":[{"type":"text","text":"a\ud800\n\u00e9"},{"type":"image"},{"text":"b","type":"text"}],"source":{"kind":"user"}}}`,
			session.Body{Speaker: session.Human, Blocks: []session.Block{text("a\ufffd\né"), text("b")}}},
		{"notice", `{"type":"user/message","seq":0,"time":1,"surfaceOp":"append","data":{"id":"m","role":"user","content":[],"source":{"kind":"plugin","plugin":"compaction"}}}`,
			session.Body{Speaker: session.Injected}},
		{"summary", `{"type":"user/message","seq":0,"time":1,"surfaceOp":{"op":"replace","start":0,"end":0},"data":{"id":"m","role":"user","content":[],"source":{"kind":"plugin","plugin":"compaction"}}}`,
			session.Body{Speaker: session.Summary}},
		{"assistant", `{"type":"assistant/message","seq":0,"time":1,"surfaceOp":"append","data":{"message":{"id":"m","role":"assistant","content":[{"type":"reasoning","text":"secret"},{"type":"tool-call","id":"c","name":"n","arguments":"{\"a\":1}"}],"source":{"kind":"model","provider":"p","model":"m"}}}}`,
			session.Body{Speaker: session.Assistant, Blocks: []session.Block{{Kind: session.CallBlock, Name: "n", Text: `{"a":1}`}}}},
		{"call", `{"type":"tool/call","seq":0,"time":1,"data":{"callId":"c","name":"n","arguments":"x"}}`,
			session.Body{Speaker: session.Action, CallID: "c", Blocks: []session.Block{{Kind: session.CallBlock, Name: "n", Text: "x"}}}},
		{"result", `{"type":"tool/result","seq":0,"time":1,"surfaceOp":"append","data":{"message":{"id":"m","role":"user","content":[{"type":"tool-result","toolCallId":"c","content":[{"type":"text","text":"out"},{"type":"tool-result","content":[{"type":"text","text":"in"}]}]}],"source":{"kind":"tool","callId":"c"}},"error":{"name":"E","code":"C"}}}`,
			session.Body{Speaker: session.Tool, CallID: "c", ErrorName: "E", ErrorCode: "C", Blocks: []session.Block{
				{Kind: session.ResultBlock, Content: []session.Block{text("out"), {Kind: session.ResultBlock, Content: []session.Block{text("in")}}}}}}},
		{"todos", `{"type":"todo/write","seq":0,"time":1,"data":{"todos":[{"content":"paint","status":"pending"},7,{"status":"completed"}]}}`,
			session.Body{Speaker: session.Action, Blocks: []session.Block{text("pending"), text("paint"), text("completed")}}},
		{"failed turn", `{"type":"turn/end","seq":0,"time":1,"data":{"turn":1,"reason":{"kind":"error","error":{"message":"why","code":"C"}}}}`,
			session.Body{Blocks: []session.Block{text("error"), text("why")}}},
		{"aborted turn", `{"type":"turn/end","seq":0,"time":1,"data":{"turn":1,"reason":{"kind":"aborted","reason":{"kind":"hook","reason":"no"}}}}`,
			session.Body{Blocks: []session.Block{text("aborted")}}},
		{"blocked turn", `{"type":"turn/end","seq":0,"time":1,"data":{"turn":1,"reason":{"kind":"blocked"}}}`, session.Body{}},
		{"chunk", `{"type":"assistant/chunk","seq":0,"time":1,"data":{"chunk":{"type":"text-delta","text":"t"}}}`, session.Body{}},
		{"title of a list", `{"type":"session/title","seq":0,"time":1,"data":{"title":["a"],"messageSeqs":[],"source":{"kind":"user"}}}`, session.Body{TitleFault: fault.ToolFailed}},
		{"title from a stranger", `{"type":"session/title","seq":0,"time":1,"data":{"title":"a","messageSeqs":[],"source":{"kind":"stranger"}}}`, session.Body{TitleFault: fault.ToolFailed}},
		{"title with text for seqs", `{"type":"session/title","seq":0,"time":1,"data":{"title":1e21,"messageSeqs":"","source":{"kind":"user"}}}`, session.Body{Title: new("1e+21")}},
	} {
		raws, err := one(c.line)
		if err != nil || len(raws) != 1 {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, raws[0].Event.Body); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
