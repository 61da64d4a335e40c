package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/yorehq/yore/query"
)

// oddTeam is a machine with a team whose server answers as it likes.
func oddTeam(t *testing.T, answer http.HandlerFunc) *desk {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	d := newDesk(t, fmt.Sprintf("[team]\nurl = %q\ntoken-file = \"~/token\"\n[roots]\ndsh = [\"~/logs\"]\n", server.URL))
	d.write("token", "yore_"+strings.Repeat("a", 43)+"\n")
	return d
}

// A server that tells the same piece of a session again and again is one that is
// not believed, instead of one that is listened to for ever.
func TestATeamThatNeverEnds(t *testing.T) {
	asked := 0
	d := oddTeam(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		fmt.Fprintln(w, `{"session":{"id":"team:a","agent":"dsh"},"passages":9}`)
		fmt.Fprintln(w, `{"event":{"seq":0,"type":"user/message","surface":"current"},"ordinal":0,"role":"user","text":"again"}`)
	})
	_, errs := d.yore(1, "show", "team:a")
	has(t, errs, "did not answer as one")
	if asked != 2 {
		t.Errorf("it was asked %d times", asked)
	}
}

// An order that the server does not know is made of what it lists, and where that
// is not all, it is said.
func TestATeamOfVeryManySessions(t *testing.T) {
	more := true
	d := oddTeam(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("limit"); got != fmt.Sprint(query.MaxLimit) {
			t.Errorf("%s sessions are asked for", got)
		}
		for i, n := range []int{3, 9, 1} {
			fmt.Fprintf(w, `{"id":"team:s%d","agent":"dsh","title":"t","created_at":"2026-03-0%dT00:00:00.000Z","workspace":"w","events":%d}`+"\n", i, 3-i, n)
		}
		fmt.Fprintf(w, `{"coverage":{},"more":%t}`+"\n", more)
	})
	d.log("own", d.home+"/app", "hello")
	for _, form := range []string{"", "--json"} {
		for _, more = range []bool{true, false} {
			args := []string{"list", "--all", "--sort", "events"}
			if form != "" {
				args = append(args, form)
			}
			out, errs := d.yore(0, args...)
			has(t, out, "team:s1", "team:s0", "team:s2")
			if said := strings.Contains(errs, "more than 10000 sessions"); said != more {
				t.Errorf("more: %t, and it says %q", more, errs)
			}
		}
	}
}
