package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/internal/corpus"
	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/session"
)

// site is logs with an index over them, as the measured processes find them.
type site struct {
	Sources   []yore.Source
	Index     string
	Workspace string // "": every one
	Events    int64
	Logs      int64 // bytes
	Text      int64 // searchable bytes
	Phrases   []string
	Session   session.ID // of the largest log
	Seqs      int64
	Largest   string // its path
	Appends   []string
	Reads     int   // of the largest log at a time; 0: 100
	Middle    int64 // a time that about half of the events are later than, epoch milliseconds; 0: unknown
}

func (s *site) save(dir string) (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "site.json")
	return path, os.WriteFile(path, text, 0o600)
}

func load(path string) (s site, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}

// appendText is the phrase that the i-th append holds and nothing else does.
func appendText(i int) string { return fmt.Sprintf("grackle%dvane heliotrope question", i) }

// makeSite writes a corpus of DSH logs below a folder, with pieces for appends.
func makeSite(dir string, o corpus.Options, appends int) (site, error) {
	s := site{Index: filepath.Join(dir, "index")}
	root := filepath.Join(dir, "sessions")
	s.Sources = []yore.Source{{Agent: session.DSH, Root: root}}
	if err := os.RemoveAll(dir); err != nil {
		return s, err
	}
	stats, err := corpus.Generate(root, o)
	if err != nil {
		return s, err
	}
	largest := stats.Sessions[0]
	for _, one := range stats.Sessions {
		if one.Events > largest.Events {
			largest = one
		}
	}
	if o.Workspaces == 1 {
		s.Workspace = largest.Cwd
	}
	s.Middle = stats.Sessions[len(stats.Sessions)/2].CreatedAt
	s.Events, s.Session, s.Seqs, s.Largest = stats.Events, session.ID(largest.ID), largest.Events, largest.Path
	if err := s.sample(400); err != nil {
		return s, err
	}
	return s, s.cut(dir, largest, appends)
}

// cut makes the pieces of appends beforehand, so that making them is not
// measured: the log grows, is cut, and shrinks again.
func (s *site) cut(dir string, largest *corpus.Session, appends int) error {
	info, err := os.Stat(largest.Path)
	if err != nil {
		return err
	}
	for i := range appends {
		from, err := os.Stat(largest.Path)
		if err != nil {
			return err
		}
		if _, err := corpus.Append(largest, 10, appendText(i)); err != nil {
			return err
		}
		text, err := os.ReadFile(largest.Path)
		if err != nil {
			return err
		}
		piece := filepath.Join(dir, fmt.Sprintf("append-%03d", i))
		if err := os.WriteFile(piece, text[from.Size():], 0o600); err != nil {
			return err
		}
		s.Appends = append(s.Appends, piece)
	}
	return os.Truncate(largest.Path, info.Size())
}

// sample measures the logs and takes phrases of one to three words out of them.
func (s *site) sample(count int) error {
	random := rand.New(rand.NewPCG(7, 7))
	seen := 0
	return s.texts(context.Background(), func(text string) error {
		s.Text += int64(len(text))
		terms := strings.Fields(text)
		if len(terms) < 4 {
			return nil
		}
		at, n := random.IntN(len(terms)-3), 1+random.IntN(3)
		phrase := strings.Join(terms[at:at+n], " ")
		if len(document.Terms(phrase)) == 0 || len(document.Terms(phrase)) > 8 {
			return nil
		}
		if seen++; len(s.Phrases) < count {
			s.Phrases = append(s.Phrases, phrase)
		} else if i := random.IntN(seen); i < count {
			s.Phrases[i] = phrase
		}
		return nil
	}, &s.Logs)
}

// texts visits every searchable text of the DSH logs.
func (s *site) texts(ctx context.Context, visit func(string) error, logs *int64) error {
	r, root := dsh.New(), s.Sources[0].Root
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		*logs += info.Size()
		header, err := r.Identify(ctx, root, path)
		if err != nil {
			return err
		}
		src := reader.Source{Agent: session.DSH, Root: root, Path: path, Header: header}
		_, err = r.Read(ctx, src, reader.Position{}, func(e session.Event) error {
			if text, _ := document.Extract(e.Body); text != "" {
				return visit(text)
			}
			return nil
		})
		return err
	})
}

// longLine adds a session with one line of so many bytes to a site.
func (s *site) longLine(size int) error {
	dir := filepath.Join(s.Sources[0].Root, "--home-dev-work-project-00--", "long-line")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "session.jsonl"))
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintf(f, `{"type":"session","version":0,"id":"long-line","createdAt":1790000000000,"cwd":"/home/dev/work/project-00","delegationDepth":0}`+"\n")
	fmt.Fprintf(f, `{"type":"user/message","seq":0,"time":1790000000001,"data":{"id":"u-0","role":"user","content":[{"type":"text","text":"`)
	words := strings.Repeat("heliotrope kettle walnut gazebo ", 1<<10)
	for n := 0; n < size; n += len(words) {
		if _, err := f.WriteString(words); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(f, `"}],"source":{"kind":"user"}},"surfaceOp":"append"}`+"\n")
	return err
}

// lab is all sites of one run.
type lab struct {
	sizes
	dir                     string
	main, crowd, many, wide string // files of the sites
	worst                   string
	hugePlain, hugeFrame    string
	rich                    map[session.Agent]string
	text, worstSite         site // of main and worst
	richSites               map[session.Agent]site
}

const appendsEach = 60

func (l *lab) prepare() error {
	save := func(name string, s site, err error) (string, error) {
		if err != nil {
			return "", err
		}
		return s.save(filepath.Join(l.dir, name))
	}
	at := func(name string) string { return filepath.Join(l.dir, name) }
	main, err := makeSite(at("main"), corpus.Options{Events: l.events, Sessions: max(l.events/500, 8), Workspaces: 1, Largest: l.events / 4}, appendsEach*l.rounds)
	if l.main, err = save("main", main, err); err != nil {
		return err
	}
	l.text = main
	many, err := makeSite(at("many"), corpus.Options{Seed: 2, Events: l.events, Sessions: 4 * l.workspaces, Workspaces: l.workspaces}, 0)
	if l.many, err = save("many", many, err); err != nil {
		return err
	}
	l.rich, l.richSites = map[session.Agent]string{}, map[session.Agent]site{}
	for _, agent := range richAgents() {
		name := "rich-" + string(agent)
		rich, err := makeRich(at(name), agent, l.bytes)
		l.richSites[agent] = rich
		if l.rich[agent], err = save(name, rich, err); err != nil {
			return err
		}
	}
	wide, err := makeSite(at("wide"), corpus.Options{Seed: 4, Events: l.events / 2, Sessions: 100, Workspaces: 1, Largest: l.events / 4}, 0)
	if err == nil {
		err = wide.longLine(l.line)
	}
	if l.wide, err = save("wide", wide, err); err != nil {
		return err
	}
	l.worstSite, err = makeSite(at("worst"), corpus.Options{Seed: 5, Events: 5 * l.events, Sessions: max(l.events/40, 8), Workspaces: 1}, 0)
	if l.worst, err = save("worst", l.worstSite, err); err != nil {
		return err
	}
	if err := l.prepareHuge(save); err != nil {
		return err
	}
	c := &crowd{home: at("crowd"), files: l.files, own: l.files / 40, now: time.Now().Add(-time.Hour)}
	err = c.write()
	l.crowd, err = save("crowd", site{Sources: sourcesIn(c.home), Index: at("crowd-index"), Workspace: crowded, Phrases: []string{"walnut gazebo"}, Events: int64(c.own)}, err)
	return err
}
