package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// mostLog bounds a write-ahead log: one that is long is begun anew, as soon as the
// readers that began before a commit are done. A transaction takes up some 8 MiB of text.
const mostLog = 96 << 20

// watched is what was seen of the servers and of the index.
type watched struct {
	wal         int64 // bytes of the longest write-ahead log that was seen
	early, late use
}

// use is what the largest server takes.
type use struct{ memory, files int } // KB, descriptors

// watch looks until ctx ends.
func (w *watched) watch(ctx context.Context, index string, servers []*server, length time.Duration) {
	begin := time.Now()
	for ctx.Err() == nil {
		names, _ := filepath.Glob(filepath.Join(index, "shards", "*-wal"))
		for _, name := range append(names, filepath.Join(index, "catalog.db-wal")) {
			if info, err := os.Stat(name); err == nil {
				w.wal = max(w.wal, info.Size())
			}
		}
		var now use
		for _, s := range servers {
			one := useOf(s.cmd.Process.Pid)
			now.memory, now.files = max(now.memory, one.memory), max(now.files, one.files)
		}
		if time.Since(begin) < length/4 {
			w.early.memory, w.early.files = max(w.early.memory, now.memory), max(w.early.files, now.files)
		} else {
			w.late = now
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// useOf reads proc(5); zeros where there is none.
func useOf(pid int) (u use) {
	folder := fmt.Sprintf("/proc/%d", pid)
	status, _ := os.ReadFile(folder + "/status")
	if _, rest, ok := bytes.Cut(status, []byte("VmRSS:")); ok {
		if fields := bytes.Fields(rest); len(fields) > 0 {
			u.memory, _ = strconv.Atoi(string(fields[0]))
		}
	}
	entries, _ := os.ReadDir(folder + "/fd")
	u.files = len(entries)
	return u
}
