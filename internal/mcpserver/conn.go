package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yorehq/yore/fault"
)

// grace is how long answers in flight are waited for when the input has ended.
const grace = 5 * time.Second

// conn is the guard: a stream of newline-delimited messages as the SDK wants
// it, with four differences from the SDK's own. A line that is too long or no
// message is answered with an error and the next one is read, where the SDK's
// ends the connection. The end of the input is held back until every request
// has its answer, where the SDK's loses the answers in flight. An id that is in
// use cannot be used again, which the SDK would never answer. And a request that
// was cancelled before it was begun is answered with a code, where the SDK's
// has none.
//
// One goroutine reads (it belongs to newConn and ends with the input or, once
// the connection is closed, with the read it is in); writes come from any.
type conn struct {
	out io.Writer
	log *slog.Logger

	incoming chan *jsonrpc.Request // closed at the end of the input
	readErr  error                 // why the input ended; set before incoming is closed

	closeOnce sync.Once
	closed    chan struct{}
	overOnce  sync.Once
	over      chan struct{} // closed when the SDK has been told of the end

	writing sync.Mutex

	mu      sync.Mutex
	pending map[jsonrpc.ID]struct{} // requests without an answer
	leaving int                     // answers on their way out; their ids are free again
	settled chan struct{}           // made when someone waits for both to be none
}

// stream is a conn as the SDK's transport.
type stream struct{ conn *conn }

// Connect implements mcp.Transport.
func (s stream) Connect(context.Context) (mcp.Connection, error) { return s.conn, nil }

func newConn(in io.Reader, out io.Writer, log *slog.Logger) *conn {
	c := &conn{
		out:      out,
		log:      log,
		incoming: make(chan *jsonrpc.Request),
		closed:   make(chan struct{}),
		over:     make(chan struct{}),
		pending:  make(map[jsonrpc.ID]struct{}),
	}
	go c.readLines(in)
	return c
}

// readLines takes the input apart until it ends or the connection is closed.
func (c *conn) readLines(in io.Reader) {
	defer close(c.incoming)
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, whole, err := readLine(lines, maxLine)
		if !c.take(line, whole) {
			return
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				c.readErr = err
			}
			return
		}
	}
}

// take hands on what a line holds. It reports false when the connection is closed.
func (c *conn) take(line []byte, whole bool) bool {
	if !whole {
		return c.reject(&rejection{code: jsonrpc.CodeParseError, reason: "the line is too long", id: envelopeOf(line).certainID()})
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return true
	}
	requests, rejected := parse(line)
	for _, no := range rejected {
		if !c.reject(no) {
			return false
		}
	}
	for _, req := range requests {
		if !c.begin(req) {
			if !c.reject(&rejection{code: jsonrpc.CodeInvalidRequest, reason: "the id is that of a request without an answer yet"}) {
				return false
			}
			continue
		}
		select {
		case c.incoming <- req:
		case <-c.closed:
			return false
		}
	}
	return true
}

// readLine reads up to and without the end of a line. Of one longer than limit
// it returns the beginning and whole = false, and skips the rest. The last line
// comes with the error that ended the input. The line is the caller's.
func readLine(r *bufio.Reader, limit int) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := r.ReadSlice('\n')
		ended := err == nil
		if ended {
			part = part[:len(part)-1]
		}
		if room := limit - len(line); len(part) > room {
			part, whole = part[:max(room, 0)], false
		}
		line = append(line, part...)
		if ended || !errors.Is(err, bufio.ErrBufferFull) {
			return line, whole, err
		}
	}
}

func (c *conn) reject(no *rejection) bool {
	c.log.Warn("a message was not understood", "code", no.code, "reason", no.reason)
	return c.writeLine(no.encode()) == nil
}

// begin notes that a request wants an answer. It reports false for an id in use.
func (c *conn) begin(req *jsonrpc.Request) bool {
	if !req.IsCall() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, used := c.pending[req.ID]; used {
		return false
	}
	c.pending[req.ID] = struct{}{}
	return true
}

// leave frees the id of an answer before it goes out: its reader may use it
// again at once. left says that the answer is out.
func (c *conn) leave(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
	c.leaving++
}

func (c *conn) left() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaving--
	if len(c.pending) == 0 && c.leaving == 0 && c.settled != nil {
		close(c.settled)
		c.settled = nil
	}
}

// allAnswered returns a channel that is closed once no request waits for an answer.
func (c *conn) allAnswered() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	done := make(chan struct{})
	if len(c.pending) == 0 && c.leaving == 0 {
		close(done)
	} else {
		c.settled = done
	}
	return done
}

// Read implements mcp.Connection. It is called by one goroutine.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case req, ok := <-c.incoming:
		if ok {
			return req, nil
		}
	case <-c.closed:
	case <-ctx.Done():
	}
	select {
	case <-c.closed:
	case <-ctx.Done():
	case <-c.allAnswered():
	case <-time.After(grace):
	}
	c.overOnce.Do(func() { close(c.over) })
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case c.isClosed() || c.readErr == nil:
		return nil, io.EOF
	}
	return nil, c.readErr
}

func (c *conn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// Write implements mcp.Connection.
func (c *conn) Write(ctx context.Context, message jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	answer, answers := message.(*jsonrpc.Response)
	if answers {
		message = coded(answer)
	}
	line, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	if answers {
		c.leave(answer.ID)
		defer c.left()
	}
	return c.writeLine(plain(line))
}

// codeCancelled is the code of a request that its sender cancelled before it
// was begun: RequestCancelled of the Language Server Protocol, since JSON-RPC and
// MCP name none.
const codeCancelled = -32800

// coded gives a failure its code. The SDK hands on whatever ended a request with
// code 0, which is none.
func coded(answer *jsonrpc.Response) *jsonrpc.Response {
	var known *jsonrpc.Error
	if answer.Error == nil || errors.As(answer.Error, &known) {
		return answer
	}
	failure := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the request failed"}
	if fault.IsContext(answer.Error) {
		failure = &jsonrpc.Error{Code: codeCancelled, Message: "the request was cancelled"}
	}
	return &jsonrpc.Response{ID: answer.ID, Error: failure}
}

// writeLine writes a whole line at once. A stream that cannot be written to is
// closed: its reader is gone.
func (c *conn) writeLine(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.isClosed() {
		return io.ErrClosedPipe
	}
	if _, err := c.out.Write(append(line, '\n')); err != nil {
		c.log.Warn("the output cannot be written to", "error", err)
		c.Close()
		return err
	}
	return nil
}

// Close implements mcp.Connection. It does not close the streams.
func (c *conn) Close() error {
	c.closeOnce.Do(func() { close(c.closed) })
	return nil
}

// SessionID implements mcp.Connection: a stream has none.
func (*conn) SessionID() string { return "" }
