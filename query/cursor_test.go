package query

import (
	"crypto/sha256"
	"testing"
)

// FuzzCursor: of what anybody makes up, nothing is a cursor but what was sealed for
// this very request and history.
func FuzzCursor(f *testing.F) {
	e := &Engine{secret: []byte("0123456789abcdef0123456789abcdef")}
	state := sha256.Sum256([]byte("history"))
	good, err := e.seal("request", state, 7)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", good, good[:len(good)-1], good + "A", good[:9] + "\n" + good[9:], good[:len(good)-1] + string(good[len(good)-1]+1), "AAAA", "=", "\x00"} {
		f.Add(seed, "request")
	}
	f.Fuzz(func(t *testing.T, cursor, request string) {
		offset, err := e.open(cursor, request, state)
		switch {
		case cursor == "":
			if offset != 0 || err != nil {
				t.Errorf("no cursor is %d, %v", offset, err)
			}
		case err == nil && (cursor != good || request != "request" || offset != 7):
			t.Errorf("%q is a cursor of %q at %d", cursor, request, offset)
		case cursor == good && request == "request" && err != nil:
			t.Errorf("the cursor itself: %v", err)
		}
	})
}
