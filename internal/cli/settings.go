package cli

import (
	"slices"

	"github.com/yorehq/yore/query"
)

// setting is one value that a run is configured with: by a flag --name where a
// command has one, by the environment as YORE_NAME, by name = value in
// config.toml, else by its default. configure resolves them from this table, and
// docs/configuration.md and the comments of the sample file are made from it.
type setting struct {
	name     string
	words    []string // the only values; nil: any of the kind
	value    string   // what kind of value it takes, for people
	fallback string   // "": see unset
	unset    string   // what holds without a value, for people
	sample   string   // a value for the sample file, in TOML; "": not in the file
	meaning  string
}

func settingTable() []setting {
	return []setting{
		{
			name: "index", value: "a folder", unset: "`yore` in the user's cache folder", sample: `"~/.cache/yore"`,
			meaning: "Where the index lies. It can be deleted at any time, and is made again from the logs.",
		},
		{
			name: "archive", value: "a folder", unset: "no archive", sample: `"~/sessions"`,
			meaning: "Where `yore archive` keeps sessions, which are then found and read like any other.",
		},
		{
			name: "network-index", words: []string{"true", "false"}, fallback: "false", sample: "false",
			meaning: "The index may be on a network file system, because this machine alone uses it. Otherwise such a place is refused.",
		},
		{
			name: "match", words: []string{string(query.Auto), string(query.Literal)}, fallback: string(query.Auto), sample: `"auto"`,
			meaning: "`literal`: only texts that hold the query's words adjacent and in order. `auto`: those first, then texts with some of the words.",
		},
		{
			name: "order", words: []string{string(query.Relevance), string(query.Matches)}, fallback: string(query.Relevance), sample: `"relevance"`,
			meaning: "What comes first: the most relevant (BM25, by who speaks), or the most matches.",
		},
		{
			name: "inherited", words: []string{"true", "false"}, fallback: "false", sample: "false",
			meaning: "Show what a fork inherited beside its origin as well.",
		},
		{
			name: "snippet", value: "a number", fallback: "240", sample: "240",
			meaning: "Length of the excerpt shown with a hit, in code points.",
		},
		{
			name: "search-mode", words: []string{string(query.SearchStartup), string(query.SearchFirst), string(query.SearchNever)}, fallback: string(query.SearchStartup), sample: `"startup"`,
			meaning: "When the MCP server begins to index: when it starts, with the first search, or never, so that there is no search.",
		},
		{
			name: "workspace-policy", words: []string{"exact", "repository"}, fallback: "exact", sample: `"exact"`,
			meaning: "Whose sessions a caller of the MCP server sees: those of its directory, or those of all worktrees of its git repository.",
		},
		{
			name: "max-inline-bytes", value: "a number", unset: "by the agent that asks", sample: "10000",
			meaning: "The longest result that the MCP server gives inline; a longer one goes to a private file. 0: any.",
		},
		{
			name: "log-level", words: logLevels(), fallback: "warn", sample: `"warn"`,
			meaning: "What is logged to standard error. No level above `debug` logs text of a session.",
		},
		{
			name: "team-url", value: "an address", unset: "no team",
			meaning: "The team's server; `url` under `[team]` in the file. `https`, or `http` on this machine alone. Without it nobody is asked ([team.md](team.md)).",
		},
		{
			name: "team-token-file", value: "a file", unset: "none",
			meaning: "The file with the token for it, its owner's alone; `token-file` under `[team]`.",
		},
		{
			name: "team-timeout", value: "a duration", fallback: "2s",
			meaning: "How long an answer waits for the team's part at most; `timeout` under `[team]`.",
		},
		{
			name: "database", value: "an address", unset: "none",
			meaning: "Of `yore serve`: where PostgreSQL is, a URL or `key=value` pairs. Not in the file.",
		},
	}
}

// settingOf returns a row of the table.
func settingOf(name string) setting {
	all := settingTable()
	return all[slices.IndexFunc(all, func(s setting) bool { return s.name == name })]
}

// variable is something else that the environment says.
type variable struct{ name, meaning string }

// variables are read beside YORE_NAME of each setting and what moves an agent's
// sessions.
func variables() []variable {
	return []variable{
		{"YORE_ROOTS", "Where agents keep their sessions: `AGENT=DIR`, several separated as in `PATH`. Stands for `--root`, and replaces the usual places."},
		{"YORE_CONFIG", "The configuration file. Stands for `--config`."},
		{"YORE_PAGER", "The program that long answers go through on a terminal; empty or `cat`: none."},
		{"PAGER", "The same for every program; without either it is `less`."},
		{"LESS", "Options of `less`; if there are none, `FRXK` is passed to it."},
		{"LESSCHARSET", "How `less` reads text; if not set, as UTF-8."},
		{"NO_COLOR", "If set, nothing is coloured."},
		{"TERM", "`dumb`: no colour, no progress and no full screen."},
		{"WT_SESSION", "On Windows: the terminal shows colours."},
		{"BROWSER", "The program that `yore web` opens the page with."},
		{"DISPLAY", "Without it and `WAYLAND_DISPLAY`, `yore web` opens no browser on Linux."},
		{"WAYLAND_DISPLAY", "See `DISPLAY`."},
		{"XDG_CONFIG_HOME", "Where the user's configuration folder is, on Linux."},
		{"XDG_CACHE_HOME", "Where the user's cache folder is, on Linux."},
		{"XDG_STATE_HOME", "Where the record of `--reveal` is kept, on Linux."},
		{"GOGC", "When the program collects garbage; without it, rarely below 96 MB. See the documentation of Go."},
		{"GOMEMLIMIT", "The same as a limit."},
		{"OPENCLAW_CONFIG_PATH", "Where OpenClaw's settings are, for `yore setup openclaw` and `yore doctor`."},
		{"CLAUDE_PROJECT_DIR", "Told by Claude Code to `yore mcp`: the folder that the server must be working in."},
		{"WORKSPACE_FOLDER_PATHS", "Told by Cursor to `yore mcp`: the folder of the window."},
		{"HOME", "The home folder. `yore mcp` does not take it for a workspace by itself."},
		{"CLAUDE_CODE_SESSION_ID", "Told by Claude Code to `yore mcp`: the calling session. Narrows what is seen."},
		{"QWEN_CODE_SESSION_ID", "The same by Qwen Code."},
		{"COPILOT_AGENT_SESSION_ID", "The same by Copilot CLI."},
	}
}
