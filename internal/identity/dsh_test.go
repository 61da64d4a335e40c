package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/session"
)

// DSH tells nothing with a call, so its own logs have to: as they look on disk
// while the call is open.
func TestLogsOfDSH(t *testing.T) {
	root := t.TempDir()
	r := dsh.New()
	var sources []reader.Source
	paths := map[string]string{}
	for _, id := range []string{"asks", "asks-other", "asked"} {
		query := "gazebo"
		if id == "asks-other" {
			query = "pavilion"
		}
		text := fmt.Sprintf(`{"type":"session","version":0,"id":%q,"createdAt":1772526600000,"cwd":"/srv/code/alpha","delegationDepth":0}
{"type":"turn/start","seq":0,"time":1772526601000,"data":{"turn":1}}
{"type":"step/start","seq":1,"time":1772526602000,"data":{"turn":1,"step":1}}
{"type":"tool/call","seq":2,"time":1772526603000,"data":{"turn":1,"step":1,"callId":"c1","name":"mcp__yore__session_search","arguments":"{\"query\": \"%s\"}"}}
`, id, query)
		dir := filepath.Join(root, "--srv-code-alpha--", id)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		paths[id] = filepath.Join(dir, "session.jsonl")
		write(t, paths[id], text)
		header, err := r.Identify(t.Context(), root, paths[id])
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, reader.Source{Agent: session.DSH, Root: root, Path: paths[id], Header: header})
	}
	logs := NewLogs(LogsOptions{
		List:    func(context.Context, string) ([]reader.Source, error) { return sources, nil },
		Readers: []reader.Reader{r},
	})
	want := func(ids ...session.ID) {
		t.Helper()
		keys, err := logs.FindCall(t.Context(), "/srv/code/alpha", PendingCall{Agent: session.DSH, Tool: "session_search", Args: json.RawMessage(`{"query":"gazebo"}`)})
		if err != nil {
			t.Fatal(err)
		}
		var got []session.ID
		for _, k := range keys {
			got = append(got, k.ID)
		}
		slices.Sort(got)
		if diff := cmp.Diff(ids, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	want("asked", "asks")
	write(t, paths["asked"], `{"type":"turn/end","seq":3,"time":1772526604000,"data":{"turn":1,"reason":{"kind":"completed"}}}`+"\n")
	want("asks")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
