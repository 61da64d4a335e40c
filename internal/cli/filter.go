package cli

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
)

// sessionFlags choose sessions.
type sessionFlags struct {
	ids, agents, parents, availability []string
	roots                              bool
	createdFrom, createdTo             string
}

func (s *sessionFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&s.ids, "session", nil, "only these sessions: `IDS`, or their unique beginnings")
	f.StringSliceVar(&s.agents, "agent", nil, "only sessions of these `AGENTS`")
	f.StringVar(&s.createdFrom, "created-from", "", "created at or after this `TIME`")
	f.StringVar(&s.createdTo, "created-to", "", "created at or before this `TIME`")
	f.StringSliceVar(&s.parents, "parent", nil, "only direct children of the sessions with these `IDS`")
	f.BoolVar(&s.roots, "roots", false, "only sessions without a parent; with --parent: these as well")
	f.StringSliceVar(&s.availability, "availability", nil, "only sessions that exist at these `PLACES`: live, persisted")
}

// filter resolves the flags within a corpus.
func (s *sessionFlags) filter(ctx context.Context, c *corpus) (query.SessionFilter, error) {
	f := query.SessionFilter{Scope: c.scope, Roots: s.roots}
	for _, a := range s.agents {
		agent, err := knownAgent(a)
		if err != nil {
			return f, err
		}
		f.Agents = append(f.Agents, agent)
	}
	for _, v := range s.availability {
		if v != string(query.Live) && v != string(query.Persisted) {
			return f, fault.New(fault.InvalidFilter, "--availability is %q: want live or persisted", v)
		}
		f.Availability = append(f.Availability, query.Availability(v))
	}
	var err error
	if f.CreatedAt, err = times("created", s.createdFrom, s.createdTo); err != nil {
		return f, err
	}
	if f.Parents, err = c.keys(ctx, s.parents); err != nil {
		return f, err
	}
	keys, err := c.keys(ctx, s.ids)
	for _, k := range keys {
		f.IDs = append(f.IDs, k.String())
	}
	return f, err
}

// maxValues is how many values one flag takes.
const maxValues = 1000

// checkFlags refuses flags that are given and say nothing, which would silently
// choose nothing or everything, and lists without an end.
func checkFlags(cmd *cobra.Command) error {
	for _, name := range []string{"session", "agent", "parent", "availability", "type", "surface"} {
		if f := cmd.Flags().Lookup(name); f == nil || !f.Changed {
			continue
		}
		values, err := cmd.Flags().GetStringSlice(name)
		switch {
		case err != nil:
			return err
		case len(values) == 0 || slices.Contains(values, ""):
			return fmt.Errorf("--%s has an empty value: leave it out to not filter", name)
		case len(values) > maxValues:
			return fmt.Errorf("--%s has %d values: want at most %d", name, len(values), maxValues)
		}
	}
	for _, name := range []string{"text", "created-from", "created-to", "time-from", "time-to", "workspace"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && strings.TrimSpace(f.Value.String()) == "" {
			return fmt.Errorf("--%s is empty: give it a value, or leave it out", name)
		}
	}
	return nil
}

// knownAgent returns the agent of a name. The list is closed: a misspelled one
// must not look like an agent without sessions.
func knownAgent(name string) (session.Agent, error) {
	var known []string
	for _, r := range yore.Readers() {
		if r.Agent() != archive.Agent { // whose sessions are of the others
			known = append(known, string(r.Agent()))
		}
	}
	if slices.Contains(known, name) {
		return session.Agent(name), nil
	}
	text := fmt.Sprintf("--agent is %q: want %s or %s", name, strings.Join(known[:len(known)-1], ", "), known[len(known)-1])
	for _, k := range known {
		if close(strings.ToLower(name), k) {
			text += fmt.Sprintf("; did you mean %s?", k)
			break
		}
	}
	return "", fault.New(fault.InvalidFilter, "%s", text)
}

