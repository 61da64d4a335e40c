package fault

// entry is one row of the table behind Codes, Sentence and Remedy.
type entry struct {
	code             Code
	sentence, remedy string
}

var table = []entry{
	{InvalidArgs, "The arguments do not fit the tool's schema.", "Correct the argument that is named and call again."},
	{Unauthorized, "This session is not in the caller's workspace, or does not exist.", "Use an id that session_search returned in this workspace."},
	{MissingAgent, "The caller's own session is not known here.", "Pass session_id; session_search lists the ids of this workspace."},
	{NoCurrentStep, "The own session has no step to stop before.", "Pass the session_id of another session."},
	{ToolFailed, "The request failed for a reason that is kept in the log.", "Try again; if it stays, the person who runs the agent can call `yore doctor`."},
	{InvalidQuery, "The query must hold some text.", "Pass a few words of the text to look for."},
	{InvalidFilter, "A filter cannot be used as given.", "Correct the filter that is named and call again."},
	{InvalidLimit, "The page size is out of range.", "Ask for between 1 and the stated maximum."},
	{InvalidWindow, "More neighbours were asked for than one read may return.", "Ask for fewer neighbours."},
	{InvalidCursor, "The cursor does not belong to this request.", "Start again from the first page."},
	{InvalidConfig, "The configuration contradicts itself.", "Correct the option that is named."},
	{InvalidSurface, "The session's surface cannot be folded.", "Call `yore doctor` to see where the log breaks a rule."},
	{EventNotFound, "The session has no event with this sequence number.", "Use a seq that a search or a trace returned."},
	{SessionNotFound, "There is no session with this id.", "Use an id that session_search returned."},
	{StaleCursor, "The history changed between two pages.", "Repeat the call from its first page."},
	{InvalidLineage, "The ancestors of this session form a ring.", "Read the sessions themselves; their lineage is unsound."},
	{CorruptSession, "The log of this session breaks the rules of its format.", "Other sessions are not affected; `yore doctor` names the place."},
	{Persistence, "The log of this session cannot be read.", "Other sessions are not affected; `yore doctor` names the place."},
	{IndexFailed, "The search index cannot be opened.", "The person who runs the agent can call `yore doctor`."},
	{SearchDisabled, "Search is turned off in this deployment.", "Reads and traces of known sessions still work."},
	{EngineAborted, "The search was cancelled.", "Call again."},
	{Timeout, "The call did not finish within its deadline.", "Narrow the query or add filters, then call again."},
	{AbortedBefore, "The call was cancelled before it began.", "Call again."},
	{Aborted, "The call was cancelled.", "Call again."},
}

// Codes lists every code, in the order of the documentation.
func Codes() []Code {
	codes := make([]Code, len(table))
	for i, e := range table {
		codes[i] = e.code
	}
	return codes
}

// Sentence is the fixed text for a code, safe to show to anyone.
func Sentence(code Code) string {
	for _, e := range table {
		if e.code == code {
			return e.sentence
		}
	}
	return Sentence(ToolFailed)
}

// Remedy says what to do about a code.
func Remedy(code Code) string {
	for _, e := range table {
		if e.code == code {
			return e.remedy
		}
	}
	return Remedy(ToolFailed)
}
