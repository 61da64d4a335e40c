package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// What the SDK answers with when a request ends before its handler is called,
// as it goes over the wire.
func TestFailuresHaveCodes(t *testing.T) {
	id, err := jsonrpc.MakeID("a")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{
		{"cancelled", context.Canceled, `{"jsonrpc":"2.0","id":"a","error":{"code":-32800,"message":"the request was cancelled"}}`},
		{"cancelled, with a reason", fmt.Errorf("x: %w", context.Canceled), `{"jsonrpc":"2.0","id":"a","error":{"code":-32800,"message":"the request was cancelled"}}`},
		{"anything else", errors.New("open /secret"), `{"jsonrpc":"2.0","id":"a","error":{"code":-32603,"message":"the request failed"}}`},
		{"a code of its own", fmt.Errorf("%w: x", &jsonrpc.Error{Code: -32601, Message: "no such method"}), `{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"no such method: x"}}`},
		{"none", nil, `{"jsonrpc":"2.0","id":"a","result":{}}`},
	} {
		var out bytes.Buffer
		c := newConn(strings.NewReader(""), &out, slog.New(slog.DiscardHandler))
		answer := &jsonrpc.Response{ID: id, Error: tc.err}
		if tc.err == nil {
			answer.Result = []byte(`{}`)
		}
		if err := c.Write(t.Context(), answer); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(out.String()); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
}
