package mcpserver

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressPause is the least time between two notices of one call.
const progressPause = 100 * time.Millisecond

// progress tells a client how far a call is, if the client asked for it. Its
// zero value tells nobody.
type progress struct {
	ctx     context.Context
	session *mcp.ServerSession
	token   any

	mu      sync.Mutex
	last    int       // the highest number told
	told    time.Time // when
	stopped bool
}

func progressOf(ctx context.Context, req *mcp.CallToolRequest) *progress {
	return &progress{ctx: ctx, session: req.Session, token: req.Params.GetProgressToken()}
}

// report returns what a tool calls, nil if nobody listens.
func (p *progress) report() func(done, total int) {
	if p.token == nil {
		return nil
	}
	return p.tell
}

// tell sends a notice if the number rose and the last notice is not too recent;
// the end is always told. A notice that cannot be sent is no failure of the call.
func (p *progress) tell(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || done <= p.last || done < total && time.Since(p.told) < progressPause {
		return
	}
	p.last, p.told = done, time.Now()
	_ = p.session.NotifyProgress(p.ctx, &mcp.ProgressNotificationParams{
		ProgressToken: p.token,
		Progress:      float64(done),
		Total:         float64(total),
	})
}

// stop lets no notice through any more: none may follow the answer.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
}
