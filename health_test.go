package yore_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// TestEveryBrokenLogIsNamed compares what an examination of each broken root
// says with the recorded list of what cannot be read.
func TestEveryBrokenLogIsNamed(t *testing.T) {
	golden := filepath.Join("testdata", "golden")
	list, err := os.Open(filepath.Join(golden, "unreadable.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	// Roots whose whole listing the reference refuses: which file is at fault
	// here. The files of a mixed root, and of one id in two workspaces, are sound.
	misplaced := map[string]string{"corpus/bad-identity": "moved", "corpus/bad-flat": "flat.jsonl", "corpus/bad-magic": "not-zstd"}
	examined := map[string]yore.Health{}
	for lines := bufio.NewScanner(list); lines.Scan(); {
		var want struct {
			Root    string
			ID      session.ID `json:"session_id"`
			Listing bool
			Code    fault.Code
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		health, ok := examined[want.Root]
		if !ok {
			h := openOver(t, filepath.Join(golden, want.Root), filepath.Join(t.TempDir(), "index"))
			if health, err = h.Health(t.Context(), yore.Logs, nil); err != nil {
				t.Fatal(err)
			}
			examined[want.Root] = health
		}
		part := string(want.ID)
		if want.Listing {
			if part = misplaced[want.Root]; part == "" {
				if len(health.Problems) != 0 {
					t.Errorf("%s: %+v", want.Root, health.Problems)
				}
				continue
			}
		}
		found := false
		for _, p := range health.Problems {
			if !strings.Contains(p.Path, string(filepath.Separator)+part) {
				continue
			}
			found = true
			if p.Code != want.Code {
				t.Errorf("%s %s: %s, want %s (%s)", want.Root, want.ID, p.Code, want.Code, p.Reason)
			}
			atStart := part == "not-zstd" // byte 0
			if p.Reason == "" || p.Line == 0 && p.Offset == 0 && !atStart {
				t.Errorf("%s %s: no place or reason: %+v", want.Root, part, p)
			}
		}
		if !found {
			t.Errorf("%s: %s is not named among %+v", want.Root, part, health.Problems)
		}
	}
	if len(examined) < 13 {
		t.Errorf("only %d roots were examined", len(examined))
	}
	// Beside each of them the sound session is whole.
	for root, health := range examined {
		if r := health.Roots[0]; r.Sound < 1 || r.Unread != 0 {
			t.Errorf("%s: %+v", root, r)
		}
	}
}
