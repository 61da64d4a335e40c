package dsh

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// generated makes the lines of a log of about this many bytes: turns with a
// question, stream rows, calls, results of some 3 KB, and an answer.
func generated(size int) []string {
	var lines []string
	seq, total := 0, 0
	add := func(format string, args ...any) {
		line := fmt.Sprintf(format, append([]any{seq}, args...)...)
		lines = append(lines, line)
		seq, total = seq+1, total+len(line)+1
	}
	output := strings.Repeat(`package main\n\nfunc \"quoted\" line of some output\t`, 60)
	for turn := 1; total < size; turn++ {
		add(`{"type":"turn/start","seq":%d,"time":1,"data":{"turn":1}}`)
		add(`{"type":"user/message","seq":%d,"time":1,"data":{"id":"m","role":"user","content":[{"type":"text","text":"question %d about the linker"}],"source":{"kind":"user"}},"surfaceOp":"append"}`, turn)
		add(`{"type":"step/start","seq":%d,"time":1,"data":{"turn":1,"step":1}}`)
		lines = append(lines, fmt.Sprintf(`{"type":"text-chunks","seq0":%d,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[%s1],"texts":["first"%s]}}`,
			seq, strings.Repeat("1,", 39), strings.Repeat(`,"piece "`, 40)))
		seq += 41
		for call := range 4 {
			add(`{"type":"assistant/message","seq":%d,"time":1,"data":{"turn":1,"step":1,"message":{"id":"a","role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool-call","id":"c%d","name":"bash","arguments":"{\"command\":\"ls -l\"}"}],"source":{"kind":"model","provider":"p","model":"m"}}},"surfaceOp":"append"}`, call)
			add(`{"type":"tool/call","seq":%d,"time":1,"data":{"turn":1,"step":1,"callId":"c%d","name":"bash","arguments":"{\"command\":\"ls -l\"}"}}`, call)
			add(`{"type":"tool/result","seq":%d,"time":1,"data":{"turn":1,"step":1,"message":{"id":"r","role":"user","source":{"kind":"tool","callId":"c%d"},"content":[{"type":"tool-result","toolCallId":"c%d","content":[{"type":"text","text":"%s"}]}]}},"surfaceOp":"append"}`, call, call, output)
		}
		add(`{"type":"step/end","seq":%d,"time":1,"data":{"turn":1,"step":1}}`)
		add(`{"type":"turn/end","seq":%d,"time":1,"data":{"turn":1,"reason":{"kind":"completed"}}}`)
	}
	return lines
}

func benchmarkRead(b *testing.B, src reader.Source) {
	b.ReportAllocs()
	b.SetBytes(50 << 20)
	for b.Loop() {
		events := 0
		_, err := New().Read(context.Background(), src, reader.Position{}, func(session.Event) error { events++; return nil })
		if err != nil || events == 0 {
			b.Fatal(events, err)
		}
	}
}

func BenchmarkReadRaw(b *testing.B) { benchmarkRead(b, rawLog(b, nil, generated(50<<20)...)) }

func BenchmarkReadZstd(b *testing.B) {
	lines := generated(50 << 20)
	var frames []string
	for len(lines) > 0 {
		n := min(20, len(lines))
		frames = append(frames, strings.Join(lines[:n], "\n")+"\n")
		lines = lines[n:]
	}
	benchmarkRead(b, zstdLog(b, nil, frames...))
}
