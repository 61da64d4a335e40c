package codex

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Of 2026-11-30T09:00:00Z.
const nine = 1796029200000

func TestIdentify(t *testing.T) {
	second := itemLine(1, userItem("", "go"))
	plainHeader := session.Header{Agent: session.Codex, ID: idA, CreatedAt: nine, Cwd: "/w"}
	with := func(change func(h *session.Header)) session.Header {
		h := plainHeader
		change(&h)
		return h
	}
	for _, tc := range []struct {
		name string
		log  string
		rel  string // "": idA's own file
		want session.Header
		err  error
	}{
		{name: "legacy", log: lines(metaLine(idA, ""), second), want: plainHeader},
		{name: "a second record without newline", log: metaLine(idA, "") + "\n" + second, want: plainHeader},
		{name: "empty", log: "", err: reader.ErrPending},
		{name: "a torn header", log: metaLine(idA, "")[:40], err: reader.ErrPending},
		{name: "nothing but a header", log: lines(metaLine(idA, "")), want: plainHeader, err: reader.ErrPending},
		{name: "a torn second record", log: metaLine(idA, "") + "\n" + second[:20], want: plainHeader, err: reader.ErrPending},
		{name: "no record at all", rel: day + "/rollout-x.jsonl", log: "hello\nworld\n{}\n{}\n", err: fault.Persistence},
		{
			name: "a subagent with all its facts",
			log: lines(metaLine(idA, `,"parent_thread_id":"`+idB+`","agent_role":"explorer","source":{"subagent":{"thread_spawn":{"parent_thread_id":"`+idB+`","depth":2}}}`),
				second),
			want: with(func(h *session.Header) {
				h.ParentSession, h.Origin, h.DelegationDepth, h.AgentPreset = idB, session.OriginSubagent, 2, "explorer"
			}),
		},
		{
			name: "a subagent that only says what it is for",
			log:  lines(metaLine(idA, `,"source":{"subagent":"review"}`), second),
			want: with(func(h *session.Header) { h.Origin, h.DelegationDepth = session.OriginSubagent, 1 }),
		},
		{name: "a source that is a word", log: lines(metaLine(idA, `,"source":"cli"`), second), want: plainHeader},
		{
			name: "a state update is no fork",
			log:  lines(metaLine(idA, ""), metaLine(idA, `,"memory_mode":"x"`), second), want: plainHeader,
		},
		{
			name: "a copied part in an ordinal log ends where the header says",
			log: lines(numbered(0, metaLine(idA, `,"history_mode":"paginated","forked_from_id":"`+idB+`","subagent_history_start_ordinal":3`),
				metaLine(idB, ""), itemLine(0, userItem("", "parent's")), itemLine(1, userItem("", "own")))...),
			want: with(func(h *session.Header) { h.ParentSession, h.SeedLength = idB, 3 }),
		},
		{
			name: "and is waited for",
			log: lines(numbered(0, metaLine(idA, `,"history_mode":"paginated","subagent_history_start_ordinal":3`),
				metaLine(idB, ""))...),
			want: with(func(h *session.Header) { h.ParentSession = idB }), err: reader.ErrPending,
		},
		{
			name: "without a header the name tells, and a turn the folder",
			log:  lines(second, entry(2, "turn_context", `{"cwd":"/v"}`)),
			// The id is a version 7 UUID: its first 48 bits are the time, 0x01a22bac0000.
			want: session.Header{Agent: session.Codex, ID: idA, CreatedAt: 0x01a22bac0000, Cwd: "/v"},
		},
		{
			name: "before there were envelopes",
			log: lines(`{"id":"`+idA+`","timestamp":"2025-06-01T10:00:00Z","instructions":null}`,
				`{"record_type":"state"}`, userItem("", "<environment_context>\nCurrent working directory: /old\n</environment_context>"), userItem("", "hello")),
			want: session.Header{Agent: session.Codex, ID: idA, CreatedAt: 1748772000000, Cwd: "/old"},
		},
		{
			name: "the oldest are documents", rel: "sessions/rollout-2025-04-20-" + idA + ".json",
			log:  `{"session":{"id":"` + idA + `","timestamp":"2025-06-01T10:00:00.000Z","instructions":""},"items":[` + userItem("", "hello") + `]}`,
			want: session.Header{Agent: session.Codex, ID: idA, CreatedAt: 1748772000000},
		},
		{name: "a document that is torn", rel: "sessions/rollout-2025-04-20-" + idA + ".json", log: `{"session":{"id":"`, err: fault.Persistence},
		{name: "a compressed file that is none", rel: rollout(idA) + ".zst", log: "not zstd", err: fault.Persistence},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rel := tc.rel
			if rel == "" {
				rel = rollout(idA)
			}
			root := home(t, map[string]string{rel: tc.log})
			got, err := New().Identify(context.Background(), root, filepath.Join(root, rel))
			if !errors.Is(err, tc.err) {
				t.Fatalf("error %v, want %v", err, tc.err)
			}
			if tc.want != (session.Header{}) {
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// A legacy fork repeats its parent's lines, all stamped with the time of the fork.
func TestLegacyForkBorder(t *testing.T) {
	const fork = 100 // seconds past nine
	copied := []string{
		metaLine(idB, ""), eventLine(fork, `{"type":"task_started","started_at":1796029201}`), itemLine(fork, userItem("", "parent's")),
		itemLine(fork, assistantItem("", "answer")), eventLine(fork, `{"type":"task_complete"}`),
	}
	copied[0] = strings.Replace(copied[0], at(0), at(fork), 1)
	own := strings.Replace(metaLine(idA, `,"forked_from_id":"`+idB+`"`), at(0), at(fork), 1)
	old := strings.Replace(metaLine(idA, ""), at(0), at(fork), 1)
	for _, tc := range []struct {
		name   string
		header string
		rest   []string
		seed   int64
		err    error
	}{
		{"not continued yet", own, nil, 0, reader.ErrPending},
		{"its own id", own, []string{eventLine(fork, `{"type":"thread_settings_applied","thread_id":"`+idA+`"}`)}, 6, nil},
		{"a turn that starts when its line is written", own, []string{eventLine(fork+1, `{"type":"task_started","started_at":1796029301}`)}, 6, nil},
		{"later", own, []string{itemLine(fork+60, userItem("", "own"))}, 6, nil},
		{"no pointer back", old, []string{itemLine(fork+60, userItem("", "own"))}, 6, nil},
		{"no copy", own, nil, 0, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log := append([]string{tc.header}, copied...)
			if tc.name == "no copy" {
				log = []string{tc.header, eventLine(fork, `{"type":"task_started","started_at":1796029300}`)}
			}
			root := home(t, map[string]string{rollout(idA): lines(append(log, tc.rest...)...)})
			h, err := New().Identify(context.Background(), root, filepath.Join(root, rollout(idA)))
			if !errors.Is(err, tc.err) || h.SeedLength != tc.seed || h.ParentSession != idB {
				t.Errorf("seed %d, parent %s, %v; want %d, %v", h.SeedLength, h.ParentSession, err, tc.seed, tc.err)
			}
		})
	}
}

// A log whose header line is longer than a header may be is refused, one that is
// merely long is not.
func TestLongHeader(t *testing.T) {
	for size, ok := range map[int]bool{900 << 10: true, 1 << 20: false} {
		root := home(t, map[string]string{"sessions/rollout-x.jsonl": lines(metaLine(idA, `,"base_instructions":{"text":"`+strings.Repeat("x", size)+`"}`), itemLine(1, userItem("", "go")))})
		_, err := New().Identify(context.Background(), root, filepath.Join(root, "sessions", "rollout-x.jsonl"))
		if (err == nil) != ok {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestIdentifyNoFile(t *testing.T) {
	root := t.TempDir()
	if _, err := New().Identify(context.Background(), root, filepath.Join(root, "x.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
