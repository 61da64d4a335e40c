package mask

import (
	"testing"
)

func TestKinds(t *testing.T) {
	m := New()
	for _, c := range credentials() {
		got, n := m.Text(c.text())
		if p := leaks(got, c.secret); p != "" || n != 1 {
			t.Errorf("%s: %d masked, %q is left in %q", c.kind, n, p, got)
			continue
		}
		f := m.Find(c.text(), false)[0]
		if f.Kind != c.kind {
			t.Errorf("%q is called %s, want %s", c.text(), f.Kind, c.kind)
		}
		if start, end := len(c.before), len(c.before)+len(c.secret); f.Start > start || f.End < end || f.End > end+1 || start-f.Start > 1 {
			t.Errorf("%s: %d to %d of %q, want %d to %d", c.kind, f.Start, f.End, c.text(), start, end)
		}
	}
}
