// Package toolset owns the five read-only tools that a model calls: what they
// are named and said to do, how their arguments are decoded and in which order
// they are checked, and how an answer or a failure reads.
//
// Arguments are flat and in snake_case; results are plain text, complete and
// without cursors. A tool sees the corpus through an authz.View and nothing
// else; who the caller is comes from the host, never from an argument. Every
// failure below becomes one code with one sentence at one place, boundary.go:
// causes go to the log, never into the text.
//
// The package knows no protocol, no store and no log format. Start at Set.Call.
package toolset
