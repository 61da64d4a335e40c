package readertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Rate measures how fast a reader reads a log; text is its (decompressed) bytes.
func Rate(b *testing.B, r reader.Reader, src reader.Source, text []byte) {
	RateOf(b, text, func() error {
		events := int64(0)
		_, err := r.Read(context.Background(), src, reader.Position{}, func(e session.Event) error { events += e.Len(); return nil })
		if err == nil && events == 0 {
			err = errors.New("no events")
		}
		return err
	})
}

// RateOf measures how fast work is done on the bytes of a log, and how fast the
// plain token loop of a JSON library passes over the same bytes in the same run.
// It reports both in MB per CPU second, and their ratio, which says more on a
// machine that others use as well; the best round counts, for the same reason.
func RateOf(b *testing.B, text []byte, work func() error) {
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	working, tokens := time.Hour, time.Hour
	for b.Loop() {
		start := cpuTime()
		if err := work(); err != nil {
			b.Fatal(err)
		}
		working = min(working, cpuTime()-start)
		b.StopTimer()
		start = cpuTime()
		if err := tokenLoop(text); err != nil {
			b.Fatal(err)
		}
		tokens = min(tokens, cpuTime()-start)
		b.StartTimer()
	}
	rate := func(d time.Duration) float64 { return float64(len(text)) / 1e6 / max(d, 1).Seconds() }
	b.ReportMetric(rate(working), "MB/cpu-s")
	b.ReportMetric(rate(tokens), "tokens-MB/cpu-s")
	b.ReportMetric(rate(working)/rate(tokens), "of-tokens")
}

// tokenLoop passes over all tokens of a log in JSON lines.
func tokenLoop(text []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		if _, err := dec.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// cpuTime is the time that the threads of the process have taken, of all
// processors; where the system does not tell, it is the time of day.
func cpuTime() time.Duration {
	sum := int64(0)
	threads, err := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		// The first field is nanoseconds. A thread may have ended meanwhile.
		text, err := os.ReadFile("/proc/self/task/" + t.Name() + "/schedstat")
		first, _, _ := strings.Cut(string(text), " ")
		if n, bad := strconv.ParseInt(first, 10, 64); err == nil && bad == nil {
			sum += n
		}
	}
	if err != nil || sum == 0 {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(sum)
}
