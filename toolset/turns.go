package toolset

import (
	"context"
	"sync"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/session"
)

// turns lets the searches of one caller run one at a time. A caller that
// nobody waits for takes no room.
type turns struct {
	mu    sync.Mutex
	lines map[holder]*turn
}

// holder is a caller as a comparable value.
type holder struct {
	workspace string
	session   session.Key
	known     bool
}

type turn struct {
	token chan struct{} // holds one value while a search runs
	users int           // running and waiting
}

// wait returns when it is the caller's turn; done ends it.
func (t *turns) wait(ctx context.Context, caller authz.Caller) (done func(), err error) {
	who := holder{workspace: caller.Workspace}
	if caller.Session != nil {
		who.session, who.known = *caller.Session, true
	}
	t.mu.Lock()
	if t.lines == nil {
		t.lines = map[holder]*turn{}
	}
	line := t.lines[who]
	if line == nil {
		line = &turn{token: make(chan struct{}, 1)}
		t.lines[who] = line
	}
	line.users++
	t.mu.Unlock()

	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if line.users--; line.users == 0 {
			delete(t.lines, who)
		}
	}
	select {
	case line.token <- struct{}{}:
		return func() { <-line.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
