package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/yorehq/yore/fault"
)

// FuzzConfiguration: a file that anybody wrote is taken or refused with a code and
// a sentence, and is never a reason to crash.
func FuzzConfiguration(f *testing.F) {
	for _, seed := range []string{"", "index = \"/x\"\n", "[roots]\ndsh = [\"/a\"]\n", "[roots]\ndsh = \"~/a\"\n", "match = 1", "= ", "a = [[[[[[", "\xff", "snippet = -1\n", "[mcp]\n[mcp]\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		a := &app{in: bytes.NewReader(nil), getenv: func(string) string { return "" }, errs: &out}
		root := a.newRoot()
		cmd, _, err := root.Find([]string{"list"})
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags([]string{"--config", file}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.configure(cmd); err != nil {
			if code, ok := fault.Of(err); !ok || fault.SafeText(err) == "" {
				t.Errorf("%q fails with %q: %v", text, code, err)
			}
		}
	})
}

// FuzzTimes: bounds are whole, in order and within what a clock can tell, or refused.
func FuzzTimes(f *testing.F) {
	for _, seed := range [][2]string{{"2h", "today"}, {"2026-10-01", "2026-10-01 14:00"}, {"2026-10-01T14:00:00.5+02:00", ""}, {"99999999999999999999w", "-1d"}, {"\x00", "0000-00-00"}} {
		f.Add(seed[0], seed[1])
	}
	now := time.Date(2026, 3, 29, 12, 0, 0, 0, time.FixedZone("", 3600))
	f.Fuzz(func(t *testing.T, from, to string) {
		r, err := timesAt("time", from, to, now)
		if err == nil && ((r.From == nil) != (from == "") || (r.To == nil) != (to == "")) {
			t.Errorf("%q to %q is %+v", from, to, r)
		}
		if code, ok := fault.Of(err); err != nil && (!ok || code != fault.InvalidFilter && code != fault.InvalidArgs) {
			t.Errorf("%q to %q fails with %v", from, to, err)
		}
	})
}
