package setup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// settings is how people keep the settings of Gemini CLI and Qwen Code: with
// comments, which the agents themselves leave out.
const settings = `{
  // what I like
  "ui": { "theme": "GitHub" }, /* "mcpServers": {} */
  "mcp": { "excluded": ["off"] },
  "mcpServers": {
    "mine": { "httpUrl": "http://127.0.0.1:1/x", "trust": true }, // not "yours"
    "off": { "command": "true", "args": ["mcp"] } // for now
  }
}
`

func TestSettingsWithComments(t *testing.T) {
	home := t.TempDir()
	server := Server{Name: "yore", Command: "/bin/yore", Args: []string{"mcp"}}
	for agent, file := range map[Agent]string{Gemini: ".gemini/settings.json", Qwen: ".qwen/settings.json", Cursor: ".cursor/mcp.json"} {
		target, err := Places{Home: home}.User(agent)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(home, filepath.FromSlash(file))
		if target.Path != path {
			t.Errorf("%s keeps its servers in %s, not in %s", agent, path, target.Path)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := target.Write(server, false); err != nil {
			t.Fatal(err)
		}
		const want = `{
  // what I like
  "ui": { "theme": "GitHub" }, /* "mcpServers": {} */
  "mcp": { "excluded": ["off"] },
  "mcpServers": {
    "mine": { "httpUrl": "http://127.0.0.1:1/x", "trust": true }, // not "yours"
    "off": { "command": "true", "args": ["mcp"] }, // for now
    "yore": {
      "command": "/bin/yore",
      "args": [
        "mcp"
      ]
    }
  }
}
`
		if diff := cmp.Diff(want, readText(t, path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", agent, diff)
		}
		all, err := target.format.entries([]byte(want))
		if err != nil || len(all) != 3 || !all[0].other || all[1].disabled != (agent != Cursor) || all[2].disabled || all[2].line != 8 {
			t.Errorf("%s: the entries are %+v, %v", agent, all, err)
		}
		if _, err := target.Undo("yore", func(string) bool { return true }, false); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(settings, readText(t, path)); diff != "" {
			t.Errorf("%s, undone (-want +got):\n%s", agent, diff)
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestUncommented(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"//no","b":1}// x`:       `{"a":"//no","b":1}    `,
		"{/* a\nb */\"c\":\"\\\"/*\"}": "{    \n    \"c\":\"\\\"/*\"}",
		"/":                            "/", "/*": "/*", "//": "  ", "//x\r\n{}": "   \r\n{}", `"`: `"`, `"\`: `"\`, "/**//**/1": "        1",
	} {
		if got := string(uncommented([]byte(in))); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestUntrailed(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":[1,2,],"b":{"c":",}",},}`: `{"a":[1,2 ],"b":{"c":",}" } }`,
		"[1, \r\n]":                     "[1  \r\n]",
		"{,}":                           "{,}", "[,]": "[,]", "[1,,]": "[1,,]", `{"a":,}`: `{"a":,}`, ",}": ",}", `",]`: `",]`, `["\",]"]`: `["\",]"]`,
	} {
		text := []byte(in)
		untrailed(text)
		if string(text) != want {
			t.Errorf("%q becomes %q, want %q", in, text, want)
		}
	}
}

// OpenCode takes commas behind the last of a list; they stay where they are.
func TestTrailingCommas(t *testing.T) {
	home := t.TempDir()
	target, err := Places{Home: home}.User(OpenCode)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(target.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	const head, tail = "{\n  \"mcp\": {\n    \"probe\": {\"type\": \"local\", \"command\": [\"p\",],}", ", // mine\n  },\n}\n"
	if err := os.WriteFile(target.Path, []byte(head+tail), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := target.Write(Server{Name: "yore", Command: "/bin/yore", Args: []string{"mcp"}}, false); err != nil {
		t.Fatal(err)
	}
	const mine, end = ", // mine", "\n  },\n}\n"
	const entry = "\n    \"yore\": {\n      \"type\": \"local\",\n      \"command\": [\n        \"/bin/yore\",\n        \"mcp\"\n      ]\n    },"
	if diff := cmp.Diff(head+mine+entry+end, readText(t, target.Path)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Something else has changed meanwhile, so that the entry itself is taken out.
	if err := os.WriteFile(target.Path, []byte("// later\n"+readText(t, target.Path)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := target.Undo("yore", func(string) bool { return true }, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("// later\n"+head+tail, readText(t, target.Path)); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
}
