package render

import (
	"fmt"
	"html"
	"strings"

	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// Transcript is the head of a session that is told passage by passage. Each
// form is a head, one piece a passage, and a foot, so that a session of any
// length can be written as it is read.
type Transcript struct {
	Info   query.Info
	Resume string // the command that takes the session up again; "": there is none
	Cut    string // how to read the rest of a text that is cut short, as a sentence's end; ""
}

// Blank lines of a text are kept, runs of them as one; white space within a
// line stays, a tab as four spaces.
func textLines(text string) []string {
	var lines []string
	for l := range strings.SplitSeq(document.MultiLine(text), "\n") {
		l = strings.TrimRight(strings.ReplaceAll(l, "\t", "    "), " ")
		if l != "" || len(lines) > 0 && lines[len(lines)-1] != "" {
			lines = append(lines, l)
		}
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// Speaker says in words who speaks in a passage.
func Speaker(p query.Passage) string {
	switch {
	case p.Role == query.RoleFirstPrompt, p.Role == query.RoleUser:
		return "user"
	case p.Role == query.RoleAssistant:
		return "assistant"
	case p.Role == query.RoleContext:
		return "context"
	case p.Type == session.ToolCall && p.Tool != "":
		return "call of " + Name(p.Tool)
	case p.Type == session.ToolResult && p.Tool != "":
		return "result of " + Name(p.Tool)
	}
	return Name(p.Type)
}

// Standing says in words what has become of a passage.
func Standing(p query.Passage) string {
	if p.State == session.Shadowed && p.By >= 0 {
		return fmt.Sprintf("shadowed by #%d", p.By)
	}
	return p.State.String()
}

// more says how much of a text is not shown; "" if all of it is.
func (t Transcript) more(p query.Passage) string {
	var text string
	if p.Cut {
		text = fmt.Sprintf("… %d of %d characters", document.Points(p.Text), p.Points)
		if t.Cut != "" {
			text += "; " + fmt.Sprintf(t.Cut, p.Seq)
		}
	}
	if p.Clipped {
		if text != "" {
			text += "; "
		}
		text += "the event is longer than what is searchable"
	}
	return text
}

// Head prints the lines that name the session.
func (t Transcript) Head() string {
	var b strings.Builder
	b.WriteString(heading(t.Info) + "\n")
	for _, f := range t.facts() {
		fmt.Fprintf(&b, " %s: %s\n", f[0], f[1])
	}
	return b.String()
}

// facts are what is said of the session beside its title.
func (t Transcript) facts() [][2]string {
	h := t.Info.Header
	facts := [][2]string{{"agent", Name(string(h.Agent))}, {"workspace", Workspace(h)}, {"events", fmt.Sprint(t.Info.Events)}}
	if t.Info.Events > 0 {
		facts = append(facts, [2]string{"changed", Time(t.Info.Changed)})
	}
	if h.ParentSession != "" {
		facts = append(facts, [2]string{"parent", "yes; `yore trace` shows it"})
	}
	if t.Resume != "" {
		facts = append(facts, [2]string{"resume", t.Resume})
	}
	return facts
}

// Text prints a passage: a line that says which, who and what has become of it,
// then its text, indented and broken at width columns (0: not broken).
func (t Transcript) Text(p query.Passage, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n#%d %s · %s · %s\n", p.Seq, Speaker(p), Standing(p), Time(p.Time))
	const indent = "    "
	for _, l := range textLines(p.Text) {
		if l == "" {
			b.WriteByte('\n')
			continue
		}
		room := 0
		if width > 0 {
			room = max(20, width-len(indent))
		}
		for _, piece := range Wrap(l, room) {
			b.WriteString(indent + piece + "\n")
		}
	}
	if more := t.more(p); more != "" {
		b.WriteString("  [" + more + "]\n")
	}
	return b.String()
}

// MarkdownHead prints the session as a heading and a list of facts.
func (t Transcript) MarkdownHead() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n- session: %s\n- created: %s\n", markdown(title(t.Info)), code(string(t.Info.Header.ID)), Time(t.Info.Header.CreatedAt))
	for _, f := range t.facts() {
		fmt.Fprintf(&b, "- %s: %s\n", f[0], code(f[1]))
	}
	return b.String()
}

// Markdown prints a passage as a heading and its text in a fence that the text
// cannot close.
func (t Transcript) Markdown(p query.Passage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## #%d %s\n\n%s, %s\n", p.Seq, markdown(Speaker(p)), Standing(p), Time(p.Time))
	if lines := textLines(p.Text); len(lines) > 0 {
		text := strings.Join(lines, "\n")
		mark := strings.Repeat("`", max(3, longestRun(text, '`')+1))
		fmt.Fprintf(&b, "\n%stext\n%s\n%s\n", mark, text, mark)
	}
	if more := t.more(p); more != "" {
		fmt.Fprintf(&b, "\n%s\n", markdown(more))
	}
	return b.String()
}

// markdown escapes a line so that nothing in it is markup, neither Markdown's
// nor HTML's.
func markdown(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '&':
			b.WriteString("&amp;")
		case strings.ContainsRune("\\`*_{}[]()#+-.!|~>:/@", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// code makes a code span that the text cannot close.
func code(s string) string {
	s = line(s)
	mark := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return mark + s + mark
}

func longestRun(s string, of rune) int {
	longest, run := 0, 0
	for _, r := range s {
		if run++; r != of {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// HTMLHead begins a page that needs nothing else: no script, no request, and a
// policy that forbids both.
func (t Transcript) HTMLHead() string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	fmt.Fprintf(&b, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src %s; base-uri 'none'; form-action 'none'\">\n", styleHash(transcriptStyle))
	b.WriteString("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n")
	fmt.Fprintf(&b, "<title>%s</title>\n<style>%s</style>\n</head>\n<body>\n", escaped(title(t.Info)), transcriptStyle)
	fmt.Fprintf(&b, "<header>\n<h1>%s</h1>\n<dl>\n<dt>session</dt><dd>%s</dd>\n<dt>created</dt><dd>%s</dd>\n", escaped(title(t.Info)), escaped(Name(string(t.Info.Header.ID))), Time(t.Info.Header.CreatedAt))
	for _, f := range t.facts() {
		fmt.Fprintf(&b, "<dt>%s</dt><dd>%s</dd>\n", f[0], escaped(f[1]))
	}
	b.WriteString("</dl>\n</header>\n")
	for _, s := range []session.State{session.Current, session.Shadowed, session.LogOnly} {
		fmt.Fprintf(&b, "<input type=\"checkbox\" id=\"show-%[1]s\" checked><label for=\"show-%[1]s\" class=\"%[1]s\">%[1]s</label>\n", s)
	}
	b.WriteString("<main>\n")
	return b.String()
}

// HTML prints a passage as an element of the page.
func (t Transcript) HTML(p query.Passage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<article id=\"e%[1]d\" class=\"%[2]s %[3]s\">\n<h2><a href=\"#e%[1]d\">#%[1]d</a> %[4]s <span class=\"state\">", p.Seq, p.Role, p.State, escaped(Speaker(p)))
	if p.State == session.Shadowed && p.By >= 0 {
		fmt.Fprintf(&b, "shadowed by <a href=\"#e%[1]d\">#%[1]d</a>", p.By)
	} else {
		b.WriteString(p.State.String())
	}
	fmt.Fprintf(&b, "</span> <time>%s</time></h2>\n", Time(p.Time))
	if lines := textLines(p.Text); len(lines) > 0 {
		fmt.Fprintf(&b, "<pre dir=\"auto\">%s</pre>\n", escaped(strings.Join(lines, "\n")))
	}
	if more := t.more(p); more != "" {
		fmt.Fprintf(&b, "<p>%s</p>\n", escaped(more))
	}
	b.WriteString("</article>\n")
	return b.String()
}

// HTMLFoot ends the page, with how many credentials in it are masked.
func (t Transcript) HTMLFoot(masked int) string {
	note := strings.TrimSuffix(MaskedText(masked), "\n")
	if note != "" {
		note = "<p>" + note + "</p>\n"
	}
	return note + "</main>\n</body>\n</html>\n"
}

func escaped(s string) string { return html.EscapeString(s) }

// JSON is how a session that is told begins in JSON, with its number of passages:
//
//	{"session":{…},"passages":n,"resume"?}
func (t Transcript) JSON(total int64) []byte {
	return encode(struct {
		Session  sessionJSON `json:"session"`
		Passages int64       `json:"passages"`
		Resume   string      `json:"resume,omitempty"`
	}{sessionOf(t.Info), total, t.Resume})
}

// MaskedJSON is how a session in JSON ends if credentials in it are masked:
//
//	{"masked":n}
func MaskedJSON(n int) []byte {
	return encode(struct {
		Masked int `json:"masked"`
	}{n})
}

// PassageJSON is
//
//	{"event":{"seq","type","surface","time"},"ordinal","role","tool"?,"shadowed_by"?,
//	 "text","cut"?,"clipped"?,"masked"?}
func PassageJSON(p query.Passage) []byte {
	var by *int64
	if p.By >= 0 {
		by = &p.By
	}
	return encode(struct {
		Event   eventJSON `json:"event"`
		Ordinal int64     `json:"ordinal"`
		Role    string    `json:"role"`
		Tool    string    `json:"tool,omitempty"`        // if it is known
		By      *int64    `json:"shadowed_by,omitempty"` // if it is shadowed
		Text    string    `json:"text"`
		Cut     bool      `json:"cut,omitempty"`     // if the text goes on
		Clipped bool      `json:"clipped,omitempty"` // if the event is longer than what is searchable
		Masked  int       `json:"masked,omitempty"`  // credentials, if any are masked
	}{eventJSON{p.Seq, p.Type, p.State.String(), Time(p.Time)}, p.Ordinal, p.Role.String(), p.Tool, by, p.Text, p.Cut, p.Clipped, p.Masked})
}
