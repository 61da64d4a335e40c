package claude

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPrunesAfter(t *testing.T) {
	const day = 24 * time.Hour
	for name, tc := range map[string]struct {
		settings string
		want     time.Duration
	}{
		"no settings":       {"", 30 * day},
		"said":              {` {"model":"x","cleanupPeriodDays":365}`, 365 * day},
		"not said":          {`{"model":"x"}`, 30 * day},
		"at once":           {`{"cleanupPeriodDays":0}`, 0},
		"of another kind":   {`{"cleanupPeriodDays":"90"}`, 30 * day},
		"negative":          {`{"cleanupPeriodDays":-1}`, 30 * day},
		"practically never": {`{"cleanupPeriodDays":9007199254740991}`, mostDays * day},
		"no object":         {`[{"cleanupPeriodDays":7}]`, 30 * day},
		"no JSON":           {`{"cleanupPeriodDays":7`, 30 * day},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			if tc.settings != "" {
				if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(tc.settings), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got, ok := New().PrunesAfter(filepath.Join(home, "projects")); got != tc.want || !ok {
				t.Errorf("got %v, %v; want %v", got, ok, tc.want)
			}
		})
	}
}
