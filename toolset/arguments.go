package toolset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// kind is the JSON type of an argument.
type kind uint8

const (
	aText kind = iota
	aInteger
	aBoolean
	aTexts // a list of strings
)

// argument is one argument of a tool. The table of arguments is the schema and
// the decoder at once.
type argument struct {
	name     string
	kind     kind
	required bool
	enum     []string // of the text, or of each text in the list; nil: any
	about    string   // for the schema; ""
}

// wants says what would be right.
func (a argument) wants() string {
	one := "a string"
	if a.enum != nil {
		one = "one of " + strings.Join(a.enum, ", ")
	}
	switch a.kind {
	case aInteger:
		return "an integer"
	case aBoolean:
		return "true or false"
	case aTexts:
		return "a list, each item " + one
	}
	return one
}

// args are the decoded arguments of one call: string, int64, bool or []string
// by name, absent ones not held.
type args map[string]any

func (a args) text(name string) (string, bool)   { v, ok := a[name].(string); return v, ok }
func (a args) integer(name string) (int64, bool) { v, ok := a[name].(int64); return v, ok }
func (a args) list(name string) ([]string, bool) { v, ok := a[name].([]string); return v, ok }
func (a args) flag(name string) bool             { v, _ := a[name].(bool); return v }

// decode checks arguments against the tool's table. Unknown ones are ignored,
// null is not the same as absent, and the failure (fault.InvalidArgs) names
// every violation.
func (t *tool) decode(raw json.RawMessage) (args, error) {
	given := map[string]json.RawMessage{}
	if raw = bytes.TrimSpace(raw); len(raw) > 0 {
		switch {
		case !json.Valid(raw):
			return nil, refuse(fault.InvalidArgs, "invalid arguments: they are no JSON; want an object")
		case raw[0] != '{':
			return nil, refuse(fault.InvalidArgs, "invalid arguments: they are %s; want an object", describe(raw))
		}
		if err := json.Unmarshal(raw, &given); err != nil {
			return nil, fmt.Errorf("%w: %w", fault.InvalidArgs, err)
		}
	}
	out := args{}
	var wrong []string
	for _, a := range t.arguments {
		value, ok := given[a.name]
		switch {
		case ok:
			v, problem := a.decode(value)
			if problem != "" {
				wrong = append(wrong, a.name+" "+problem)
			}
			out[a.name] = v
		case a.required:
			wrong = append(wrong, a.name+" is required: "+a.wants())
		}
	}
	if wrong != nil {
		return nil, refuse(fault.InvalidArgs, "invalid arguments: %s", strings.Join(wrong, "; "))
	}
	return out, nil
}

// decode reads one value; problem says what is wrong and what would be right.
func (a argument) decode(raw json.RawMessage) (value any, problem string) {
	bad := fmt.Sprintf("must be %s, not %s", a.wants(), describe(raw))
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil, bad
	}
	switch v := v.(type) {
	case string:
		if a.kind == aText && a.allows(v) {
			return v, ""
		}
	case bool:
		if a.kind == aBoolean {
			return v, ""
		}
	case json.Number:
		if n, ok := integer(string(v)); ok && a.kind == aInteger {
			return n, ""
		}
	case []any:
		if a.kind != aTexts {
			break
		}
		list := make([]string, len(v))
		for i, item := range v {
			text, ok := item.(string)
			if !ok || !a.allows(text) {
				return nil, bad
			}
			list[i] = text
		}
		return list, ""
	}
	return nil, bad
}

func (a argument) allows(text string) bool { return a.enum == nil || slices.Contains(a.enum, text) }

// integer reads a JSON number that is a whole one, in whatever notation. What
// does not fit is clamped: it is an integer, and out of range.
func integer(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || f != math.Trunc(f):
		return 0, false
	case f >= math.MaxInt64:
		return math.MaxInt64, true
	case f <= math.MinInt64:
		return math.MinInt64, true
	}
	return int64(f), true
}

// describe names a JSON value for a message: short ones as they are.
func describe(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) == nil && b.Len() <= 40 {
		return b.String()
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "this list"
	case '"':
		return "this string"
	}
	return "this value"
}

// queryText returns the query, which must hold some text, not too much, and no NUL.
func (a args) queryText() (string, error) {
	q, _ := a.text("query")
	switch {
	case len(q) > query.MaxQuery:
		return "", refuse(fault.InvalidQuery, "query is %d bytes long, the limit is %d (64 KiB); pass a few words or one line of the text", len(q), query.MaxQuery)
	case strings.ContainsRune(q, 0):
		return "", refuse(fault.InvalidQuery, "query must not hold NUL characters; pass the text to look for")
	case strings.TrimFunc(q, blank) == "":
		return "", refuse(fault.InvalidQuery, "query must hold some text; pass a few words to look for")
	}
	return q, nil
}

// blank reports ECMAScript white space and line terminators.
func blank(r rune) bool {
	return r >= '\t' && r <= '\r' || r == 0xfeff || r == 0x2028 || r == 0x2029 || unicode.Is(unicode.Zs, r)
}

// maxValues is how many values one list may have.
const maxValues = 1000

// some returns a list that must not be empty if it is given, nor endless.
func (a args) some(name string) ([]string, error) {
	list, ok := a.list(name)
	if ok && len(list) == 0 {
		return nil, refuse(fault.InvalidFilter, "%s must contain at least one value when supplied; leave it out to not filter", name)
	}
	if len(list) > maxValues {
		return nil, refuse(fault.InvalidFilter, "%s holds %d values, the limit is %d; pass fewer, or leave it out and narrow the search otherwise", name, len(list), maxValues)
	}
	return list, nil
}

// seq returns a sequence number, or any other count, that must be a
// non-negative safe integer; nil: absent.
func (a args) seq(name string) (*int64, error) {
	n, ok := a.integer(name)
	if !ok {
		return nil, nil
	}
	if n < 0 || n > session.MaxSafe {
		return nil, refuse(fault.InvalidFilter, "%s must be an integer from 0 to %d", name, int64(session.MaxSafe))
	}
	return &n, nil
}

// seqRange reads a pair of sequence numbers, prefix_from and prefix_to.
func (a args) seqRange(prefix string) (query.Range, error) {
	from, err := a.seq(prefix + "_from")
	if err != nil {
		return query.Range{}, err
	}
	to, err := a.seq(prefix + "_to")
	if err != nil {
		return query.Range{}, err
	}
	r := query.Range{From: from, To: to}
	if r.Empty() {
		return r, refuse(fault.InvalidFilter, "%s_from must not be greater than %s_to", prefix, prefix)
	}
	return r, nil
}

// states reads a list of surface states.
func (a args) states(name string) ([]session.State, error) {
	texts, err := a.some(name)
	if err != nil {
		return nil, err
	}
	var states []session.State
	for _, text := range texts {
		state, ok := session.ParseState(text)
		if !ok {
			return nil, refuse(fault.InvalidArgs, "%s holds an unknown surface", name)
		}
		states = append(states, state)
	}
	return states, nil
}
