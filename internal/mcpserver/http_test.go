package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/yorehq/yore/internal/identity"
	"github.com/yorehq/yore/toolset"
)

// TestMain makes the test binary double as a server for tools that test the
// protocol from outside (tools/conformance): with YORE_SERVE=http it serves
// HTTP on a free loopback port and prints the address, with YORE_SERVE=stdio
// it speaks on its own streams; both until its input ends.
func TestMain(m *testing.M) {
	o := options(echo)
	switch os.Getenv("YORE_SERVE") {
	case "http":
		os.Exit(status(serveLoopback(o, os.Stdin, os.Stdout)))
	case "stdio":
		os.Exit(status(Serve(context.Background(), o, os.Stdin, os.Stdout)))
	}
	os.Exit(m.Run())
}

func status(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveLoopback(o Options, in io.Reader, out io.Writer) error {
	h, err := Handler(o, false)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	fmt.Fprintf(out, "http://%s/\n", l.Addr())
	if _, err := bufio.NewReader(in).WriteTo(io.Discard); err != nil {
		return err
	}
	if err := server.Close(); err != nil {
		return err
	}
	if err := <-failed; err != http.ErrServerClosed {
		return err
	}
	return nil
}

func TestOverHTTP(t *testing.T) {
	remote := false
	o := options(echo)
	o.Callers = callerFunc(func(_ context.Context, call identity.Call) (identity.Caller, error) {
		remote = call.Remote
		return identity.Caller{Workspace: "/w"}, nil
	})
	h, err := Handler(o, false)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	post := func(body string, headers ...string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"session_trace","arguments":{},"_meta":{` + modernMeta + `}}}`
	modern := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "session_trace"}
	code, body := post(call, modern...)
	var m message
	if err := json.Unmarshal([]byte(body), &m); code != 200 || err != nil || m.text() != "/w session_trace {}" {
		t.Errorf("%d %s", code, body)
	}
	if !remote {
		t.Error("a call over a network is not told apart")
	}
	if code, body := post(call, append(modern, "Origin", "https://elsewhere.example", "Sec-Fetch-Site", "cross-site")...); code != 403 {
		t.Errorf("from another site: %d %s", code, body)
	}
	code, body = post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "MCP-Protocol-Version", "2025-11-25")
	if tools := strings.Count(body, `"inputSchema"`); code != 200 || tools != len(toolset.Catalogue()) {
		t.Errorf("%d, %d tools: %s", code, tools, body)
	}
}
