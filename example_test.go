package yore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/toolset"
)

// scratch is a folder for an example's index.
func scratch() (index string, remove func()) {
	dir, err := os.MkdirTemp("", "yore-example-")
	if err != nil {
		log.Fatal(err)
	}
	return filepath.Join(dir, "index"), func() { _ = os.RemoveAll(dir) }
}

// Open a history over a folder of logs, look at it as a caller in one
// workspace, and search.
func Example() {
	index, remove := scratch()
	defer remove()
	ctx := context.Background()
	h, err := yore.Open(ctx, yore.Options{
		Sources:  []yore.Source{{Agent: session.DSH, Root: "testdata/golden/corpus/main"}},
		IndexDir: index,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()

	view, err := h.View(ctx, authz.Caller{Workspace: "/srv/code/alpha"})
	if err != nil {
		log.Fatal(err)
	}
	page, err := view.SearchSessions(ctx, query.SessionSearch{Query: "linker cannot find", Limit: 10})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range page.Hits {
		fmt.Println(hit.Info.Header.ID, hit.Best.Seq, hit.Best.Snippet)
	}
	// Output:
	// alpha-build-fix 9 The linker cannot find libmarble because the search path lost its last entry.
}

// A host's own running session is found by others before anything of it is on
// disk: register it, and append each event as the host records it.
func ExampleHistory_Register() {
	index, remove := scratch()
	defer remove()
	ctx := context.Background()
	h, err := yore.Open(ctx, yore.Options{IndexDir: index})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()

	live, err := h.Register(session.Header{ID: "running", CreatedAt: 1772442000000, Cwd: "/srv/code/alpha"})
	if err != nil {
		log.Fatal(err)
	}
	err = live.Append([]byte(`{"type":"user/message","seq":0,"time":1772442001000,"data":{"id":"u-0","role":"user",` +
		`"content":[{"type":"text","text":"Where is the kettle?"}],"source":{"kind":"user"}},"surfaceOp":"append"}`))
	if err != nil {
		log.Fatal(err)
	}

	ask := func() {
		out := h.Tools().Call(ctx, toolset.Call{
			Caller: authz.Caller{Workspace: "/srv/code/alpha"},
			Tool:   "session_search",
			Args:   json.RawMessage(`{"query":"kettle"}`),
		})
		if out.Err != nil {
			log.Fatal(out.Err)
		}
		fmt.Println(out.Text)
	}
	ask()
	if err := live.Release(); err != nil {
		log.Fatal(err)
	}
	ask()
	// Output:
	// 1 session, best first:
	// running 2026-03-02T09:00:00.000Z root live: untitled
	//  #0 user/message current 2026-03-02T09:00:01.000Z: Where is the kettle?
	// No session matches.
}

// The caller comes from the host and never from the arguments: what a model
// writes cannot widen what it sees.
func ExampleHistory_Tools() {
	index, remove := scratch()
	defer remove()
	ctx := context.Background()
	h, err := yore.Open(ctx, yore.Options{
		Sources:  []yore.Source{{Agent: session.DSH, Root: "testdata/golden/corpus/main"}},
		IndexDir: index,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	for _, workspace := range []string{"/srv/code/alpha", "/srv/code/beta"} {
		out := h.Tools().Call(ctx, toolset.Call{
			Caller: authz.Caller{Workspace: workspace},
			Tool:   "session_event_trace",
			Args:   json.RawMessage(`{"session_id":"alpha-compact","seq":3}`),
		})
		if out.Err != nil {
			fmt.Println(out.Err)
			continue
		}
		fmt.Println(out.Text)
	}
	// Output:
	// alpha-compact 2026-03-02T10:00:00.000Z persisted: Quota ledger questions
	// #3 assistant/message shadowed 2026-03-02T10:00:04.000Z
	// replaced by: 14
	// replacement chain: 14, 24
	// replaces: none
	// cites: none
	// cited by: 14
	// SESSION_QUERY_TOOL_UNAUTHORIZED: This session is not in the caller's workspace, or does not exist. Use an id that session_search returned in this workspace.
}

// hostTool is how some host describes a tool to its model.
type hostTool struct {
	name, description string
	schema            json.RawMessage
	run               func(ctx context.Context, args json.RawMessage) (string, error)
}

// A host with a registry of its own takes names, descriptions and schemas from
// the catalogue and calls the set with the caller it knows.
func Example_embed() {
	index, remove := scratch()
	defer remove()
	ctx := context.Background()
	h, err := yore.Open(ctx, yore.Options{
		Sources:  []yore.Source{{Agent: session.DSH, Root: "testdata/golden/corpus/main"}},
		IndexDir: index,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()

	own := session.Key{Agent: session.DSH, ID: "alpha-lead"}
	caller := authz.Caller{Workspace: "/srv/code/alpha", Session: &own}
	registry := map[string]hostTool{}
	for _, t := range toolset.Catalogue() {
		registry[t.Name] = hostTool{t.Name, t.Description, t.Schema, func(ctx context.Context, args json.RawMessage) (string, error) {
			out := h.Tools().Call(ctx, toolset.Call{Caller: caller, Tool: t.Name, Args: args})
			return out.Text, out.Err
		}}
	}

	// Without a session_id the own session is meant.
	text, err := registry["session_trace"].run(ctx, json.RawMessage(`{}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
	// Output:
	// alpha-lead 2026-03-02T16:00:00.000Z persisted: Survey of pottery kilns
	// ancestors, nearest first: none
	// descendants:
	//  alpha-helper-1 2026-03-02T16:01:00.000Z persisted: untitled
	//   alpha-helper-1-1 2026-03-02T16:02:00.000Z persisted: untitled
	//  alpha-helper-2 2026-03-02T16:01:00.000Z persisted: untitled
}
