// Package fault owns the closed set of failure codes, the error that carries
// one, and the sentence that may be shown for each.
//
// A failure gets its code once, where its meaning is known; callers above add
// context with %w and never change the code. A Code is itself an error, so
// errors.Is(err, fault.SessionNotFound) works through any wrapping. What is
// safe to show a model is Sentence (fixed for each code) or the Safe text of an
// argument failure; causes, paths and ids stay in the wrapped error, for logs.
//
// The package knows nothing of sessions, stores or surfaces. Start at Code.
package fault

import (
	"context"
	"errors"
	"fmt"
)

// Code is the public name of a kind of failure. The set is closed: see Codes.
type Code string

// Error returns the public name.
func (c Code) Error() string { return string(c) }

// The codes. The comment of each says when it is given.
const (
	InvalidArgs Code = "INVALID_ARGS" // an argument has the wrong type or an unknown enum value

	Unauthorized  Code = "SESSION_QUERY_TOOL_UNAUTHORIZED"    // the target is outside the caller's workspace, or is not there
	MissingAgent  Code = "SESSION_QUERY_TOOL_MISSING_AGENT"   // nobody is behind the call, or the own session is asked for and unknown
	NoCurrentStep Code = "SESSION_QUERY_TOOL_NO_CURRENT_STEP" // own-session search, and the own log has no step
	ToolFailed    Code = "SESSION_QUERY_TOOL_FAILED"          // whatever is not safe to name, source conflicts included

	InvalidQuery   Code = "SESSION_QUERY_INVALID_QUERY"   // the query text is empty or holds NUL
	InvalidFilter  Code = "SESSION_QUERY_INVALID_FILTER"  // a filter is malformed, empty or reversed
	InvalidLimit   Code = "SESSION_QUERY_INVALID_LIMIT"   // a page size out of range
	InvalidWindow  Code = "SESSION_QUERY_INVALID_WINDOW"  // more neighbours than allowed
	InvalidCursor  Code = "SESSION_QUERY_INVALID_CURSOR"  // a cursor that is not ours or belongs to another request
	InvalidConfig  Code = "SESSION_QUERY_INVALID_CONFIG"  // options that contradict each other
	InvalidSurface Code = "SESSION_QUERY_INVALID_SURFACE" // a surface fold that cannot be made

	EventNotFound   Code = "SESSION_QUERY_EVENT_NOT_FOUND"    // the sequence number lies behind the end
	SessionNotFound Code = "SESSION_QUERY_SESSION_NOT_FOUND"  // no such session in the corpus
	StaleCursor     Code = "SESSION_QUERY_STALE_CURSOR"       // history changed between two pages
	InvalidLineage  Code = "SESSION_QUERY_INVALID_LINEAGE"    // the target's ancestors form a ring
	CorruptSession  Code = "SESSION_QUERY_CORRUPT_SESSION"    // events break a rule: envelope, shape, surface
	Persistence     Code = "SESSION_QUERY_PERSISTENCE_FAILED" // bytes cannot be turned into events, or cannot be read
	IndexFailed     Code = "SESSION_QUERY_INDEX_FAILED"       // the index cannot be opened or is not ours
	SearchDisabled  Code = "SESSION_QUERY_SEARCH_DISABLED"    // search is turned off
	EngineAborted   Code = "SESSION_QUERY_ABORTED"            // cancelled inside the engine

	Timeout       Code = "TOOL_TIMEOUT"            // the deadline of the call
	AbortedBefore Code = "ABORTED_BEFORE_DISPATCH" // the caller's signal, before the call
	Aborted       Code = "ABORTED"                 // the caller's signal, during the call
)

// Error carries a code, an optional text that is safe to show, and the cause.
type Error struct {
	Code  Code
	Safe  string // may be shown to anyone; empty: Sentence(Code) is shown
	Cause error  // for logs only; may be nil
}

// Error gives code, safe text and cause, for logs.
func (e *Error) Error() string {
	text := string(e.Code)
	if e.Safe != "" {
		text += ": " + e.Safe
	}
	if e.Cause != nil && e.Cause.Error() != e.Safe {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap gives the code and the cause, so that errors.Is finds either.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Cause}
}

// New returns a failure whose formatted text is safe to show.
func New(code Code, format string, args ...any) error {
	return &Error{Code: code, Safe: fmt.Sprintf(format, args...)}
}

// Wrap gives cause a code. Context errors pass through untouched and win, a
// cause that has a code already keeps it, and a nil cause stays nil.
func Wrap(code Code, cause error) error {
	if cause == nil || IsContext(cause) {
		return cause
	}
	if _, ok := Of(cause); ok {
		return cause
	}
	return &Error{Code: code, Cause: cause}
}

// IsContext reports whether err is, or wraps, the end of a context.
func IsContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Of returns the code that err carries.
func Of(err error) (Code, bool) {
	var e *Error
	if errors.As(err, &e) {
		return e.Code, true
	}
	var c Code
	if errors.As(err, &c) {
		return c, true
	}
	return "", false
}

// SafeText returns the text of err that may be shown: the safe text of the
// failure where it has one, else the fixed sentence of its code.
func SafeText(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Safe != "" {
		return e.Safe
	}
	if code, ok := Of(err); ok {
		return Sentence(code)
	}
	return Sentence(ToolFailed)
}
