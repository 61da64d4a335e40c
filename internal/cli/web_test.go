package cli

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestWeb starts the page as the command line does: it prints the address, opens
// the browser of the environment with another one, answers, and ends by an interrupt.
func TestWeb(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, dir)
	}
	samples, err := filepath.Abs("../demo/samples")
	if err != nil {
		t.Fatal(err)
	}
	told := filepath.Join(dir, "told")
	browser := filepath.Join(dir, "browser")
	if err := os.WriteFile(browser, []byte("#!/bin/sh\nprintf %s \"$1\" >"+told+".new && mv "+told+".new "+told+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": dir, "YORE_ROOTS": "dsh=" + samples, "YORE_INDEX": filepath.Join(dir, "index"), "BROWSER": browser}
	reading, writing := io.Pipe()
	a := &app{raw: writing, out: bufio.NewWriter(writing), errs: io.Discard, getenv: func(name string) string { return env[name] }}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	code := make(chan int, 1)
	args := []string{"web"}
	if runtime.GOOS == "windows" { // has no such script
		args = append(args, "--no-open")
	}
	go func() { code <- a.run(ctx, args) }()
	line, err := bufio.NewReader(reading).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSuffix(line, "\n")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	enter := func(address string) int {
		t.Helper()
		r, err := client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		return r.StatusCode
	}
	if got := enter(address); got != http.StatusSeeOther {
		t.Errorf("%s gives %d", address, got)
	}
	if runtime.GOOS != "windows" {
		var ticket []byte
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if ticket, err = os.ReadFile(told); err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatal("no browser was started")
			}
		}
		if string(ticket) == address {
			t.Error("the browser's command line holds the token that lasts")
		}
		if first, second := enter(string(ticket)), enter(string(ticket)); first != http.StatusSeeOther || second != http.StatusForbidden {
			t.Errorf("the ticket gives %d, then %d", first, second)
		}
	}
	stop()
	select {
	case got := <-code:
		if got != exitAnswered {
			t.Errorf("the exit code is %d", got)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
	if _, err := client.Get(address); err == nil {
		t.Error("something still answers")
	}
}
