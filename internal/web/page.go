package web

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

//go:embed pages assets
var files embed.FS

// routes makes the pages. Every one of them answers GET and HEAD.
func (s *Server) routes() (http.Handler, error) {
	shown, err := template.New("").Funcs(template.FuncMap{
		"day":     func(ms int64) string { return s.local(ms, "2 Jan 2006") },
		"clock":   func(ms int64) string { return s.local(ms, "2 Jan 2006 15:04:05") },
		"hour":    func(ms int64) string { return s.local(ms, "15:04:05") },
		"iso":     render.Time,
		"count":   func(n any) string { return thousands(fmt.Sprint(n)) },
		"noun":    noun,
		"counted": func(n any, one string) string { return thousands(fmt.Sprint(n)) + " " + noun(n, one) },
		"line":    func(text string) string { return render.Line(text, 0) },
		"brief":   func(text string, n int) string { return render.Line(text, n) },
		"title":   func(i query.Info) string { return render.Line(titleOf(i), 200) },
		"place":   place,
		"visible": visible,
		"agent":   agentClass,
		"inc":     func(n int64) int64 { return n + 1 },
		"ours":    func(h session.Header) bool { return team.Ours(h.Key()) && s.Team != nil },
		"depth":   func(n int) int { return min(n, 12) },
		"choose":  func(h session.Header, rest string) string { return link(h, rest, nil) },
	}).ParseFS(files, "pages/*.html")
	if err != nil {
		return nil, err
	}
	p := &pages{s, shown}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.overview)
	mux.HandleFunc("GET /search", p.search)
	mux.HandleFunc("GET /progress", p.progress)
	if s.Team != nil {
		mux.HandleFunc("GET /team", p.team)
	}
	mux.HandleFunc("GET /a/{name}", p.asset)
	const at = "GET /s/{agent}/{id}"
	mux.HandleFunc(at, p.session)
	mux.HandleFunc(at+"/rows", p.rows)
	mux.HandleFunc(at+"/map", p.plan)
	mux.HandleFunc(at+"/find", p.find)
	mux.HandleFunc(at+"/lineage", p.lineage)
	mux.HandleFunc(at+"/{seq}", p.session)
	mux.HandleFunc(at+"/{seq}/panel", p.panel)
	mux.HandleFunc(at+"/{seq}/text", p.text)
	mux.HandleFunc(at+"/{seq}/raw", p.raw)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p.fail(w, r, fmt.Errorf("%w: no such address", fault.SessionNotFound))
	})
	return mux, nil
}

// pages answers with what the server's view shows.
type pages struct {
	*Server
	shown *template.Template
}

// top is what every page has above its own content.
type top struct {
	Title string
	Nav   string // which part of the site it is
	Query string // what is in the search field
}

// with adds to notes what is not on the page.
func (p *pages) with(notes []string) []string {
	if p.Beside != "" {
		notes = append(notes, p.Beside)
	}
	return notes
}

// show renders a page whole before the first byte of it is sent.
func (p *pages) show(w http.ResponseWriter, r *http.Request, code int, name string, data any) {
	var b bytes.Buffer
	if err := p.shown.ExecuteTemplate(&b, name, data); err != nil {
		p.Logger.Error("a page could not be made", "page", name, "error", err)
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		w.Write(b.Bytes())
	}
}

// fail shows a failure: its safe sentence to the person, its cause to the log.
func (p *pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	var several *choice
	if errors.As(err, &several) {
		p.show(w, r, http.StatusMultipleChoices, "choice.html", struct {
			top
			Headers []session.Header
			Rest    string
		}{top{Title: "Which one?"}, several.headers, r.PathValue("seq")})
		return
	}
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // nobody waits for it
	}
	code := http.StatusInternalServerError
	switch c, _ := fault.Of(err); {
	case c == fault.SessionNotFound, c == fault.EventNotFound, c == fault.Unauthorized:
		code = http.StatusNotFound
	case c == fault.InvalidArgs, c == fault.InvalidFilter, c == fault.InvalidQuery, c == fault.InvalidLimit, c == fault.InvalidWindow:
		code = http.StatusBadRequest
	case c == fault.Timeout, errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		code = http.StatusServiceUnavailable
	default:
		p.Logger.Error("a page failed", "path", r.URL.Path, "error", err)
	}
	text := fault.SafeText(err)
	if code == http.StatusNotFound {
		text = "There is nothing at this address: the session or event is gone, or never was."
	}
	p.show(w, r, code, "error.html", struct {
		top
		Text string
		Code int
	}{top{Title: "Not shown"}, text, code})
}

// asset serves one of the page's own files.
func (p *pages) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	for suffix, kind := range kinds {
		if body, err := files.ReadFile("assets/" + name); err == nil && strings.HasSuffix(name, suffix) {
			w.Header().Set("Content-Type", kind)
			if r.Method != http.MethodHead {
				w.Write(body)
			}
			return
		}
	}
	http.NotFound(w, r)
}

// progress says how far indexing is.
func (p *pages) progress(w http.ResponseWriter, r *http.Request) {
	done, total, busy := p.index.get()
	p.json(w, r, struct {
		Done  int  `json:"done"`
		Total int  `json:"total"`
		Busy  bool `json:"busy"`
	}{done, total, busy})
}

func (p *pages) json(w http.ResponseWriter, r *http.Request, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.Method != http.MethodHead {
		w.Write(body)
	}
}

// resume is the command that goes on with a session. One that a terminal would
// not take for what it looks like is not shown.
func (s *Server) resume(h session.Header) string {
	if s.Team != nil && team.Ours(h.Key()) {
		return "" // it is no session of this machine
	}
	if command := s.Resume(h); visible(command) == command && !strings.Contains(command, "\n") {
		return command
	}
	return ""
}

// local prints a time in the person's zone.
func (s *Server) local(ms int64, layout string) string {
	if ms <= 0 {
		return "no time"
	}
	if t := time.UnixMilli(ms).In(s.Zone); t.Year() <= 9999 {
		return t.Format(layout)
	}
	return render.Time(ms)
}

// number prints a count.
func number(n int64) string { return thousands(strconv.FormatInt(n, 10)) }

// noun is what so many of something are called.
func noun(n any, one string) string {
	if fmt.Sprint(n) == "1" {
		return one
	}
	return one + "s"
}

// thousands puts thin spaces between the thousands of a number.
func thousands(digits string) string {
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteRune('\u202f')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// place prints a workspace.
func place(cwd string) string {
	if cwd == "" {
		return "no workspace"
	}
	return render.Line(cwd, 300)
}

// agentClass is the name of an agent's colour.
func agentClass(a session.Agent) string {
	switch a {
	case session.DSH, session.Claude, session.Codex:
		return "agent-" + string(a)
	}
	return "agent-other"
}

// visible makes every character of a text that would steer a screen or its
// reading direction, or that nobody could see, visible as its JSON escape. Line
// ends and tabs stay.
func visible(text string) string { return render.Escaped(strings.ReplaceAll(text, "\r\n", "\n")) }

// piece is a part of a text; Mark: it answers the query.
type piece struct {
	Text string
	Mark bool
}

// marked cuts a text into what answers a query and what does not.
func marked(text, asked string) []piece {
	var out []piece
	at := 0
	for _, m := range render.Marks(text, asked) {
		if m.Start > at {
			out = append(out, piece{Text: text[at:m.Start]})
		}
		out = append(out, piece{text[m.Start:m.End], true})
		at = m.End
	}
	if at < len(text) {
		out = append(out, piece{Text: text[at:]})
	}
	return out
}
