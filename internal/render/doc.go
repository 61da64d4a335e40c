// Package render turns answers of a view into text for a model, and for people
// into text, tables, JSON, transcripts (Markdown and HTML too) and pictures (SVG
// and Mermaid). Its functions are pure: the same answer gives the same bytes.
//
// Session text is untrusted. In every text the structure is carried by lines:
// a line of ours begins with fields that are ours, and what a session says
// comes after them on the same line, made one line, or on lines of its own that
// are indented. Identifiers that could be mistaken for anything else are quoted
// as JSON strings, so that they can still be passed back exactly. The one
// exception is the event of a read, which is the log's own bytes between two
// fences that do not occur in it. HTML, SVG and Mermaid hold session text as
// text alone: whatever it says, the elements are those of any other.
//
// The package knows nothing of callers, arguments or failures, masks nothing itself (what it
// gets was masked by the view that it comes from), and
// cuts nothing but very long titles, a search's list of hits, and what does not
// fit a column or a box. Start at SessionsText, for people at Transcript.
package render
