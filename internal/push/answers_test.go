package push_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/push"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/session"
)

// A server that has no time for the moment is asked again, no sooner than it says;
// everything arrives once.
func TestBackPressure(t *testing.T) {
	f, d := newFar(t), newDesk(t, map[string]string{"/w": "w"})
	d.log("/w", "s", "one", "two")
	answers := []int{429, 503, 408, 500}
	f.before = func(n int) (int, http.Header) {
		switch {
		case n == 0:
			return answers[0], http.Header{"Retry-After": {"1"}}
		case n < len(answers):
			return answers[n], nil
		}
		return 0, nil
	}
	r, err := d.run(f)
	if err != nil || r.Events != 2 || len(r.Skips) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	all := f.sent("/v1/push")
	if len(all) != len(answers)+1 {
		t.Fatalf("%d requests", len(all))
	}
	if waited := all[1].at.Sub(all[0].at); waited < time.Second {
		t.Errorf("it was asked again after %s, and wanted a second", waited)
	}
	for i := 2; i < len(all); i++ { // the pauses grow: 0.5, 1 and 2 s
		if waited, least := all[i].at.Sub(all[i-1].at), 250*time.Millisecond<<(i-1); waited < least {
			t.Errorf("pause %d was %s, want at least %s", i, waited, least)
		}
	}
	if got := f.has("w s"); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// Patience ends, with a failure that says what it waited for.
func TestPatienceEnds(t *testing.T) {
	for _, status := range []int{429, 503, broken} {
		f, d := newFar(t), newDesk(t, map[string]string{"/w": "w"})
		d.log("/w", "s", "one")
		d.patience = 600 * time.Millisecond
		f.before = func(int) (int, http.Header) { return status, nil }
		began := time.Now()
		_, err := d.run(f)
		if err == nil || !strings.Contains(err.Error(), "given up after 600ms") {
			t.Errorf("%d: %v", status, err)
		}
		if took := time.Since(began); took > 20*time.Second || len(f.sent("/v1/push")) < 2 {
			t.Errorf("%d: given up after %s and %d requests", status, took, len(f.sent("/v1/push")))
		}
		// A pause that is longer than the patience is not begun.
		f.before = func(int) (int, http.Header) { return 429, http.Header{"Retry-After": {"3600"}} }
		if _, err := d.run(f); err == nil {
			t.Error("sent in spite of it")
		}
	}
}

// What a server refuses of one session is that session's alone; a token that is
// unknown or revoked, and one without the right, end a run at once.
func TestRefusals(t *testing.T) {
	for _, status := range []int{413, 422, 404} {
		f, d := newFar(t), newDesk(t, map[string]string{"/w": "w"})
		for _, id := range []string{"a", "b", "c"} {
			d.log("/w", id, "said in "+id)
		}
		f.before = func(n int) (int, http.Header) {
			if f.of(n) == "b" {
				return status, nil
			}
			return 0, nil
		}
		r, err := d.run(f)
		if err != nil || r.Events != 2 || len(r.Skips) != 1 || r.Skips[0].ID != session.ID("b") || !strings.Contains(r.Skips[0].Reason, fmt.Sprintf("answered with %d on purpose", status)) {
			t.Errorf("%d: %+v, %v", status, r, err)
		}
		if n := len(f.sent("/v1/push")); n != 3 {
			t.Errorf("%d: %d requests, want none again", status, n)
		}
		// It is not taken for sent.
		f.before = nil
		if r, err := d.run(f); err != nil || r.Events != 1 || len(f.has("w b")) != 1 {
			t.Errorf("%d, later: %+v, %v", status, r, err)
		}
	}
	for _, status := range []int{401, 403} {
		f, d := newFar(t), newDesk(t, map[string]string{"/w": "w"})
		d.log("/w", "s", long()...)
		f.before = func(n int) (int, http.Header) {
			if n >= 1 { // revoked while the first stretch was on its way
				return status, nil
			}
			return 0, nil
		}
		r, err := d.run(f)
		var refused *team.StatusError
		if !errors.As(err, &refused) || refused.Status != status || r.Events != 3 {
			t.Errorf("%d: %+v, %v", status, r, err)
		}
		if n := len(f.sent("/v1/push")); n != 2 {
			t.Errorf("%d: %d requests, want no other try", status, n)
		}
		// Nor does following go on.
		ended := make(chan error, 1)
		go func() { ended <- d.pusher(f).Follow(t.Context(), time.Millisecond, func(push.Report, error) {}) }()
		select {
		case err := <-ended:
			if !errors.As(err, &refused) || refused.Status != status {
				t.Errorf("%d: following ended with %v", status, err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%d: following goes on", status)
		}
		// With a token that is good it goes on where it was.
		f.before = nil
		if r, err := d.run(f); err != nil || r.Events != 6 || r.Anew != 0 {
			t.Errorf("%d, later: %+v, %v", status, r, err)
		}
	}
}

// While agents work: what grows is sent as it grows, a server that is gone for a
// time is told of and tried again, and the end of the context is no failure.
func TestFollow(t *testing.T) {
	f, d := newFar(t), newDesk(t, map[string]string{"/w": "w"})
	d.log("/w", "s", "one")
	d.patience = time.Nanosecond
	ctx, stop := context.WithCancel(t.Context())
	told, ended := make(chan string, 1000), make(chan error, 1)
	go func() {
		ended <- d.pusher(f).Follow(ctx, time.Millisecond, func(r push.Report, err error) { told <- fmt.Sprint(r.Events, " ", err != nil) })
	}()
	wait := func(want string) {
		t.Helper()
		for end := time.After(20 * time.Second); ; {
			select {
			case got := <-told:
				if got == want {
					return
				}
				if got != "0 true" { // a server that is gone is told of each time
					t.Fatalf("told of %q, want %q", got, want)
				}
			case <-end:
				t.Fatalf("not told of %q", want)
			}
		}
	}
	wait("1 false")
	d.grow("/w", "s", 1, "two", "three")
	wait("2 false")
	f.mu.Lock()
	f.before = func(int) (int, http.Header) { return 503, nil }
	f.mu.Unlock()
	d.grow("/w", "s", 3, "four")
	wait("0 true")
	f.mu.Lock()
	f.before = nil
	f.mu.Unlock()
	wait("1 false")
	if got, want := f.has("w s"), messages("one", "two", "three", "four"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// Nothing new: nobody is told, and nobody asked.
	n := len(f.sent("/v1/push"))
	time.Sleep(50 * time.Millisecond)
	if more := len(f.sent("/v1/push")); more != n {
		t.Errorf("%d requests although nothing is new", more-n)
	}
	select {
	case s := <-told:
		t.Errorf("told of %q", s)
	default:
	}
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the end of the context: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("following does not end")
	}
}
