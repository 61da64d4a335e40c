package mcpserver

import (
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Handler answers the protocol over streamable HTTP, one request at a time and
// without sessions, in both eras. Who is calling is known before: the caller of
// this package has checked it, and Callers repeats it. Pages of other origins are
// refused, and so are requests over loopback for a name that is not this machine's,
// unless checked says that the names have been looked at already. A text that is longer than a client takes stays whole: there is no
// folder here that the client could read.
func Handler(o Options, checked bool) (http.Handler, error) {
	s, err := newServer(o, true)
	if err != nil {
		return nil, err
	}
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
		// The SDK knows loopback addresses alone; behind a proxy a server knows better.
		DisableLocalhostProtection: checked,
	})
	return http.NewCrossOriginProtection().Handler(h), nil
}
