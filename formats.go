package yore

import "github.com/yorehq/yore/session"

// Format says what is read of an agent's sessions, for people who choose.
type Format struct {
	Agent    session.Agent
	Product  string
	Versions string // those that were seen, of the product or of its format
	Store    string
	Reads    string // what is read beside messages, calls, results and titles
	Lost     string // what is not there, or not seen; the page has all of it
	Page     string // below docs/formats
}

// Formats returns one Format for every agent in Readers but the product's own
// archive, in that order.
func Formats() []Format {
	return []Format{
		{
			session.DSH, "DSH", "0.1.0-rc.8, 0.1.1-rc.2; SQLite schema 17 by its description", "JSON lines, zstd frames; SQLite",
			"forks, subagents, compactions, prunings, older shapes, interrupted turns", "nothing of a sound log", "dsh.md",
		},
		{
			session.Claude, "Claude Code", "2.1.332; 1.x and later by description", "JSON lines", "forks, subagents, rewinds, compactions, running sessions",
			"the surface while a summary is awaited", "claude-code.md",
		},
		{
			session.Codex, "Codex CLI", "0.8.0 to 0.171.0, and older layouts", "JSON lines, zstd", "threads over many files, forks, subagents, rollbacks, compactions, running sessions",
			"compactions of releases up to 0.34", "codex.md",
		},
		{
			session.Pi, "Pi", "format 1 to 3 (1.6.0)", "JSON lines", "branches, forks, compactions, context edits", "which sessions are open", "pi.md",
		},
		{
			session.Gemini, "Gemini CLI", "0.61.0 and the older documents", "JSON lines, JSON", "resumptions, rewinds, compactions, subagents",
			"which session calls; sessions that the agent deletes", "gemini-cli.md",
		},
		{
			session.Qwen, "Qwen Code", "0.24.4; the documents of 0.1.3", "JSON lines, JSON", "rewinds, branches, compactions, subagents", "which sessions are open; calls and results of 0.1", "qwen-code.md",
		},
		{
			session.Copilot, "Copilot CLI", "0.0.340; 1.0.40 to 1.0.102", "JSON lines, JSON", "subagents, compactions, truncations, forks, running sessions", "what a rewind cut off; workspaces of 0.0.3", "copilot.md",
		},
		{
			session.Kimi, "Kimi Code", "2.1.0; the client in Python by its source", "JSON lines", "subagents, compactions, undone turns", "which sessions are open; times of messages of the Python client", "kimi.md",
		},
		{
			session.Cursor, "Cursor", "editor and agent, by description", "SQLite; JSON lines, JSON, text", "subagents, one session in several forms",
			"compactions, models; results and exact times of transcripts alone", "cursor.md",
		},
		{
			session.OpenCode, "OpenCode", "0.1.174 to 1.18.33", "SQLite; trees of JSON", "forks, subagents, compactions, prunings, reverts", "messages that a revert deleted", "opencode.md",
		},
		{
			session.Kilo, "Kilo CLI", "7.7.7", "SQLite", "as OpenCode", "as OpenCode", "opencode.md",
		},
		{
			session.OpenClaw, "OpenClaw", "2026.9.6; the files before, by description", "SQLite, zstd; JSON lines", "branches, resets, compactions, forks, subagents, archived transcripts",
			"which sessions are open; subagents of the files", "openclaw.md",
		},
	}
}