// close reports whether a word was likely meant: one begins with the other, or
// at most two characters would have to be changed, put in or taken out.
func close(given, meant string) bool {
	if len(given) > 1 && (strings.HasPrefix(meant, given) || strings.HasPrefix(given, meant)) {
		return true
	}
	row := make([]int, len(meant)+1) // of Levenshtein's table
	for j := range row {
		row[j] = j
	}
	for i := range len(given) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(meant) {
			cost := diagonal
			if given[i] != meant[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(meant)] <= min(2, len(meant)-1)
}

// eventFlags choose events.
type eventFlags struct {
	seqFrom, seqTo   int64
	timeFrom, timeTo string
	types, surfaces  []string
}

func (e *eventFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Int64Var(&e.seqFrom, "seq-from", 0, "events from sequence number `SEQ` on")
	f.Int64Var(&e.seqTo, "seq-to", session.MaxSafe, "events up to sequence number `SEQ`")
	f.StringVar(&e.timeFrom, "time-from", "", "events at or after this `TIME`")
	f.StringVar(&e.timeTo, "time-to", "", "events at or before this `TIME`")
	f.StringSliceVar(&e.types, "type", nil, "only these `TYPES`, such as user/message or tool/call")
	f.StringSliceVar(&e.surfaces, "surface", nil, "only events with one of these `STATES`: current, shadowed, log-only")
	f.Lookup("seq-to").DefValue = "" // the last one there is
}

func (e *eventFlags) filter(cmd *cobra.Command) (query.EventFilter, error) {
	f := query.EventFilter{Types: e.types}
	if cmd.Flags().Changed("seq-from") {
		f.Seq.From = &e.seqFrom
	}
	if cmd.Flags().Changed("seq-to") {
		f.Seq.To = &e.seqTo
	}
	if e.seqFrom < 0 || e.seqTo < 0 || e.seqFrom > session.MaxSafe || e.seqTo > session.MaxSafe || f.Seq.Empty() {
		return f, fault.New(fault.InvalidFilter, "--seq-from and --seq-to: want numbers from 0 on, the first not behind the second")
	}
	for _, s := range e.surfaces {
		state, ok := session.ParseState(s)
		if !ok {
			return f, fault.New(fault.InvalidFilter, "--surface is %q: want current, shadowed or log-only", s)
		}
		f.States = append(f.States, state)
	}
	var err error
	f.Time, err = times("time", e.timeFrom, e.timeTo)
	return f, err
}

// rankFlags declares how to match and rank; config.go resolves the values, from
// flag, environment, file or default.
func rankFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("match", "", "`HOW` to match; auto: the whole query first, then some of its words; literal: the whole query only (default auto)")
	f.String("order", "", "`ORDER` of hits: relevance or matches (default relevance)")
	f.Bool("inherited", false, "show what a fork inherited beside where it came from")
	f.Int("snippet", 0, "length `N` of a snippet in code points (default 240)")
}

func limitFlag(cmd *cobra.Command, limit *int, fallback int, what string) {
	cmd.Flags().IntVarP(limit, "limit", "n", fallback, "at most `N` "+what)
}

func checkLimit(limit int) error {
	if limit < 1 || limit > query.MaxLimit {
		return fault.New(fault.InvalidLimit, "--limit is %d: want between 1 and %d", limit, query.MaxLimit)
	}
	return nil
}

// timeHelp is what every TIME may be.
const timeHelp = `
A TIME is a timestamp (2026-03-01T09:30Z, 2026-03-01T09:30:00.5+02:00), a day in
UTC (2026-03-01: from its beginning, or to its end), or so long ago (90m, 12h, 7d).`

// times reads a pair of bounds. Events have whole milliseconds: a bound between
// two of them excludes the one that lies outside.
func times(name, from, to string) (query.Range, error) {
	var r query.Range
	now := time.Now()
	var lower, upper time.Time
	if from != "" {
		t, _, err := instant("--"+name+"-from", from, now)
		if err != nil {
			return r, err
		}
		lower = t
		ms := t.Add(time.Millisecond - 1).UnixMilli()
		r.From = &ms
	}
	if to != "" {
		t, day, err := instant("--"+name+"-to", to, now)
		if err != nil {
			return r, err
		}
		if day {
			t = t.AddDate(0, 0, 1).Add(-1)
		}
		upper = t
		ms := t.UnixMilli()
		r.To = &ms
	}
	if from != "" && to != "" && lower.After(upper) {
		return r, fault.New(fault.InvalidFilter, "--%s-from lies after --%s-to", name, name)
	}
	return r, nil
}

// instant reads one TIME; day says that it names a whole one.
func instant(flag, text string, now time.Time) (at time.Time, day bool, err error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, false, nil
		}
	}
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, true, nil
	}
	if m := regexp.MustCompile(`^(\d{1,5})([mhd])$`).FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		unit := map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[m[2]]
		return now.Add(-time.Duration(n) * unit), false, nil
	}
	return at, false, fault.New(fault.InvalidFilter, "%s is %q: want a timestamp with Z or an offset (2026-03-01T09:30:00Z), a day (2026-03-01), or an age (90m, 12h, 7d)", flag, text)
}
