package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/yorehq/yore/internal/corpus"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/claude"
	"github.com/yorehq/yore/reader/codex"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/session"
)

func readers() map[session.Agent]reader.Reader {
	return map[session.Agent]reader.Reader{session.DSH: dsh.New(), session.Claude: claude.New(), session.Codex: codex.New()}
}

// richLog is how long one log is.
const richLog = 4 << 20

// rich measures logs as genuine ones are, a sixth of them text, for each agent: the
// plain token loop of a JSON library over them, reading them, the first index.
func rich(dir string, bytes, rounds int) (string, error) {
	var out strings.Builder
	out.WriteString("| MB a CPU second | logs | JSON tokens | read | first index | of tokens | peak memory |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, agent := range []session.Agent{session.DSH, session.Claude, session.Codex} {
		at := filepath.Join(dir, string(agent))
		site, err := prepareRich(at, agent, bytes)
		if err != nil {
			return "", err
		}
		best := map[string]cost{}
		for range rounds {
			for _, phase := range []string{"nothing", "tokens", "read", "index"} {
				c, err := child(Job{Phase: phase, Times: 1, Dir: at})
				if err != nil {
					return "", err
				}
				if old, ok := best[phase]; !ok || c.cpu < old.cpu {
					best[phase] = c
				}
			}
		}
		rate := func(phase string) float64 {
			return float64(site.Bytes) / 1e6 / max(best[phase].cpu-best["nothing"].cpu, time.Millisecond).Seconds()
		}
		fmt.Fprintf(&out, "| %s | %s | %.0f | %.0f | %.0f | 1/%.1f | %s |\n", agent, size(site.Bytes), rate("tokens"), rate("read"), rate("index"),
			rate("tokens")/rate("index"), size(best["index"].memory))
	}
	return out.String(), nil
}

// prepareRich writes logs of an agent, of about so many bytes in all.
func prepareRich(at string, agent session.Agent, bytes int) (Site, error) {
	site := Site{Agent: agent, Root: filepath.Join(at, "sessions"), Index: filepath.Join(at, "index")}
	if err := os.RemoveAll(at); err != nil {
		return site, err
	}
	if agent == session.DSH {
		// About 95 bytes an event.
		stats, err := corpus.Generate(site.Root, corpus.Options{Sessions: max(bytes/richLog, 1), Events: bytes / 95, Rich: true})
		if err != nil {
			return site, err
		}
		site.Bytes, site.Events, site.Sessions = stats.Bytes, stats.Events, len(stats.Sessions)
		return site, site.save(at)
	}
	one := corpus.Claude
	if agent == session.Codex {
		one = corpus.Codex
	}
	for seed := uint64(1); site.Bytes < int64(bytes); seed++ {
		made := one(seed, min(richLog, bytes))
		if _, err := made.Write(site.Root); err != nil {
			return site, err
		}
		site.Bytes += int64(len(made.Text))
		site.Sessions++
	}
	return site, site.save(at)
}

// tokens passes over all JSON tokens of the logs.
func tokens(site Site) error {
	return filepath.WalkDir(site.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		dec := jsontext.NewDecoder(bufio.NewReaderSize(f, 128<<10), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		for {
			if _, err := dec.ReadToken(); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
	})
}
