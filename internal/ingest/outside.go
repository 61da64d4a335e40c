package ingest

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Running returns the sessions that processes of their agents have open, by
// the agents' own registries. What cannot be read is left out.
func (in *Ingester) Running(ctx context.Context) (map[session.Key]bool, error) {
	all := map[session.Key]bool{}
	for _, r := range in.Roots {
		l, ok := r.Reader.(reader.Liveness)
		if !ok {
			continue
		}
		running, err := l.Running(ctx, r.Path)
		if fault.IsContext(err) {
			return nil, err
		}
		if err != nil {
			in.Logger.Warn("which sessions are open cannot be told", "agent", r.Reader.Agent(), "error", err)
		}
		for id := range running {
			all[session.Key{Agent: r.Reader.Agent(), ID: id}] = true
		}
	}
	return all, nil
}

// below reports whether a file lies below a root.
func below(root, path string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator))
}

// Title returns the title that a source's agent keeps outside of the log.
func (in *Ingester) Title(ctx context.Context, source string, h session.Header) (string, bool, error) {
	for _, r := range in.Roots {
		t, ok := r.Reader.(reader.Titler)
		if !ok || r.Reader.Agent() != h.Agent && !below(r.Path, source) {
			continue
		}
		title, ok, err := t.Title(ctx, reader.Source{Agent: h.Agent, Root: r.Path, Path: source, Header: h})
		if fault.IsContext(err) {
			return "", false, err
		}
		if err != nil {
			in.Logger.Warn("a title kept outside of its log cannot be read", "agent", h.Agent, "error", err)
		}
		if ok && err == nil {
			return title, true, nil
		}
	}
	return "", false, nil
}
