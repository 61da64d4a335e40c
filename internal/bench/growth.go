package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
)

// grow appends piece after piece to the largest log and searches each at once.
func grow(ctx context.Context, v *authz.View, s site, j job, got map[string]float64) error {
	var times, waits least
	// A server that runs has answered before.
	if err := find(ctx, v, query.SessionSearch{Query: s.Phrases[0], Limit: 5}, true); err != nil {
		return err
	}
	for i := j.First; i < j.First+j.Times; i++ {
		piece, err := os.ReadFile(s.Appends[i])
		if err != nil {
			return err
		}
		log, err := os.OpenFile(s.Largest, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = log.Write(piece)
		if err := errors.Join(err, log.Close()); err != nil {
			return err
		}
		start, clock := time.Now(), processorTime()
		if err := find(ctx, v, query.SessionSearch{Query: appendText(i), Match: query.Literal, Limit: 5}, true); err != nil {
			return err
		}
		waits.took(i-j.First, time.Since(start))
		times.took(i-j.First, processorTime()-clock)
	}
	times.into(got, "append")
	waits.into(got, "append wall")
	return nil
}

// processorTime is how long the process's threads have run, waits for disks left
// out; wall-clock time where the system does not tell.
func processorTime() time.Duration {
	stats, _ := filepath.Glob("/proc/self/task/*/schedstat")
	sum := time.Duration(0)
	for _, path := range stats {
		var ran time.Duration
		if text, err := os.ReadFile(path); err == nil {
			fmt.Sscan(string(text), &ran)
		}
		sum += ran
	}
	if sum == 0 {
		return time.Duration(time.Now().UnixNano())
	}
	return sum
}
