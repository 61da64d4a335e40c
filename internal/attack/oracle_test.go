package attack

import (
	"slices"
	"strings"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// visible is the rule of who may see what, written from the tools' description
// and not from the code: the caller's workspace, as an exact string; the
// caller's own session; nothing for nobody.
func visible(c authz.Caller, h session.Header) bool {
	own := c.Session != nil && c.Session.ID == h.ID && c.Session.Agent == h.Agent && c.Workspace == h.Cwd
	return own || c.Workspace != "" && c.Workspace == h.Cwd
}

// foreign returns the words that no answer to a caller may hold: of what it may
// not see, without what it has said itself or what is also its own.
func (w *world) foreign(c authz.Caller, said string, stated bool) []string {
	var words, known []string
	for _, s := range w.specs {
		if visible(c, s.header) {
			known = append(known, append(s.words, markers(string(s.header.ID))...)...)
			if stated { // its own header says whose child it is
				known = append(known, markers(string(s.header.ParentSession))...)
			}
		} else {
			words = append(words, append(s.words, markers(string(s.header.ID))...)...)
		}
	}
	known = append(known, markers(said)...)
	return append(slices.DeleteFunc(words, func(word string) bool { return slices.Contains(known, word) }), nobody)
}

// markers finds the words in a text that are some session's alone.
func markers(text string) (found []string) {
	for at := strings.Index(text, "qz"); at >= 0 && at+11 <= len(text); {
		found = append(found, text[at:at+11])
		next := strings.Index(text[at+11:], "qz")
		if next < 0 {
			break
		}
		at += 11 + next
	}
	return found
}

// leaked returns a word of a list that a text holds in any letter case; "".
func leaked(text string, words []string) string {
	text = strings.ToLower(text)
	if !strings.Contains(text, "qz") {
		return ""
	}
	for _, w := range words {
		if strings.Contains(text, w) {
			return w
		}
	}
	return ""
}

// unmarked takes the markers of invisible descendants out of a trace: the one
// thing that an answer may say of what its caller may not see.
func unmarked(text string) string {
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimLeft(line, " ") != "[outside workspace: a subtree]" {
			kept = append(kept, line)
		}
	}
	return strings.Replace(strings.Join(kept, "\n"), "\ndescendants: none", "\ndescendants:", 1)
}

// shown is what a host may show of a failure.
func shown(err error) string {
	if err == nil {
		return ""
	}
	code, _ := fault.Of(err)
	return string(code) + ": " + fault.SafeText(err) + "\n"
}

// apart shows two texts where they begin to differ.
func apart(a, b string) (string, string) {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	at = max(0, at-200)
	return a[at:min(len(a), at+600)], b[at:min(len(b), at+600)]
}

// around shows a text where a word is.
func around(text, word string) string {
	at := max(0, strings.Index(strings.ToLower(text), word))
	return text[max(0, at-300):min(len(text), at+300)]
}
