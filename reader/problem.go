package reader

import (
	"fmt"

	"github.com/yorehq/yore/fault"
)

// Error gives the whole of the problem, for doctor and logs.
func (p *Problem) Error() string {
	at := p.Path
	if p.Line > 0 {
		at += fmt.Sprintf(", line %d", p.Line)
	}
	if p.Offset > 0 {
		at += fmt.Sprintf(", byte %d", p.Offset)
	}
	return fmt.Sprintf("%s: %s: %s", p.Code, at, p.Reason)
}

// Unwrap gives the code, so that errors.Is and fault.Of find it.
func (p *Problem) Unwrap() error { return p.Code }

// Unreadable is a problem of bytes: they cannot be turned into events.
func Unreadable(path string, line, offset int64, format string, args ...any) *Problem {
	return &Problem{Code: fault.Persistence, Path: path, Line: line, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// Corrupt is a problem of events: they break a rule of their format.
func Corrupt(path string, line, offset int64, format string, args ...any) *Problem {
	return &Problem{Code: fault.CorruptSession, Path: path, Line: line, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}
