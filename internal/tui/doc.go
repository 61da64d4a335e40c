// Package tui owns the screens on which a person searches and reads their own
// sessions at a terminal: a query that is answered while it is typed, the list
// of hits with a preview, whole sessions, lineages, and the relations of events.
//
// It asks everything through a View, and it is given what it may not know: which
// agents there are, how a session is resumed, which pager to start, what time it
// is. It reads no environment and no configuration. Nothing that a log says
// reaches the screen but through quote (text.go), which makes it harmless.
//
// Update never waits: every question to the corpus runs in the background
// (job.go), a newer one cancels the older, and an answer that comes too late is
// dropped. Start at Run, then Model.Update and Model.View in model.go.
package tui
