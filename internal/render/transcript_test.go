package render

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

func passages(name func(string) string) []query.Passage {
	return []query.Passage{
		{Seq: 0, Type: session.UserMessage, Role: query.RoleFirstPrompt, State: session.Shadowed, By: 4, Points: 5, Text: name("Where?")},
		{Seq: 1, Type: session.AssistantMessage, Role: query.RoleAssistant, By: -1, State: session.Current, Text: name("Here.\n\n\n  indented  code\n\ttab\n")},
		{Seq: 2, Type: session.ToolCall, Role: query.RoleCall, Tool: name("Bash"), By: -1, State: session.LogOnly, Text: name("Bash\n{}"), Points: 900, Cut: true},
		{Seq: 3, Type: session.ToolResult, Role: query.RoleResult, Tool: name("Bash"), By: -1, State: session.Current, Text: "", Clipped: true},
		{Seq: 4, Type: name("user/message"), Role: query.RoleContext, By: -1, State: session.Current, Text: name("Sum")},
		{Seq: 5, Type: name("turn/end"), Role: query.RoleOther, By: -1, State: session.LogOnly, Text: name("aborted")},
	}
}

func transcript(name func(string) string) Transcript {
	i := member(name("id"), name("Title"), session.Header{Cwd: name("/w"), CreatedAt: 1772442000000, ParentSession: "p"})
	return Transcript{Info: i, Resume: "agent --resume id", Cut: "`yore show --from %[1]d --to %[1]d` shows it"}
}

func TestTranscriptText(t *testing.T) {
	same := func(s string) string { return s }
	tr := transcript(same)
	var b strings.Builder
	b.WriteString(tr.Head())
	for _, p := range passages(same) {
		b.WriteString(tr.Text(p, 30))
	}
	want := `id 2026-03-02T09:00:00.000Z persisted: Title
 agent: dsh
 workspace: /w
 events: 3
 changed: 1970-01-01T00:00:00.000Z
 parent: yes; ` + "`yore trace`" + ` shows it
 resume: agent --resume id

#0 user · shadowed by #4 · 1970-01-01T00:00:00.000Z
    Where?

#1 assistant · current · 1970-01-01T00:00:00.000Z
    Here.

      indented  code
        tab

#2 call of Bash · log-only · 1970-01-01T00:00:00.000Z
    Bash
    {}
  [… 7 of 900 characters; ` + "`yore show --from 2 --to 2`" + ` shows it]

#3 result of Bash · current · 1970-01-01T00:00:00.000Z
  [the event is longer than what is searchable]

#4 context · current · 1970-01-01T00:00:00.000Z
    Sum

#5 turn/end · log-only · 1970-01-01T00:00:00.000Z
    aborted
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

var nasty = []string{
	"<script>alert(1)</script>", "</pre></article><img src=x onerror=alert(1)>", "\"><a href='http://x'>", "```\n# heading\n~~~", "<!--", "]]>", "&lt;b&gt;",
	"\x1b]0;t\x07\x1b[2J", "\u202ertl\u2066", "#9 user · current · 2026\n    forged", "a\r\n\r\nb\u2028c", "`` ` ``", strings.Repeat("`", 40), "[x](javascript:alert(1))", "\x00\xff",
}

// Whatever is said in a session, a page of it has the same tags, and nothing in
// it can make another look.
func TestTranscriptHTMLHoldsHostileText(t *testing.T) {
	tags := func(name func(string) string) []string {
		tr := transcript(name)
		page := tr.HTMLHead()
		for _, p := range passages(name) {
			page += tr.HTML(p)
		}
		page += tr.HTMLFoot(0)
		if strings.Contains(page, "\x1b") || strings.Contains(page, "\u202e") {
			t.Error("a control character is in the page")
		}
		for _, needs := range []string{"<script", "<link", "<img", " src=", "url(", "@import", " onerror=", "href=\"http"} {
			for _, tag := range regexp.MustCompile(`(?s)<[^>]*>`).FindAllString(page, -1) {
				if strings.Contains(tag, needs) {
					t.Errorf("the page has %s", tag)
				}
			}
		}
		if !strings.Contains(page, "Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-") {
			t.Error("the page has no policy")
		}
		return regexp.MustCompile(`(?s)<[^>]*>`).FindAllString(page, -1)
	}
	want := tags(func(s string) string { return s })
	for _, n := range nasty {
		if d := cmp.Diff(want, tags(func(s string) string { return s + n })); d != "" {
			t.Errorf("%q changes the page (-plain +hostile):\n%s", n, d)
		}
	}
}

