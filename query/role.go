package query

import (
	"slices"

	"github.com/yorehq/yore/session"
)

// Role is who speaks in a document, as ranking weighs it. The numbers are
// stored; they never change their meaning.
type Role uint8

// The roles.
const (
	RoleOther       Role = iota // turn ends and the like
	RoleFirstPrompt             // the session's first human prompt
	RoleUser                    // other user messages
	RoleAssistant               // the model's text
	RoleCall                    // a tool call or a todo list
	RoleResult                  // a tool's result
	RoleContext                 // injected context and compaction summaries
)

// weights is the one table of what a hit counts by who speaks. Values from a
// known-item test over genuine sessions (docs/search.md).
var weights = [...]float64{
	RoleOther:       1.0,
	RoleFirstPrompt: 2.2,
	RoleUser:        1.5,
	RoleAssistant:   1.3,
	RoleCall:        1.0,
	RoleResult:      0.8,
	RoleContext:     0.5,
}

// maxWeight is the highest of them.
var maxWeight = slices.Max(weights[:])

// Weight returns the factor for a role.
func (r Role) Weight() float64 {
	if int(r) < len(weights) {
		return weights[r]
	}
	return 1
}

// roleNames are what people and programs call the roles.
var roleNames = [...]string{
	RoleOther:       "other",
	RoleFirstPrompt: "first-prompt",
	RoleUser:        "user",
	RoleAssistant:   "assistant",
	RoleCall:        "tool-call",
	RoleResult:      "tool-result",
	RoleContext:     "context",
}

// String returns the role's name; one that is not known is RoleOther.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return roleNames[RoleOther]
}

// RoleOf maps a speaker to a role; first says that no human prompt came before.
func RoleOf(s session.Speaker, first bool) Role {
	switch s {
	case session.Human:
		if first {
			return RoleFirstPrompt
		}
		return RoleUser
	case session.Assistant:
		return RoleAssistant
	case session.Action:
		return RoleCall
	case session.Tool:
		return RoleResult
	case session.Injected, session.Summary:
		return RoleContext
	}
	return RoleOther
}
