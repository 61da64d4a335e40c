package toolset

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
)

// Failure is what a model may know of a failure: a code, and a text that is the
// code's sentence or says which argument is wrong. It holds no cause.
type Failure struct {
	Code    fault.Code
	Message string // one line, at most about 1 KB
}

// Error gives code and message, the text for a model.
func (f *Failure) Error() string { return string(f.Code) + ": " + f.Message }

// Unwrap gives the code, so that errors.Is finds it.
func (f *Failure) Unwrap() error { return f.Code }

// early is the end of a context before the call began.
type early struct{ error }

// crashed is a panic as an error. What was thrown is never printed by anyone
// but the log, which guards itself.
type crashed struct {
	thrown any
	stack  []byte
}

func (*crashed) Error() string { return "panic" }

// guarded runs a call and turns a panic into an error.
func (s *Set) guarded(ctx context.Context, call Call) (text string, value any, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			text, value, err = "", nil, &crashed{thrown, debug.Stack()}
		}
	}()
	return s.run(ctx, call)
}

// translate makes the one failure that a model sees, and logs the cause. outer
// is the caller's context, within the one that also has the call's deadline.
func (s *Set) translate(outer, within context.Context, tool string, err error) (failure *Failure) {
	// Even looking at an error can panic: its methods are foreign code.
	defer func() {
		if thrown := recover(); thrown != nil {
			failure = sentence(fault.ToolFailed)
			s.log(tool, failure.Code, &crashed{thrown, debug.Stack()})
		}
	}()
	failure = judge(outer, within, err)
	s.log(tool, failure.Code, err)
	return failure
}

func judge(outer, within context.Context, err error) *Failure {
	_, before := err.(*early)
	// The caller's signal wins over whatever it caused, and the deadline over
	// whatever that caused.
	switch cause := outer.Err(); {
	case cause != nil && errors.Is(cause, context.DeadlineExceeded):
		return sentence(fault.Timeout)
	case cause != nil && before:
		return sentence(fault.AbortedBefore)
	case cause != nil:
		return sentence(fault.Aborted)
	case within.Err() != nil:
		return sentence(fault.Timeout)
	}
	code, ok := fault.Of(err)
	if !ok || !named(code) {
		return sentence(fault.ToolFailed)
	}
	if _, ours := err.(*refusal); ours || precise(code) {
		if text := fault.SafeText(err); text != fault.Sentence(code) {
			return &Failure{code, short(text)}
		}
	}
	return sentence(code)
}

// sentence is the fixed failure of a code.
func sentence(code fault.Code) *Failure {
	return &Failure{code, fault.Sentence(code) + " " + fault.Remedy(code)}
}

// named reports whether a model may know the code. Faults of the deployment
// and what only services can meet are not its business.
func named(code fault.Code) bool {
	switch code {
	case fault.InvalidArgs, fault.Unauthorized, fault.MissingAgent, fault.NoCurrentStep,
		fault.InvalidQuery, fault.InvalidFilter, fault.InvalidLimit, fault.InvalidWindow, fault.InvalidCursor,
		fault.EventNotFound, fault.SessionNotFound, fault.StaleCursor, fault.InvalidLineage, fault.CorruptSession,
		fault.Persistence, fault.IndexFailed, fault.SearchDisabled, fault.EngineAborted:
		return true
	}
	return false
}

// precise reports whether the code is about what the caller passed, so that
// the text of the failure says which argument is wrong. All other codes have
// their fixed sentence, whatever a failure from below says: a missing target
// and a forbidden one must not differ in a byte.
func precise(code fault.Code) bool {
	switch code {
	case fault.InvalidArgs, fault.InvalidQuery, fault.InvalidFilter, fault.InvalidLimit,
		fault.InvalidWindow, fault.InvalidCursor, fault.MissingAgent:
		return true
	}
	return false
}

// maxMessage is how many code points of a message are shown: a message may
// quote what the model wrote.
const maxMessage = 900

func short(text string) string { return render.Line(text, maxMessage) }

// refusal is a failure that the tools themselves found. Its text is always
// shown: it says nothing that the call did not.
type refusal struct{ error }

// Unwrap gives the fault.Error within.
func (r *refusal) Unwrap() error { return r.error }

// refuse makes a refusal, with a text that says what is wrong and what would be
// right.
func refuse(code fault.Code, format string, args ...any) error {
	return &refusal{fault.New(code, format, args...)}
}

// log writes a failure's cause. A cause that cannot be printed is logged by its type.
func (s *Set) log(tool string, code fault.Code, err error) {
	level := slog.LevelInfo
	if code == fault.ToolFailed {
		level = slog.LevelError
	}
	defer func() {
		if thrown := recover(); thrown != nil {
			defer func() { _ = recover() }() // the logger itself is broken: an answer without a log is still an answer
			s.options.Logger.Log(context.Background(), level, "tool failed", "tool", tool, "code", string(code), "cause", fmt.Sprintf("unprintable %T", err))
		}
	}()
	if crash, ok := err.(*crashed); ok {
		s.options.Logger.Log(context.Background(), level, "tool panicked", "tool", tool, "code", string(code),
			"cause", printed(crash.thrown), "stack", string(crash.stack))
		return
	}
	s.options.Logger.Log(context.Background(), level, "tool failed", "tool", tool, "code", string(code), "cause", err.Error())
}

// printed is what a panic threw, as far as it can be printed. fmt contains the
// panics of what it prints.
func printed(thrown any) string { return fmt.Sprintf("%v", thrown) }
