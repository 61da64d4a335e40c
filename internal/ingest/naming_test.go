package ingest_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/session"
)

func summaryLine(title, leaf string) string {
	return fmt.Sprintf(`{"type":"summary","summary":%q,"leafUuid":%q}`+"\n", title, leaf)
}

// titles returns the titles that a search shows, by session.
func (f *family) titles() map[string]string {
	f.t.Helper()
	f.refresh()
	all := map[string]string{}
	snap, err := f.index.Snapshot(f.t.Context(), workspace)
	if err != nil || snap == nil {
		f.t.Fatal(snap, err)
	}
	defer snap.Close()
	rows, err := snap.Sessions(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, r := range rows {
		all[string(r.Header.ID)] = ""
		if r.Title != nil {
			all[string(r.Header.ID)] = *r.Title
		}
	}
	return all
}

func (f *family) wantTitles(what string, want map[string]string) {
	f.t.Helper()
	if diff := cmp.Diff(want, f.titles()); diff != "" {
		f.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (f *family) remove(id string) {
	f.t.Helper()
	if err := os.Remove(filepath.Join(f.roots[0], "-w-one", id+".jsonl")); err != nil {
		f.t.Fatal(err)
	}
}

func TestASummaryNamesAnotherSession(t *testing.T) {
	f := newFamily(t, 1)
	old := f.row("old", "o0", "", 0, "") + f.row("old", "o1", "o0", 1, "")
	f.put(0, "old", old)
	f.wantTitles("alone", map[string]string{"old": "words of o0 zephyr"})

	// The title comes after the session that it is for.
	text := summaryLine("The old one", "o1") + summaryLine("Nobody", "nowhere") + f.row("new", "n0", "", 10, "")
	f.put(0, "new", text)
	f.wantTitles("named", map[string]string{"old": "The old one", "new": "words of n0 zephyr"})

	// Before it.
	f.put(0, "newer", summaryLine("The late one", "l1")+f.row("newer", "m0", "", 20, ""))
	f.titles()
	f.put(0, "late", f.row("late", "l0", "", 5, ""))
	f.wantTitles("not yet", map[string]string{
		"old": "The old one", "new": "words of n0 zephyr", "newer": "words of m0 zephyr", "late": "words of l0 zephyr",
	})
	f.put(0, "late", f.row("late", "l0", "", 5, "")+f.row("late", "l1", "l0", 6, ""))
	f.wantTitles("it grew", map[string]string{
		"old": "The old one", "new": "words of n0 zephyr", "newer": "words of m0 zephyr", "late": "The late one",
	})

	// A title of its own outranks it, whoever came first.
	f.put(0, "old", old+`{"type":"ai-title","aiTitle":"Its own"}`+"\n")
	f.wantTitles("its own", map[string]string{
		"old": "Its own", "new": "words of n0 zephyr", "newer": "words of m0 zephyr", "late": "The late one",
	})
	// The session that named it is gone, and so is what it said.
	f.remove("newer")
	f.wantTitles("gone", map[string]string{"old": "Its own", "new": "words of n0 zephyr", "late": "words of l0 zephyr"})
}

// A title never comes from another workspace.
func TestASummaryOfAnotherWorkspaceNamesNothing(t *testing.T) {
	f := newFamily(t, 1)
	f.put(0, "old", f.row("old", "o0", "", 0, ""))
	other := strings.ReplaceAll(summaryLine("From elsewhere", "o0")+f.row("new", "n0", "", 10, ""), workspace, "/w/two")
	f.put(0, "new", other)
	if _, err := f.in.Refresh(t.Context(), session.Scope{All: true}, nil); err != nil {
		t.Fatal(err)
	}
	f.wantTitles("another workspace", map[string]string{"old": "words of o0 zephyr"})
}

// However sessions come, grow and go, their titles are those of a new index.
func TestNamesDoNotDependOnTheOrder(t *testing.T) {
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 21))
		f := newFamily(t, 1)
		grown := map[string]string{}
		for i := range 14 {
			id := fmt.Sprintf("s%d", random.IntN(5))
			switch {
			case grown[id] != "" && random.IntN(6) == 0:
				f.remove(id)
				delete(grown, id)
			case grown[id] == "":
				grown[id] = f.row(id, id+"-0", "", 10*int(id[1]-'0'), "")
			}
			if text := grown[id]; text != "" {
				n := strings.Count(text, id+"-") // some number that rises
				last := id + "-0"
				if j := strings.LastIndex(text, `"uuid":"`+id+"-"); j >= 0 {
					last, _, _ = strings.Cut(text[j+len(`"uuid":"`):], `"`)
				}
				if random.IntN(2) == 0 {
					text += f.row(id, fmt.Sprintf("%s-%d", id, n), last, 10*int(id[1]-'0')+1, "")
				} else {
					text += summaryLine(fmt.Sprintf("title %d", i), fmt.Sprintf("s%d-%d", random.IntN(5), []int{0, 3, 5}[random.IntN(3)]))
				}
				grown[id] = text
				f.put(0, id, text)
			}
			if random.IntN(2) == 0 {
				f.refresh()
			}
		}
		g := &family{bench: &bench{t: t, dir: filepath.Join(t.TempDir(), "index")}, roots: f.roots}
		if len(grown) == 0 {
			continue
		}
		g.open()
		if diff := cmp.Diff(g.titles(), f.titles()); diff != "" {
			t.Errorf("seed %d (-new index +grown):\n%s", seed, diff)
		}
	}
}

// TestManyTitlesGo: sessions that all have a title for the same one go, as an
// agent tidies up. What that costs grows with their number, and the title is that
// of the last of those that are left, at once.
func TestManyTitlesGo(t *testing.T) {
	cost := func(n int) (statements, rows int64) {
		f := newFamily(t, 1)
		f.put(0, "main", f.at("main", "leaf", "", 0))
		for i := range n {
			id := fmt.Sprintf("s%03d", i)
			f.put(0, id, summaryLine(fmt.Sprint("title ", i), "leaf")+f.at(id, fmt.Sprint("r", i), "", i+1))
		}
		f.refresh()
		if got, want := f.titles()["main"], fmt.Sprint("title ", n-1); got != want {
			t.Errorf("%d sessions name it %q, want %q", n, got, want)
		}
		for i := n / 2; i < n; i++ {
			f.remove(fmt.Sprintf("s%03d", i))
		}
		before := f.index.Work()
		f.refresh()
		after := f.index.Work()
		if got, want := f.titles()["main"], fmt.Sprint("title ", n/2-1); got != want {
			t.Errorf("%d sessions are left, and it is named %q, want %q", n/2, got, want)
		}
		return after.Statements - before.Statements, after.Rows - before.Rows
	}
	statements, rows := cost(50)
	statements4, rows4 := cost(200)
	t.Logf("25 and 100 sessions go: %d and %d statements, %d and %d rows", statements, statements4, rows, rows4)
	if statements4 > 4*statements+200 || rows4 > 4*rows+200 {
		t.Error("it grows faster than the number of sessions")
	}
}
