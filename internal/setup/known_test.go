package setup

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the agents get to read, as their own commands write it or their schemas
// ask for it: `copilot mcp add yore -- /opt/yore mcp` of 1.0.102 wrote the
// members of its entry (in another order), pi 1.6.0 and Kimi Code 2.1.0 read
// these.
func TestForms(t *testing.T) {
	for agent, want := range map[Agent]string{
		Pi: `{
  "mcpServers": {
    "yore": {
      "command": "/opt/yore",
      "args": [
        "mcp"
      ],
      "exposure": "direct"
    }
  }
}
`,
		Copilot: `{
  "mcpServers": {
    "yore": {
      "type": "local",
      "command": "/opt/yore",
      "args": [
        "mcp"
      ],
      "tools": [
        "*"
      ]
    }
  }
}
`,
		OpenCode: `{
  "mcp": {
    "yore": {
      "type": "local",
      "command": [
        "/opt/yore",
        "mcp"
      ]
    }
  }
}
`,
		Kilo: `{
  "mcp": {
    "yore": {
      "type": "local",
      "command": [
        "/opt/yore",
        "mcp"
      ]
    }
  }
}
`,
		OpenClaw: `{
  "mcp": {
    "servers": {
      "yore": {
        "command": "/opt/yore",
        "args": [
          "mcp"
        ]
      }
    }
  }
}
`,
		Kimi: `{
  "mcpServers": {
    "yore": {
      "command": "/opt/yore",
      "args": [
        "mcp"
      ]
    }
  }
}
`,
	} {
		to := target(t, agent)
		server := Server{Name: "yore", Command: "/opt/yore", Args: []string{"mcp"}}
		if _, err := to.Write(server, false); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, get(t, to.Path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", agent, diff)
		}
		if again, err := to.Write(server, false); err != nil || again.Change != Unchanged {
			t.Errorf("%s again: %+v, %v", agent, again, err)
		}
		if undone, err := to.Undo("yore", func(string) bool { return true }, false); err != nil || undone.Change != Deleted {
			t.Errorf("%s undone: %+v, %v", agent, undone, err)
		}
	}
}

// An entry that says more, or something else, is not setup's own; one that is
// switched off is known to be.
func TestEntriesOfOthers(t *testing.T) {
	for text, want := range map[string]entry{
		`{"command":"/opt/yore","args":["mcp"],"exposure":"direct"}`:                  {},
		`{"args":["mcp"],"exposure": "direct" ,"type":"stdio","command":"/opt/yore"}`: {},
		`{"command":"/opt/yore","args":["mcp"]}`:                                      {other: true},
		`{"command":"/opt/yore","args":["mcp"],"exposure":"hidden"}`:                  {other: true},
		`{"command":"/opt/yore","args":["mcp"],"exposure":"direct","enabled":false}`:  {other: true, disabled: true},
		`{"command":"/opt/yore","args":["mcp"],"exposure":"direct","timeout":3}`:      {other: true},
	} {
		want.Server = Server{Name: "x", Command: "/opt/yore", Args: []string{"mcp"}}
		got := piForm().entry("x", []byte(text))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	to := target(t, Copilot)
	put(t, to.Path, `{"mcpServers":{"yore":{"tools":["*"],"type":"local","command":"/opt/yore","args":["mcp"]}}}`)
	if r, err := to.Write(Server{Name: "yore", Command: "/opt/yore", Args: []string{"mcp"}}, false); err != nil || r.Change != Unchanged {
		t.Errorf("what copilot wrote itself: %+v, %v", r, err)
	}
	if filepath.Base(to.Path) != "mcp-config.json" {
		t.Error(to.Path)
	}
}
