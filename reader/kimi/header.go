package kimi

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// maxState is how long a session's state may be, in bytes.
const maxState = 8 << 20

// identify reads a header: from the session's state beside its journals, and from
// the journal's first record. A journal without a state is known by its folders,
// and its workspace by the agent's index of sessions.
func identify(ctx context.Context, f io.ReaderAt, size int64, root, path string) (session.Header, error) {
	if s, ok := sharedAt(root, path); ok {
		return identifyShared(ctx, f, size, root, path, s)
	}
	h := session.Header{Agent: session.Kimi}
	found := false
	_, err := linelog.Each(ctx, f, 0, size, func(r *linelog.Record) (bool, error) {
		found = true
		h.CreatedAt, _ = jsonl.Natural(r.X.Field(r.Value, "created_at"))
		return false, nil
	})
	switch {
	case err != nil:
		return h, err
	case !found:
		return h, reader.ErrPending
	}
	agent, dir := filepath.Base(filepath.Dir(path)), filepath.Dir(filepath.Dir(filepath.Dir(path)))
	st := stateOf(dir)
	own := session.ID(jsonl.Text(jsonl.Field(st, "id")))
	if own == "" {
		own = session.ID(filepath.Base(dir))
	}
	h.ID = own
	if h.Cwd = workspaceIn(st); h.Cwd == "" {
		h.Cwd, err = indexed(ctx, root, own)
	}
	if err != nil {
		return h, err
	}
	if agent != mainAgent {
		known := jsonl.Field(jsonl.Field(st, "agents"), agent)
		h.ID, h.ParentSession = childID(own, agent), own
		h.Origin, h.DelegationDepth = session.OriginSubagent, 1
		if parent := jsonl.Text(jsonl.Field(known, "parentAgentId")); parent != "" && parent != mainAgent && parent != agent {
			h.ParentSession, h.DelegationDepth = childID(own, parent), 2
		}
		h.AgentPreset = jsonl.Text(jsonl.Field(jsonl.Field(known, "labels"), "profileName"))
		return h, nil
	}
	if made, ok := jsonl.Natural(jsonl.Field(st, "createdAt")); ok {
		h.CreatedAt = made // a fork's journal begins with its origin's first record
	}
	if from := session.ID(jsonl.Text(jsonl.Field(st, "forkedFrom"))); from != "" && from != own {
		h.ParentSession = from
		h.SeedLength, err = seed(ctx, f, size, reader.Source{Agent: session.Kimi, Root: root, Path: path})
	}
	if old := jsonl.Field(jsonl.Field(st, "custom"), "kimi_cli_session_id"); err == nil && h.ParentSession == "" && jsonl.Filled(old) {
		h.ParentSession = session.ID(jsonl.Text(old))
		h.SeedLength, err = imported(ctx, f, size, jsonl.Field(jsonl.Field(st, "custom"), "imported_at"), reader.Source{Agent: session.Kimi, Root: root, Path: path})
	}
	return h, err
}

// imported counts the events of a session that were taken over from the client in
// Python: those of the records before the first that is as new as that.
func imported(ctx context.Context, f io.ReaderAt, size int64, when []byte, src reader.Source) (int64, error) {
	at, ok := jsonl.Instant(when)
	if !ok {
		return 0, nil
	}
	end := int64(0)
	_, err := linelog.Each(ctx, f, 0, size, func(r *linelog.Record) (bool, error) {
		made, _ := jsonl.Natural(r.X.Field(r.Value, "time")) // what was taken over has its old time, or none
		if made >= at.UnixMilli() {
			return false, nil
		}
		end = r.End
		return true, nil
	})
	if err != nil || end == 0 {
		return 0, err
	}
	return (&linelog.Format{New: decoderOf}).Count(ctx, f, src, end)
}

func childID(own session.ID, agent string) session.ID {
	return own + "/" + agentPrefix + session.ID(strings.TrimPrefix(agent, agentPrefix))
}

// seed counts the events that a fork copied: those before the latest record that
// says so.
func seed(ctx context.Context, f io.ReaderAt, size int64, src reader.Source) (int64, error) {
	at := int64(0)
	_, err := linelog.Each(ctx, f, 0, size, func(r *linelog.Record) (bool, error) {
		if jsonl.Is(r.X.Field(r.Value, "type"), "forked") {
			at = r.Place.Offset
		}
		return true, nil
	})
	if err != nil || at == 0 {
		return 0, err
	}
	return (&linelog.Format{New: decoderOf}).Count(ctx, f, src, at)
}

// stateOf reads a session's state; nil if there is none.
func stateOf(dir string) []byte { return objectIn(filepath.Join(dir, stateName)) }

// objectIn reads a file that holds one JSON object; nil if there is none.
func objectIn(path string) []byte {
	f, _, err := reader.OpenRegular(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxState))
	if err != nil || !jsonl.Valid(text) {
		return nil
	}
	if text = text[jsonl.SkipSpace(text, 0):]; !jsonl.IsObject(text) {
		return nil
	}
	return text
}

// workspaceIn finds the workspace in a state; older releases called it workDir.
func workspaceIn(st []byte) string {
	if cwd := jsonl.Text(jsonl.Field(st, "cwd")); cwd != "" {
		return cwd
	}
	return jsonl.Text(jsonl.Field(st, "workDir"))
}

// indexed finds the workspace of a session in the agent's index.
func indexed(ctx context.Context, root string, id session.ID) (cwd string, err error) {
	f, stamp, err := reader.OpenRegular(filepath.Join(root, indexName))
	if err != nil {
		return "", ctx.Err()
	}
	defer f.Close()
	_, err = linelog.Each(ctx, f, 0, stamp.Size, func(r *linelog.Record) (bool, error) {
		if jsonl.Is(r.X.Field(r.Value, "sessionId"), string(id)) {
			cwd = jsonl.Text(r.X.Field(r.Value, "workDir"))
		}
		return true, nil
	})
	return cwd, err
}

// Title implements reader.Titler: titles are kept in the session's state. One that
// only says what a session is a fork of is none.
func (*Reader) Title(ctx context.Context, src reader.Source) (title string, ok bool, err error) {
	if s, ok := sharedAt(src.Root, src.Path); ok {
		if s.sub != "" || s.dir == "" {
			return "", false, ctx.Err()
		}
		title = linelog.Headline(jsonl.Text(jsonl.Field(stateOf(s.dir), "custom_title")))
		return title, title != "", ctx.Err()
	}
	if err := ctx.Err(); err != nil || filepath.Base(filepath.Dir(src.Path)) != mainAgent {
		return "", false, err
	}
	st := stateOf(filepath.Dir(filepath.Dir(filepath.Dir(src.Path))))
	title = linelog.Headline(jsonl.Text(jsonl.Field(st, "title")))
	if strings.HasPrefix(title, "Fork: session_") {
		title = ""
	}
	return title, title != "", nil
}
