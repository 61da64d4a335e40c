package document

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/session"
)

// goldenCase is one recorded call, as far as it concerns text and tokens.
type goldenCase struct {
	Name   string `json:"name"`
	Config struct {
		Query struct {
			SnippetChars int `json:"snippetChars"`
		} `json:"query"`
	} `json:"config"`
	Args struct {
		Session string `json:"session_id"`
		Query   string `json:"query"`
	} `json:"args"`
	Expect struct {
		Hits []goldenHit `json:"hits"`
	} `json:"expect"`
}

type goldenHit struct {
	Seq     int    `json:"seq"`
	Snippet string `json:"snippet"`
}

// goldenSessions are the recorded sessions whose logs hold their text plainly,
// without closing records, packed rows or earlier shapes, which are a reader's.
var goldenSessions = []string{
	"alpha-build-fix", "alpha-blocks", "alpha-endings", "alpha-header-only",
	"alpha-scripts", "alpha-scripts-more", "alpha-syntax", "alpha-long",
}

// better are the cases that are answered otherwise on purpose.
var better = map[string][]int{
	"events.script/spaced Chinese words":                      {2, 1},
	"events.script/spaced query against an unspaced sentence": {1},
	"events.script/Japanese katakana word":                    {3},
	"events.script/fullwidth":                                 {11},
	"events.script/Thai":                                      {12},
	"events.script-more/Vietnamese precomposed":               {1, 2},
	"events.script-more/one mark of two":                      {1, 2},
	"events.script-more/fullwidth digits as ascii":            {5},
	"events.script-more/Arabic without vowel marks":           {7},
	"events.script-more/Hebrew without points":                {7},
	"events.script-more/Greek tonos":                          {11},
}

// TestGolden runs the recorded within-session searches over a scan of the logs:
// what matches, in which order by the reference's count, and each snippet.
func TestGolden(t *testing.T) {
	ran := map[string]bool{}
	for _, line := range lines(t, "../../testdata/golden/cases.jsonl") {
		var c goldenCase
		if json.Unmarshal(line, &c) != nil || !slices.Contains(goldenSessions, c.Args.Session) {
			continue
		}
		switch strings.SplitN(c.Name, "/", 2)[0] {
		case "events.script", "events.script-more", "events.syntax", "events.hit", "events.snippet":
		default:
			continue
		}
		ran[c.Name] = true
		got := search(t, c)
		if seqs, ok := better[c.Name]; ok {
			var have []int
			for _, h := range got {
				have = append(have, h.Seq)
			}
			if d := gocmp.Diff(seqs, have); d != "" {
				t.Errorf("%s: (-want +got)\n%s", c.Name, d)
			}
			continue
		}
		if d := gocmp.Diff(append([]goldenHit{}, c.Expect.Hits...), got); d != "" {
			t.Errorf("%s: %q (-recorded +got)\n%s", c.Name, c.Args.Query, d)
		}
	}
	if len(ran) < 140 {
		t.Errorf("only %d recorded cases ran", len(ran))
	}
	for name := range better {
		if !ran[name] {
			t.Errorf("no recorded case %q", name)
		}
	}
}

func search(t *testing.T, c goldenCase) []goldenHit {
	t.Helper()
	query, err := NormalizeQuery(c.Args.Query)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	limit := 240
	if n := c.Config.Query.SnippetChars; n > 0 {
		limit = n
	}
	type ranked struct {
		goldenHit
		spans, points int
		time          int64
	}
	var all []ranked
	for _, doc := range documents(t, c.Args.Session) {
		spans := Spans(doc.text, Terms(query))
		if len(spans) == 0 {
			continue
		}
		hit := goldenHit{doc.seq, Snippet(doc.text, spans[0].Start, limit)}
		all = append(all, ranked{hit, len(spans), Points(doc.text), doc.time})
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(b.spans-a.spans, a.points-b.points, cmp.Compare(b.time, a.time), b.Seq-a.Seq)
	})
	hits := []goldenHit{}
	for _, r := range all {
		hits = append(hits, r.goldenHit)
	}
	return hits
}

type goldenDoc struct {
	seq  int
	time int64
	text string
}

// documents extracts the text of a recorded session.
func documents(t *testing.T, id string) []goldenDoc {
	t.Helper()
	type block struct {
		Type, Text, Name, Arguments string
		Content                     []json.RawMessage
	}
	var blocks func(raw []json.RawMessage) []session.Block
	blocks = func(raw []json.RawMessage) []session.Block {
		var out []session.Block
		for _, r := range raw {
			var b block
			if json.Unmarshal(r, &b) != nil {
				continue
			}
			switch b.Type {
			case "text":
				out = append(out, session.Block{Kind: session.TextBlock, Text: b.Text})
			case "tool-call":
				out = append(out, session.Block{Kind: session.CallBlock, Name: b.Name, Text: b.Arguments})
			case "tool-result":
				out = append(out, session.Block{Kind: session.ResultBlock, Content: blocks(b.Content)})
			}
		}
		return out
	}
	text := func(parts ...string) (list []session.Block) {
		for _, p := range parts {
			list = append(list, session.Block{Kind: session.TextBlock, Text: p})
		}
		return list
	}
	var docs []goldenDoc
	for _, line := range lines(t, filepath.Join("../../testdata/golden/corpus/main/--srv-code-alpha--", id, "session.jsonl")) {
		var head struct {
			Type string
			Seq  int
			Time int64
		}
		if err := json.Unmarshal(line, &head); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		switch head.Type {
		case session.UserMessage, session.AssistantMessage, session.ToolCall, session.ToolResult, session.TodoWrite, session.TurnEnd:
		default:
			continue
		}
		var e struct {
			Data struct {
				Content         []json.RawMessage
				Message         struct{ Content []json.RawMessage }
				Name, Arguments string
				Todos           []struct{ Status, Content string }
				Reason          struct {
					Kind  string
					Error struct{ Message string }
				}
				Error struct{ Name, Code string }
			}
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		b := session.Body{ErrorName: e.Data.Error.Name, ErrorCode: e.Data.Error.Code}
		switch head.Type {
		case session.ToolCall:
			b.Blocks = []session.Block{{Kind: session.CallBlock, Name: e.Data.Name, Text: e.Data.Arguments}}
		case session.TodoWrite:
			for _, item := range e.Data.Todos {
				b.Blocks = append(b.Blocks, text(item.Status, item.Content)...)
			}
		case session.TurnEnd:
			switch kind := e.Data.Reason.Kind; kind {
			case "error", "aborted", "max-tokens", "interrupted":
				b.Blocks = text(kind, e.Data.Reason.Error.Message)
			}
		default:
			b.Blocks = blocks(append(e.Data.Content, e.Data.Message.Content...))
		}
		if text, _ := Extract(b); text != "" {
			docs = append(docs, goldenDoc{head.Seq, head.Time, text})
		}
	}
	return docs
}

func lines(t *testing.T, path string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(data), []byte("\n"))
}
