package main

import (
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/internal/corpus"
	"github.com/yorehq/yore/session"
)

// logEvent is about how many bytes of a log of DSH an event of the corpus takes.
const logEvent = 860

// prepareHuge makes a workspace whose one session has a very long log, and one of
// Codex with a quarter of that, compressed in one stream as Codex does with old logs.
func (l *lab) prepareHuge(save func(string, site, error) (string, error)) error {
	plain, err := makeSite(filepath.Join(l.dir, "huge"), corpus.Options{Seed: 6, Events: l.log / logEvent, Sessions: 1, Workspaces: 1}, 0)
	if l.hugePlain, err = save("huge", plain, err); err != nil {
		return err
	}
	frame, err := makeFrame(filepath.Join(l.dir, "huge-frame"), l.log/4)
	l.hugeFrame, err = save("huge-frame", frame, err)
	return err
}

func makeFrame(dir string, bytes int) (site, error) {
	made := corpus.Codex(6, bytes)
	root := filepath.Join(dir, "sessions")
	s := site{
		Sources: []yore.Source{{Agent: session.Codex, Root: root}}, Index: filepath.Join(dir, "index"), Workspace: made.Cwd,
		Logs: int64(len(made.Text)), Session: session.ID(made.ID), Reads: 12,
	}
	if err := os.RemoveAll(dir); err != nil {
		return s, err
	}
	enc, err := zstd.NewWriter(nil, zstd.WithWindowSize(1<<20))
	if err != nil {
		return s, err
	}
	made.Text, made.Path = enc.EncodeAll(made.Text, nil), made.Path+".zst"
	s.Largest, err = made.Write(root)
	return s, err
}
