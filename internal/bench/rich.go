package main

import (
	"os"
	"path/filepath"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/internal/corpus"
	"github.com/yorehq/yore/session"
)

// richLog is how long one log is.
const richLog = 4 << 20

// richAgents are those whose logs are made as genuine ones are, a sixth of them text.
func richAgents() []session.Agent { return []session.Agent{session.DSH, session.Claude, session.Codex} }

// makeRich writes logs of an agent, of about so many bytes in all.
func makeRich(dir string, agent session.Agent, bytes int) (site, error) {
	root := filepath.Join(dir, "sessions")
	s := site{Sources: []yore.Source{{Agent: agent, Root: root}}, Index: filepath.Join(dir, "index")}
	if err := os.RemoveAll(dir); err != nil {
		return s, err
	}
	if agent == session.DSH {
		// About 95 bytes an event.
		stats, err := corpus.Generate(root, corpus.Options{Sessions: max(bytes/richLog, 1), Events: bytes / 95, Rich: true})
		s.Logs = stats.Bytes
		return s, err
	}
	one := corpus.Claude
	if agent == session.Codex {
		one = corpus.Codex
	}
	for seed := uint64(1); s.Logs < int64(bytes); seed++ {
		made := one(seed, min(richLog, bytes))
		if _, err := made.Write(root); err != nil {
			return s, err
		}
		s.Logs += int64(len(made.Text))
	}
	return s, nil
}
