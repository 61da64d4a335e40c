package ingest

import (
	"slices"
	"unicode/utf8"

	"github.com/yorehq/yore/session"
)

// What a session remembers of calls in order to name the tools of their
// results. A log that states no result for its calls, or names of any length,
// must not make its state large.
const (
	maxCalls    = 64
	maxCallName = 128 // bytes of a tool's name; a longer one is cut
	maxCallID   = 256 // bytes; a call with a longer id names no result
)

// toolOf returns the name of the tool that an event calls or is the result of,
// "" where it is not known. It depends on the events seen and on nothing else,
// so that a log gives the same names in however many pieces it is read.
func (s *Stored) toolOf(e *session.Event) string {
	switch e.Type {
	case session.ToolCall:
		i := slices.IndexFunc(e.Body.Blocks, func(b session.Block) bool { return b.Kind == session.CallBlock })
		if i < 0 {
			return ""
		}
		name := toolName(e.Body.Blocks[i].Name)
		if id := e.Body.CallID; name != "" && id != "" && len(id) <= maxCallID && utf8.ValidString(id) && !e.Provisional {
			calls := append(slices.Clone(s.Calls), Call{id, name})
			s.Calls = calls[max(0, len(calls)-maxCalls):]
		}
		return name
	case session.ToolResult:
		for i := len(s.Calls) - 1; i >= 0; i-- {
			if s.Calls[i].ID != e.Body.CallID {
				continue
			}
			name := s.Calls[i].Tool
			if !e.Provisional {
				s.Calls = slices.Delete(slices.Clone(s.Calls), i, i+1)
			}
			return name
		}
	}
	return ""
}

// toolName is a name as it is kept: whole characters, none that a text may not have.
func toolName(name string) string {
	clean := make([]byte, 0, min(len(name), maxCallName))
	for _, r := range name {
		if r == 0 {
			r = utf8.RuneError
		}
		if len(clean)+utf8.RuneLen(r) > maxCallName {
			break
		}
		clean = utf8.AppendRune(clean, r)
	}
	return string(clean)
}
