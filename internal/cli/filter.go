package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

func availabilities() []string { return []string{string(query.Live), string(query.Persisted)} }

func stateNames() []string {
	return []string{session.Current.String(), session.Shadowed.String(), session.LogOnly.String()}
}

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
		if err := oneOf("--availability", v, availabilities()); err != nil {
			return f, err
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
	for _, name := range []string{"session", "agent", "parent", "availability", "type", "surface", "columns", "state", "role", "tool"} {
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
	f.Lookup("seq-to").DefValue = "0" // the last one there is
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
			return f, oneOf("--surface", s, stateNames())
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
