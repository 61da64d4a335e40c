package render

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// maxTime is the last millisecond, on either side of 1970, that a calendar
// prints: the range of ECMAScript's dates.
const maxTime = 8_640_000_000_000_000

// Time prints epoch milliseconds as UTC ISO 8601 with milliseconds. Years
// outside 0 to 9999 have a sign and six digits; a time beyond ±8.64e15 ms
// prints as its integer and " ms".
func Time(ms int64) string {
	if ms > maxTime || ms < -maxTime {
		return fmt.Sprintf("%d ms", ms)
	}
	t := time.UnixMilli(ms).UTC()
	year := fmt.Sprintf("%04d", t.Year())
	if t.Year() < 0 || t.Year() > 9999 {
		year = fmt.Sprintf("%+07d", t.Year())
	}
	return year + t.Format("-01-02T15:04:05.000Z")
}

// Name prints an identifier that a log may have chosen (a session id, an event
// type): bare where it consists of letters, digits and ._:/@+-~# only, none of
// them written from right to left, else as a JSON string that names it exactly.
func Name(s string) string { return name(s, false) }

// name is Name; of a person's own folders letters of any direction are bare.
func name(s string, anyDirection bool) string {
	bare := func(r rune) bool {
		return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._:/@+-~#", r)) &&
			!document.Hides(r) && (anyDirection || !document.RightToLeft(r))
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !bare(r) }) < 0 {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == ' ' || bare(r) || r > ' ' && r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Escaped makes a record safe to show whole: what steers a screen or cannot be
// seen is written as JSON writes it.
func Escaped(s string) string {
	s, _ = document.Escaped(s)
	return s
}

// Line makes untrusted text one safe line of at most limit code points; 0: no limit.
func Line(s string, limit int) string { return document.OneLine(s, limit) }

// line makes untrusted text one safe line.
func line(s string) string { return document.OneLine(s, 0) }

// indented writes the lines of untrusted text behind a prefix.
func indented(b *strings.Builder, prefix, text string) {
	for _, l := range Paragraphs(text) {
		b.WriteString(prefix)
		b.WriteString(l)
		b.WriteByte('\n')
	}
}

// key prints a session's id, with its agent where several agents share a list.
func key(k session.Key, shared bool) string {
	if shared {
		return Name(k.String())
	}
	return Name(string(k.ID))
}

// maxTitle is how many code points of a title are shown: a title names a
// session, and what is longer can be read as the event that set it.
const maxTitle = 200

// title prints a session's title as one safe line.
func title(info query.Info) string {
	if info.TitleFail != "" {
		return query.Untitled + " (title unavailable: " + string(info.TitleFail) + ")"
	}
	return Line(info.Title, maxTitle)
}

// availability says where a session exists.
func availability(info query.Info) string {
	switch {
	case info.Live && info.Persisted:
		return "live+persisted"
	case info.Live:
		return "live"
	}
	return "persisted"
}

// heading prints the line that names a session.
func heading(info query.Info) string {
	return fmt.Sprintf("%s %s %s: %s", key(info.Header.Key(), false), Time(info.Header.CreatedAt), availability(info), title(info))
}

// event prints the fields that name an event.
func event(seq int64, typ string, state session.State, ms int64) string {
	return fmt.Sprintf("#%d %s %s %s", seq, Name(typ), state, Time(ms))
}

// seqs prints sequence numbers in their order, runs of three and more
// neighbours as first-last.
func seqs(list []int64) string {
	if len(list) == 0 {
		return "none"
	}
	var b strings.Builder
	for i := 0; i < len(list); {
		end := i
		for end+1 < len(list) && list[end+1] == list[end]+1 {
			end++
		}
		if end-i < 2 {
			end = i
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, list[i])
		if end > i {
			fmt.Fprintf(&b, "-%d", list[end])
		}
		i = end + 1
	}
	return b.String()
}

// count prints a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
