package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// workspace is where all sessions were, as their logs say.
const workspace = "/srv/load"

// logs are sessions in DSH's format, version 0.
type logs struct{ root string }

func (l *logs) path(id string) string {
	return filepath.Join(l.root, "--srv-load--", id, "session.jsonl")
}

func event(id string, seq int) string {
	return fmt.Sprintf(`{"type":"user/message","seq":%d,"time":%d,"data":{"id":"u-%d","role":"user","content":[{"type":"text","text":"event %d of %s about the linker, case %x"}],"source":{"kind":"user"}},"surfaceOp":"append"}`+"\n",
		seq, 1790000000000+seq, seq, seq, id, uint32(seq)*2654435761)
}

// begin writes a session with so many events.
func (l *logs) begin(id string, events int) error {
	var b strings.Builder
	fmt.Fprintf(&b, `{"type":"session","version":0,"id":%q,"createdAt":1790000000000,"cwd":%q,"delegationDepth":0}`+"\n", id, workspace)
	for seq := range events {
		b.WriteString(event(id, seq))
	}
	if err := os.MkdirAll(filepath.Dir(l.path(id)), 0o700); err != nil {
		return err
	}
	return os.WriteFile(l.path(id), []byte(b.String()), 0o600)
}

// grow appends an event every so often, to a new session after each ten thousand.
func (l *logs) grow(ctx context.Context, every time.Duration, t *tally) (err error) {
	const most = 10_000
	tick := time.NewTicker(every)
	defer tick.Stop()
	var f *os.File
	for n := 0; ; n++ {
		id := fmt.Sprint("live-", n/most)
		if n%most == 0 {
			if f != nil {
				if err := f.Close(); err != nil {
					return err
				}
			}
			if err := l.begin(id, 0); err != nil {
				return err
			}
			if f, err = os.OpenFile(l.path(id), os.O_APPEND|os.O_WRONLY, 0); err != nil {
				return err
			}
		}
		if _, err := f.WriteString(event(id, n%most)); err != nil {
			return errors.Join(err, f.Close())
		}
		t.count("events appended")
		select {
		case <-ctx.Done():
			return f.Close()
		case <-tick.C:
		}
	}
}

func keys(m map[string]int) iter.Seq[string] { return maps.Keys(m) }
