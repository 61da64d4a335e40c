package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/yorehq/yore/toolset"
)

// Each file of the archive is a conversation: lines that begin with > are sent
// as they stand, lines that begin with < must come back next, compared as JSON.
// GUIDANCE stands for the instructions. At the end the input is closed and
// nothing more may come.
func TestTranscripts(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/transcripts.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files) == 0 {
		t.Fatal("no conversations")
	}
	guidance, err := json.Marshal(toolset.Guidance())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		t.Run(f.Name, func(t *testing.T) {
			p := serve(t, options(echo))
			for line := range strings.Lines(string(f.Data)) {
				line = strings.TrimSuffix(line, "\n")
				switch {
				case strings.HasPrefix(line, ">"):
					p.send(strings.TrimPrefix(line[1:], " "))
				case strings.HasPrefix(line, "<"):
					want := strings.ReplaceAll(line[1:], `"GUIDANCE"`, string(guidance))
					got := p.line()
					if diff := cmp.Diff(value(t, want), value(t, got)); diff != "" {
						t.Fatalf("(-want +got):\n%s\ngot: %s", diff, got)
					}
				case line != "" && !strings.HasPrefix(line, "#"):
					t.Fatalf("a line of neither side: %q", line)
				}
			}
			rest := make(chan string)
			go func() { rest <- p.line() }()
			if err := p.end(); err != nil {
				t.Errorf("Serve returned %v", err)
			}
			if line := <-rest; line != "" {
				t.Errorf("one line too many: %s", line)
			}
		})
	}
}

func value(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}