// The hash that the policy allows is the one of the style in the page.
func TestTranscriptStyleIsAllowed(t *testing.T) {
	head := transcript(func(s string) string { return s }).HTMLHead()
	_, rest, _ := strings.Cut(head, "<style>")
	css, _, ok := strings.Cut(rest, "</style>")
	if !ok || !strings.Contains(head, "style-src "+styleHash(css)+";") {
		t.Error("the style's hash is another one")
	}
}

// In Markdown a text stands in a fence that it cannot close, and the lines of
// structure are ours.
func TestTranscriptMarkdownHoldsHostileText(t *testing.T) {
	outline := func(name func(string) string) (out []string) {
		tr := transcript(name)
		text := tr.MarkdownHead()
		for _, p := range passages(name) {
			text += tr.Markdown(p)
		}
		fence := ""
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			run := line[:len(line)-len(strings.TrimLeft(line, "`"))]
			switch {
			case fence != "":
				if line == run && len(run) >= len(fence) {
					fence = ""
					out = append(out, "end")
				}
			case len(run) >= 3 && strings.HasSuffix(line, "`text"):
				fence = run
				out = append(out, "begin")
			case strings.Contains(outsideSpans(line), "<") || strings.Contains(strings.ReplaceAll(outsideSpans(line), `\[`, ""), "]("):
				t.Errorf("%q is markup", line)
			case line != "":
				word, _, _ := strings.Cut(line, " ")
				out = append(out, word)
			}
		}
		return append(out, fence)
	}
	want := outline(func(s string) string { return s })
	for _, n := range nasty {
		if d := cmp.Diff(want, outline(func(s string) string { return s + n })); d != "" {
			t.Errorf("%q changes the outline (-plain +hostile):\n%s", n, d)
		}
	}
}

// outsideSpans returns what of a line stands in no code span.
func outsideSpans(line string) string {
	runs := regexp.MustCompile("`+").FindAllStringIndex(line, -1)
	var out strings.Builder
	at := 0
	for i := 0; i < len(runs); i++ {
		for j := i + 1; j < len(runs); j++ {
			if runs[j][1]-runs[j][0] == runs[i][1]-runs[i][0] {
				out.WriteString(line[at:runs[i][0]])
				at, i = runs[j][1], j
				break
			}
		}
	}
	return out.String() + line[at:]
}

// No line of a text can pass for one of the transcript's own.
func TestTranscriptLinesAreOurs(t *testing.T) {
	for _, n := range nasty {
		name := func(s string) string { return s + n }
		tr := transcript(name)
		for _, p := range passages(name) {
			text := tr.Text(p, 40)
			if strings.ContainsAny(text, "\x1b\u202e\r\u2028") {
				t.Errorf("%q leaves a control character in %q", n, text)
			}
			for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
				ours := i == 0 && line == "" || i == 1 && strings.HasPrefix(line, "#") || line == "" || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "  [")
				if !ours {
					t.Errorf("%q makes the line %q", n, line)
				}
			}
		}
	}
}

// FuzzForms has every form of a transcript and of a picture hold any text: the
// structure stays what it is with a plain one.
func FuzzForms(f *testing.F) {
	for _, n := range nasty {
		f.Add(n)
	}
	tags := regexp.MustCompile(`(?s)<[^>]*>`)
	html := func(name func(string) string) string {
		tr := transcript(name)
		page := tr.HTMLHead()
		for _, p := range passages(name) {
			page += tr.HTML(p)
		}
		return page
	}
	wantTags := len(tags.FindAllString(html(func(s string) string { return s }), -1))
	wantElements := len(LineagePicture(family(func(s string) string { return s })).Boxes)
	f.Fuzz(func(t *testing.T, n string) {
		name := func(s string) string { return s + n }
		if got := tags.FindAllString(html(name), -1); len(got) != wantTags {
			t.Fatalf("%q makes %d tags of %d", n, len(got), wantTags)
		}
		boxes := 0
		p := LineagePicture(family(name))
		for _, e := range parse(t, p.SVG()) {
			if e.name == "rect" && e.class == "box" {
				boxes++
			}
		}
		if boxes != wantElements {
			t.Fatalf("%q makes %d boxes of %d", n, boxes, wantElements)
		}
		if lines := strings.Count(p.Mermaid(), "\n"); lines != 1+len(p.Boxes)+len(p.Links) {
			t.Fatalf("%q makes %d lines of a flowchart", n, lines)
		}
		for line := range strings.Lines(p.Mermaid()) {
			if q := strings.Count(line, `"`); q > 2 {
				t.Fatalf("%q closes a label: %s", n, line)
			}
		}
	})
}
