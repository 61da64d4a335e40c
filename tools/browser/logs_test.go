package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
)

// samples are the logs of the tour.
func samples(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../internal/demo/samples")
	if err != nil {
		t.Fatal(err)
	}
	return "dsh=" + dir
}

// long writes a session of so many events, all of which have text: turns of a
// prompt, tool calls with results, answers, and now and then a summary of what
// was said before.
func long(t *testing.T, events int) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "sessions")
	d := newDiary(t, root, "long", "/srv/long", 1772442000000, "")
	var surface []int
	for d.seq < events {
		left := events - d.seq
		switch {
		case len(surface) > 400 && left > 2:
			surface = []int{d.compact(fmt.Sprintf("Summary of %d messages: the valve, the gauge and the relief line.", len(surface)), surface...)}
		case left > 4:
			surface = append(surface, d.human(fmt.Sprintf("Step %d: check the pressure gauge of line %d.", d.seq, d.seq%97)),
				d.tool("bash", fmt.Sprintf(`{"command":"read-gauge --line %d"}`, d.seq%97), strings.Repeat(fmt.Sprintf("line %d: 4.%d bar\n", d.seq%97, d.seq%10), 1+d.seq%9)),
				d.assistant("The pressure is within its limits; the relief line is closed. "+strings.Repeat("It was read twice. ", d.seq%7)))
		default:
			surface = append(surface, d.human("one more"))
		}
	}
	d.save()
	return "dsh=" + root
}

// diary writes one DSH log, event by event.
type diary struct {
	t   *testing.T
	b   strings.Builder
	dir string
	seq int
	at  int64
}

func newDiary(t *testing.T, root, id, cwd string, at int64, more string) *diary {
	t.Helper()
	var key strings.Builder // the agent's name for the workspace's folder
	for _, u := range utf16.Encode([]rune(strings.TrimLeft(cwd, "/"))) {
		switch c := rune(u); {
		case c == '/':
			key.WriteByte('-')
		case c < 0x80 && (unicode.IsLetter(c) || unicode.IsDigit(c)), c == '.', c == '_', c == '-':
			key.WriteRune(c)
		default:
			fmt.Fprintf(&key, "~%04X", u)
		}
	}
	d := &diary{t: t, dir: filepath.Join(root, "--"+key.String()+"--", id), at: at}
	fmt.Fprintf(&d.b, `{"type":"session","version":0,"id":%s,"createdAt":%d,"cwd":%s,"delegationDepth":0%s}`+"\n", quote(id), at, quote(cwd), more)
	return d
}

func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// add writes an event and returns its sequence number.
func (d *diary) add(typ, data, rest string) int {
	d.at += 7000 + int64(d.seq%5)*9000
	fmt.Fprintf(&d.b, `{"type":%s,"seq":%d,"time":%d,"data":%s%s}`+"\n", quote(typ), d.seq, d.at, data, rest)
	d.seq++
	return d.seq - 1
}

const appended = `,"surfaceOp":"append"`

func (d *diary) title(text string) int {
	return d.add("session/title", `{"title":`+quote(text)+`,"messageSeqs":[],"source":{"kind":"fallback"}}`, "")
}

func (d *diary) human(text string) int {
	return d.add("user/message", fmt.Sprintf(`{"id":"u-%d","role":"user","content":[{"type":"text","text":%s}],"source":{"kind":"user"}}`, d.seq, quote(text)), appended)
}

func (d *diary) assistant(text string) int {
	return d.add("assistant/message", fmt.Sprintf(`{"turn":1,"step":1,"message":{"id":"a-%d","role":"assistant","content":[{"type":"text","text":%s}],"source":{"kind":"model","provider":"acme","model":"acme-large"}}}`, d.seq, quote(text)), appended)
}

func (d *diary) tool(name, arguments, result string) int {
	call := fmt.Sprintf("call-%d", d.seq)
	d.add("tool/call", fmt.Sprintf(`{"turn":1,"step":1,"callId":%s,"name":%s,"arguments":%s}`, quote(call), quote(name), quote(arguments)), "")
	return d.add("tool/result", fmt.Sprintf(`{"turn":1,"step":1,"message":{"id":"r-%d","role":"user","source":{"kind":"tool","callId":%s},"content":[{"type":"tool-result","toolCallId":%s,"content":[{"type":"text","text":%s}]}]}}`,
		d.seq, quote(call), quote(call), quote(result)), appended)
}

// compact replaces a range of the surface by a summary, which cites it.
func (d *diary) compact(text string, seqs ...int) int {
	cited, err := json.Marshal(seqs)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.add("user/message", fmt.Sprintf(`{"id":"u-%d","role":"user","content":[{"type":"text","text":%s}],"source":{"kind":"plugin","plugin":"compaction"}}`, d.seq, quote(text)),
		fmt.Sprintf(`,"sourceEventSeqs":%s,"surfaceOp":{"op":"replace","start":%d,"end":%d}`, cited, seqs[0], seqs[len(seqs)-1]))
}

func (d *diary) save() {
	d.t.Helper()
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.dir, "session.jsonl"), []byte(d.b.String()), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// attack is what a session may say to become more than text, or to look like
// the page itself.
const attack = `</p></article></pre></title><script>window.pwned=1;alert(1)</script><img src=x onerror="window.pwned=2">` +
	`<svg onload="window.pwned=3"></svg><iframe src="https://attacker.example/"></iframe><link rel=stylesheet href="https://attacker.example/x.css">` +
	`<button id="panel-close">Close</button><div class="bar" id="main">Your session has ended: <a href="https://attacker.example/">log in</a></div>` + "\u202egnp.exe \x1b]0;owned\x07"

// hostile writes a session that attacks in every place that a page shows.
func hostile(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "sessions")
	d := newDiary(t, root, "hostile", "/srv/<img src=x onerror=window.pwned=4>\u202eend", 1772442000000, `,"agentPreset":`+quote(attack))
	one := d.human("walnut " + attack)
	d.title(attack)
	d.assistant("walnut " + strings.Repeat(attack, 40))
	last := d.tool(attack, attack, attack)
	d.compact("walnut "+attack, one, one+2, last)
	d.human("walnut " + strings.Repeat("\u0301\u0489", 3000) + strings.Repeat("W", 5000))
	d.save()
	return "dsh=" + root
}
