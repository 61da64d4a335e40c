package opencode

import (
	"context"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/rows"
	"github.com/yorehq/yore/session"
)

var _ reader.OpenCaller = (*Reader)(nil)

// callSessions is how many sessions, those that changed last, are looked at for
// open calls.
const callSessions = 16

// OpenCalls implements reader.OpenCaller: the tools that the last message of a
// session waits for.
func (*Reader) OpenCalls(ctx context.Context, path string) ([]reader.OpenCall, error) {
	db, err := openStore(ctx, path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	type last struct{ session, message string }
	var all []last
	err = db.Each(ctx, `SELECT s.id, (SELECT m.id FROM message AS m WHERE m.session_id = s.id ORDER BY m.time_created DESC, m.id DESC LIMIT 1)
		FROM session AS s ORDER BY s.time_updated DESC LIMIT ?`, []any{callSessions}, func(r rows.Row) error {
		all = append(all, last{r.Text(0), r.Text(1)})
		return nil
	})
	var open []reader.OpenCall
	for _, l := range all {
		if err != nil {
			break
		}
		var parts []value
		parts, err = values(ctx, db, "part", `message_id = ? ORDER BY id`, l.message)
		for i := range parts {
			p := &parts[i]
			state := jsonl.Field(p.data, "state")
			status := jsonl.Text(jsonl.Field(state, "status"))
			if kindOf(p) == "tool" && (status == "running" || status == "pending") {
				open = append(open, reader.OpenCall{
					Session: session.ID(l.session), Name: jsonl.Text(jsonl.Field(p.data, "tool")), Args: string(jsonl.Field(state, "input")),
				})
			}
		}
	}
	if err == nil && !db.Steady() {
		err = rows.ErrChanging
	}
	return open, shelfFault(path, err)
}
