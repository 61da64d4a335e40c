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
// machine that others use as well.
func RateOf(b *testing.B, text []byte, work func() error) {
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	var working, tokens time.Duration
	rounds := 0
	for b.Loop() {
		start := cpuTime()
		if err := work(); err != nil {
			b.Fatal(err)
		}
		working += cpuTime() - start
		b.StopTimer()
		start = cpuTime()
		if err := tokenLoop(text); err != nil {
			b.Fatal(err)
		}
		tokens += cpuTime() - start
		rounds++
		b.StartTimer()
	}
	rate := func(d time.Duration) float64 { return float64(rounds*len(text)) / 1e6 / max(d, 1).Seconds() }
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

// tick is the unit in which Linux counts a process's time.
const tick = 10 * time.Millisecond

// cpuTime is the time that the process has taken, of all processors; where the
// system has no /proc, it is the time of day.
func cpuTime() time.Duration {
	text, err := os.ReadFile("/proc/self/stat")
	// Behind the name in brackets: the 14th and 15th field are user and system time.
	_, rest, ok := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if err != nil || !ok || len(fields) < 13 {
		return time.Duration(time.Now().UnixNano())
	}
	sum := int64(0)
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return time.Duration(time.Now().UnixNano())
		}
		sum += n
	}
	return time.Duration(sum) * tick
}
