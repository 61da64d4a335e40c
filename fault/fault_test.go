package fault_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
)

// declared reads the codes out of the source, so that the table behind Codes is
// checked against something other than itself.
func declared(t *testing.T) map[fault.Code]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "fault.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[fault.Code]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Code" || len(spec.Values) != 1 {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		if codes[fault.Code(text)] {
			t.Errorf("%s is declared twice", text)
		}
		codes[fault.Code(text)] = true
		return true
	})
	return codes
}

func TestEveryCodeIsDescribed(t *testing.T) {
	want := declared(t)
	if len(want) < 20 {
		t.Fatalf("only %d codes found in the source", len(want))
	}
	got := map[fault.Code]bool{}
	for _, c := range fault.Codes() {
		if got[c] {
			t.Errorf("%s has two rows", c)
		}
		got[c] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("declared codes and described codes differ (-declared +described):\n%s", diff)
	}
}

// A sentence goes to a model: it is one sentence, in plain words, and has no
// place for a path, an id or a verb of formatting.
func TestSentencesAreSafe(t *testing.T) {
	plain := regexp.MustCompile("^[A-Z][^%/\\\\\n]*\\.$")
	whose := map[string]fault.Code{}
	for _, c := range fault.Codes() {
		for kind, text := range map[string]string{"sentence": fault.Sentence(c), "remedy": fault.Remedy(c)} {
			if !plain.MatchString(text) || len(text) > 120 {
				t.Errorf("%s: the %s %q is not one plain sentence", c, kind, text)
			}
		}
		if other, twice := whose[fault.Sentence(c)]; twice {
			t.Errorf("%s and %s have the same sentence", c, other)
		}
		whose[fault.Sentence(c)] = c
	}
}

// A session that is hidden and one that is not there must read the same, so
// that ids cannot be guessed.
func TestUnauthorizedDoesNotTellWhy(t *testing.T) {
	text := fault.Sentence(fault.Unauthorized)
	if !strings.Contains(text, "or does not exist") {
		t.Errorf("%q tells the two cases apart", text)
	}
}

func TestUnknownCode(t *testing.T) {
	if got, want := fault.Sentence("NO_SUCH_CODE"), fault.Sentence(fault.ToolFailed); got != want {
		t.Errorf("sentence %q, want %q", got, want)
	}
	if got, want := fault.Remedy("NO_SUCH_CODE"), fault.Remedy(fault.ToolFailed); got != want {
		t.Errorf("remedy %q, want %q", got, want)
	}
}

func TestOf(t *testing.T) {
	cause := errors.New("disk on fire")
	for _, tc := range []struct {
		name string
		err  error
		code fault.Code
		ok   bool
		text string // SafeText
	}{
		{"nil", nil, "", false, fault.Sentence(fault.ToolFailed)},
		{"stranger", cause, "", false, fault.Sentence(fault.ToolFailed)},
		{"bare code", fault.EventNotFound, fault.EventNotFound, true, fault.Sentence(fault.EventNotFound)},
		{"code in a wrap", fmt.Errorf("%w: seq 9", fault.EventNotFound), fault.EventNotFound, true, fault.Sentence(fault.EventNotFound)},
		{"code and cause", fmt.Errorf("reading: %w", fmt.Errorf("%w: %w", fault.Persistence, cause)), fault.Persistence, true, fault.Sentence(fault.Persistence)},
		{"new", fault.New(fault.InvalidFilter, "seq_from %d lies after seq_to %d", 3, 2), fault.InvalidFilter, true, "seq_from 3 lies after seq_to 2"},
		{"new in a wrap", fmt.Errorf("search: %w", fault.New(fault.InvalidQuery, "too short")), fault.InvalidQuery, true, "too short"},
		{"wrapped cause", fault.Wrap(fault.IndexFailed, cause), fault.IndexFailed, true, fault.Sentence(fault.IndexFailed)},
		{"joined", errors.Join(cause, fault.StaleCursor), fault.StaleCursor, true, fault.Sentence(fault.StaleCursor)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, ok := fault.Of(tc.err)
			if code != tc.code || ok != tc.ok {
				t.Errorf("Of = %q, %v; want %q, %v", code, ok, tc.code, tc.ok)
			}
			if ok && !errors.Is(tc.err, tc.code) {
				t.Errorf("errors.Is does not find %s", tc.code)
			}
			if got := fault.SafeText(tc.err); got != tc.text {
				t.Errorf("SafeText = %q, want %q", got, tc.text)
			}
		})
	}
}

func TestWrap(t *testing.T) {
	secret := &fs.PathError{Op: "open", Path: "/home/ada/secret", Err: fs.ErrPermission}
	t.Run("nil stays nil", func(t *testing.T) {
		if err := fault.Wrap(fault.Persistence, nil); err != nil {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the cause is found and not shown", func(t *testing.T) {
		err := fmt.Errorf("session s-1: %w", fault.Wrap(fault.Persistence, secret))
		if !errors.Is(err, fs.ErrPermission) || !errors.Is(err, fault.Persistence) {
			t.Errorf("%v: code or cause is lost", err)
		}
		if !strings.Contains(err.Error(), "/home/ada/secret") {
			t.Errorf("the log text %q lacks the cause", err)
		}
		if text := fault.SafeText(err); strings.Contains(text, "ada") || strings.Contains(text, "s-1") {
			t.Errorf("the safe text %q gives the cause away", text)
		}
	})
	t.Run("the first code stays", func(t *testing.T) {
		for _, inner := range []error{
			fault.CorruptSession,
			fmt.Errorf("%w: line 4", fault.CorruptSession),
			fault.New(fault.CorruptSession, "line 4"),
		} {
			err := fault.Wrap(fault.IndexFailed, inner)
			if code, _ := fault.Of(err); code != fault.CorruptSession {
				t.Errorf("%v was re-coded to %s", inner, code)
			}
			if errors.Is(err, fault.IndexFailed) {
				t.Errorf("%v carries two codes", err)
			}
		}
	})
	t.Run("a context wins", func(t *testing.T) {
		for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
			for _, cause := range []error{
				end,
				fmt.Errorf("reading: %w", end),
				fmt.Errorf("%w: %w", fault.Persistence, end),
				&fault.Error{Code: fault.Persistence, Cause: end},
			} {
				if !fault.IsContext(cause) {
					t.Errorf("%v is not seen as the end of a context", cause)
				}
				if got := fault.Wrap(fault.IndexFailed, cause); got != cause {
					t.Errorf("Wrap changed %v to %v", cause, got)
				}
			}
		}
		if fault.IsContext(secret) || fault.IsContext(nil) {
			t.Error("a cause that is no context is taken for one")
		}
	})
}

func TestErrorText(t *testing.T) {
	for want, err := range map[string]error{
		"SESSION_QUERY_INVALID_LIMIT":                  &fault.Error{Code: fault.InvalidLimit},
		"SESSION_QUERY_INVALID_LIMIT: at most 20":      fault.New(fault.InvalidLimit, "at most %d", 20),
		"SESSION_QUERY_INDEX_FAILED: no space":         fault.Wrap(fault.IndexFailed, errors.New("no space")),
		"TOOL_TIMEOUT: after 30 s: deadline was early": &fault.Error{Code: fault.Timeout, Safe: "after 30 s", Cause: errors.New("deadline was early")},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
