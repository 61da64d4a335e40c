package e2e

import (
	"fmt"
	"testing"
)

func search(query string) string { return fmt.Sprintf(`{"query":%q}`, query) }

// itself is a call about the session that makes it, which most clients' servers
// find out.
func (c client) itself() step {
	if c.nameless {
		return step{"session_trace", `{}`, []string{"session_id"}, []string{own}}
	}
	return step{"session_trace", `{}`, []string{own}, nil}
}

// TestPlantedHistory: each client, through each of the five tools, gets what an
// agent of another kind left in its folder, exactly as it was logged, and
// nothing of another folder.
func TestPlantedHistory(t *testing.T) {
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			need(t, c.name)
			h := newHome(t)
			h.setUp(c)
			record := h.plant("planted-here", h.here, "the lighthouse ledger is bound in brass")
			h.plant("planted-away", h.away, "the harbour master counts copper gulls")
			h.converse(c, h.here, "Look around.",
				step{"session_search", search("lighthouse ledger brass"), []string{"planted-here ", "lighthouse ledger"}, nil},
				step{"session_search", search("copper gulls"), nil, []string{"planted-away", "harbour"}},
				step{"session_event_search", `{"query":"brass","session_id":"planted-here"}`, []string{"\n #1 user/message"}, nil},
				step{"session_event_read", `{"session_id":"planted-here","seq":1}`, []string{record}, nil},
				step{"session_event_read", `{"session_id":"planted-away","seq":1}`, []string{"SESSION_QUERY_TOOL_UNAUTHORIZED"}, []string{"harbour"}},
				step{"session_trace", `{"session_id":"planted-here"}`, []string{"planted-here"}, []string{"planted-away"}},
				step{"session_event_trace", `{"session_id":"planted-here","seq":1}`, []string{"current"}, nil},
				c.itself(),
			)
			h.takeDown(c)
		})
	}
}
