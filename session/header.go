// Package session owns the model every agent's log is expressed in: headers,
// append-only events, the surface they fold into, and the lineage between
// sessions. It is pure: standard library only, no files, no stores.
//
// A reader (package reader) turns an agent's own files into Header and Event;
// nothing above a reader knows which agent wrote a session. Start at Event,
// then Fold.
package session

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/yorehq/yore/fault"
)

// MaxSafe is the largest integer that every agent's number type holds exactly:
// 2^53 - 1. Sequence numbers and creation times stay at or below it.
const MaxSafe = 1<<53 - 1

// ID is a session's identity as its agent wrote it: opaque, not empty, compared exactly.
type ID string

// Agent names the product that wrote a session; one constant per reader.
type Agent string

// The agents that have a reader.
const (
	DSH      Agent = "dsh"
	Claude   Agent = "claude-code"
	Codex    Agent = "codex"
	Pi       Agent = "pi"
	Gemini   Agent = "gemini-cli"
	Qwen     Agent = "qwen-code"
	Cursor   Agent = "cursor"
	Copilot  Agent = "copilot"
	Kimi     Agent = "kimi-code"
	OpenCode Agent = "opencode"
	Kilo     Agent = "kilo"
	OpenClaw Agent = "openclaw"
)

// Key identifies a session within one workspace.
type Key struct {
	Agent Agent
	ID    ID
}

// String gives the unambiguous form, agent:id.
func (k Key) String() string { return string(k.Agent) + ":" + string(k.ID) }

// CompareKey orders keys by id, then by agent, both by bytes.
func CompareKey(a, b Key) int {
	return cmp.Or(strings.Compare(string(a.ID), string(b.ID)), strings.Compare(string(a.Agent), string(b.Agent)))
}

// Header is what a log states about its session once and for all. It is
// comparable: two sources of one session agree when their headers are equal.
type Header struct {
	Agent           Agent  `json:"agent"`
	ID              ID     `json:"id"`
	Version         int64  `json:"version"`
	CreatedAt       int64  `json:"createdAt"`               // epoch milliseconds, 0 ≤ CreatedAt ≤ MaxSafe
	Cwd             string `json:"cwd,omitempty"`           // the workspace, compared as an exact string; "" is none
	ParentSession   ID     `json:"parentSession,omitempty"` // forked from or spawned by; "" is none; may name a session that is not there
	SeedLength      int64  `json:"seedLength,omitempty"`    // how many leading events came from the parent
	Origin          string `json:"origin,omitempty"`        // OriginSubagent for a child made by delegation, else ""
	DelegationDepth int64  `json:"delegationDepth,omitempty"`
	AgentPreset     string `json:"agentPreset,omitempty"`
}

// OriginSubagent marks a session that a delegation made.
const OriginSubagent = "subagent"

// Key returns the session's identity.
func (h Header) Key() Key { return Key{h.Agent, h.ID} }

// Inherited reports whether the event at seq was copied from the parent.
func (h Header) Inherited(seq int64) bool { return seq < h.SeedLength }

// Validate checks the rules every agent's header must keep. Failures carry
// fault.CorruptSession.
func (h Header) Validate() error {
	switch {
	case h.ID == "":
		return fmt.Errorf("%w: the header has no id", fault.CorruptSession)
	case h.CreatedAt < 0 || h.CreatedAt > MaxSafe:
		return fmt.Errorf("%w: createdAt %d is no safe non-negative integer", fault.CorruptSession, h.CreatedAt)
	case h.SeedLength < 0 || h.SeedLength > MaxSafe:
		return fmt.Errorf("%w: seedLength %d is no safe non-negative integer", fault.CorruptSession, h.SeedLength)
	case h.DelegationDepth < 0 || h.DelegationDepth > MaxSafe:
		return fmt.Errorf("%w: delegationDepth %d is no safe non-negative integer", fault.CorruptSession, h.DelegationDepth)
	case h.Origin != "" && h.Origin != OriginSubagent:
		return fmt.Errorf("%w: origin %q is unknown", fault.CorruptSession, h.Origin)
	}
	return nil
}
