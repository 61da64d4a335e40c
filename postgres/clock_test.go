package postgres_test

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore/postgres/postgrestest"
)

// backends returns the processor time of each of a cluster's processes that
// answers somebody, to the nanosecond where Linux tells it so (schedstat), else to
// the tick of a hundredth of a second. What it does beside is not counted.
func backends(t *testing.T, c *postgrestest.Cluster) map[string]time.Duration {
	t.Helper()
	pid, err := c.Pid()
	if err != nil {
		t.Fatal(err)
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]time.Duration{}
	for _, child := range strings.Fields(string(children)) {
		if name, err := os.ReadFile("/proc/" + child + "/cmdline"); err != nil || !bytes.HasPrefix(name, []byte("postgres: yore ")) {
			continue
		}
		all[child] = time.Duration(ticks(child, false) * float64(time.Second))
		if text, err := os.ReadFile("/proc/" + child + "/schedstat"); err == nil {
			if n, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64); err == nil {
				all[child] = time.Duration(n)
			}
		}
	}
	return all
}

// spent is what backends took between two looks.
func spent(before, after map[string]time.Duration) (sum time.Duration) {
	for pid, d := range after {
		sum += d - before[pid]
	}
	return sum
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
