package ingest

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Processes returns the sessions that processes of their agents have open below
// the roots, by the agents' own registries. What cannot be read is left out.
func Processes(ctx context.Context, roots []Root, log *slog.Logger) (map[session.Key]reader.Process, error) {
	all := map[session.Key]reader.Process{}
	for _, r := range roots {
		l, ok := r.Reader.(reader.Liveness)
		if !ok {
			continue
		}
		running, err := l.Running(ctx, r.Path)
		if fault.IsContext(err) {
			return nil, err
		}
		if err != nil {
			log.Warn("which sessions are open cannot be told", "agent", r.Reader.Agent(), "error", err)
		}
		for id, p := range running {
			all[session.Key{Agent: r.Reader.Agent(), ID: id}] = p
		}
	}
	return all, nil
}

// Running returns the sessions that a process has open now.
func (in *Ingester) Running(ctx context.Context) (map[session.Key]bool, error) {
	processes, err := Processes(ctx, in.Roots, in.Logger)
	open := make(map[session.Key]bool, len(processes))
	for key := range processes {
		open[key] = true
	}
	return open, err
}

// OnlyCopied reports whether a session is known from copies alone, which lie below
// roots of other readers than its agent's: the agent itself has it no more.
func (in *Ingester) OnlyCopied(ctx context.Context, key session.Key) (bool, error) {
	rows, err := in.Catalog.Files(ctx, FileLookup{ID: &key.ID})
	copied := false
	for _, row := range rows {
		root, ok := in.root(row)
		switch {
		case !ok || row.Header.Key() != key:
		case root.Reader.Agent() == key.Agent:
			return false, err
		default:
			copied = true
		}
	}
	return copied, err
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
