package linelog

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A result cites its call once; one without an id, or of a call that was made too
// long ago, cites nothing. A state that was copied is not changed by what follows.
func TestCalls(t *testing.T) {
	var c Calls
	for i := range maxCalls + 1 {
		c.Ask(fmt.Appendf(nil, `"c%d"`, i), int64(i))
	}
	c.Ask([]byte(`""`), 99)
	saved := c[:len(c):len(c)]
	for _, q := range []struct {
		id   string
		want []int64
	}{
		{`"c7"`, []int64{7}}, {`"c7"`, nil}, {`"c32"`, []int64{32}}, {`"\u00632"`, []int64{2}}, {`"c0"`, nil}, {`"c1"`, nil}, {`""`, nil}, {`null`, nil}, {``, nil},
	} {
		if diff := cmp.Diff(q.want, c.Answer([]byte(q.id))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", q.id, diff)
		}
	}
	if len(c) != maxCalls-3 || len(saved) != maxCalls || saved[len(saved)-1].Seq != 99 || saved[5].Seq != 7 {
		t.Errorf("%d calls are left, and the state is %v", len(c), saved)
	}
}
