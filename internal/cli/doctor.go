package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/sqlite"
)

func (a *app) doctorCommand() *cobra.Command {
	var quick, deep, asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong with logs or index, and where",
		Long: `Doctor looks at every known place of every agent and names each file that cannot
be read, with the line, the byte and the reason; sessions that contradict each
other; second copies; logs that their agent will soon delete and that are not
archived; the health of the index; and whether each agent that is there is set up
to start the tools. It changes no log and shows no text of any
session.

It reads every log that has changed since it was last read, in every workspace.
With --quick it reads only the headers of new files, and reports what is known of
the rest; with --deep it also checks every page of the index, and its parts against
each other. Its last line says what was checked.

The exit code is 3 when something is wrong.`,
		Example: `  yore doctor
  yore doctor --quick
  yore doctor --deep
  yore doctor --json | jq '.problems[].path'`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			h, closing, err := a.history(cmd.Context())
			if err != nil {
				return err
			}
			defer closing(&err)
			depth := yore.Logs
			if quick {
				depth = yore.Headers
			}
			if deep {
				depth = yore.Pages
			}
			progress, cleared := a.bar()
			health, err := h.Health(cmd.Context(), depth, progress)
			cleared()
			if err != nil {
				return err
			}
			agents := a.agents()
			due, err := a.due(cmd.Context())
			if err != nil {
				return err
			}
			a.partial = !health.Sound() || !agents.sound()
			if asJSON {
				return a.emitLine(healthJSON(health, agents, due))
			}
			return a.emitPainted(healthText(health, agents, due))
		},
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "read no log, only the headers of new files")
	cmd.Flags().BoolVar(&deep, "deep", false, "also check every page of the index")
	cmd.MarkFlagsMutuallyExclusive("quick", "deep")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func healthText(h yore.Health, agents agents, due due) string {
	var b strings.Builder
	b.WriteString("roots:\n")
	if len(h.Roots) == 0 {
		b.WriteString("  none is known: --root AGENT=DIR names one\n")
	}
	for _, r := range h.Roots {
		fmt.Fprintf(&b, "  %s %s: %s\n", render.Name(string(r.Agent)), render.Line(r.Path, 0), rootText(h, r))
	}
	section := func(title string, remarks bool) {
		first := true
		for _, p := range h.Problems {
			if p.Remark() != remarks {
				continue
			}
			if first {
				b.WriteString(title + ":\n")
				first = false
			}
			b.WriteString(problemText(p))
		}
	}
	section("problems", false)
	section("remarks", true)
	if h.Forgotten > 0 {
		fmt.Fprintf(&b, "forgotten at your wish, and left out of everything: %d sessions (`yore forget --list`)\n", h.Forgotten)
	}
	due.text(&b)
	agents.text(&b)
	indexText(&b, h)
	b.WriteString(verdictText(h, h.Sound() && agents.sound()))
	return b.String()
}

func rootText(h yore.Health, r yore.RootHealth) string {
	switch {
	case !r.Present:
		return "not there"
	case h.IndexErr != nil:
		return "there; nothing more is known without an index"
	}
	text := fmt.Sprintf("%d files, %d sessions read to their end", r.Files, r.Sound)
	if r.Unread > 0 {
		text += fmt.Sprintf(", %d not read yet", r.Unread)
	}
	return text
}

func problemText(p yore.Problem) string {
	if p.Path == "" {
		return fmt.Sprintf("  %s: %s\n", p.Kind, render.Line(p.Reason, 0)) // of the index as a whole
	}
	at := render.Line(p.Path, 0)
	if p.Line > 0 {
		at += fmt.Sprintf(", line %d", p.Line)
	}
	if p.Offset > 0 {
		at += fmt.Sprintf(", byte %d", p.Offset)
	}
	who := render.Name(string(p.Agent))
	if p.ID != "" {
		who += " session " + render.Name(string(p.ID))
	}
	reason := render.Line(p.Reason, 0)
	if p.Code != "" {
		reason = string(p.Code) + ": " + reason
	}
	return fmt.Sprintf("  %s: %s\n    %s\n    %s\n", p.Kind, who, at, reason)
}

func indexText(b *strings.Builder, h yore.Health) {
	b.WriteString("index:\n")
	if h.IndexErr != nil {
		fmt.Fprintf(b, "  cannot be used: %s\n", render.Line(h.IndexErr.Error(), 0))
		return
	}
	fmt.Fprintf(b, "  %s: %d bytes, schema %d, %d files known, %d workspaces\n",
		render.Line(h.Index.Path, 0), h.Index.Size, h.Index.Schema, h.Index.Sources, len(h.Index.Shards))
	for _, s := range h.Index.Shards {
		if s.Problem != "" {
			fmt.Fprintf(b, "  cannot be used as it is: %s\n    %s\n", render.Line(s.Path, 0), render.Line(s.Problem, 0))
		}
	}
	for _, d := range h.Index.Damaged {
		fmt.Fprintf(b, "  set aside as damaged, may be deleted: %s\n", render.Line(d, 0))
	}
}

func verdictText(h yore.Health, sound bool) string {
	unread, away := 0, 0
	for _, r := range h.Roots {
		if unread += r.Unread; !r.Present {
			away += r.Files
		}
	}
	var checked string
	switch {
	case h.IndexErr != nil:
		checked = "Checked: that the roots are there, and the index; no log was looked at."
	case h.Depth >= yore.Logs && (h.Stale || h.Behind > 0):
		checked = "Checked: the logs as far as the index has them; another process is indexing, or it cannot be written. Call again for the rest."
	case h.Depth >= yore.Logs && unread > 0:
		checked = fmt.Sprintf("Checked: the logs as far as the index has them; %d were not read, since the index could not be brought up to date.", unread)
	case h.Depth == yore.Pages:
		checked = "Checked: every log to its end or to its first fault, and every page of the index."
	case h.Depth == yore.Logs:
		checked = "Checked: every log to its end or to its first fault."
	case unread > 0:
		checked = fmt.Sprintf("Checked: the header of every log, and what the index says of those it has read; %d logs were never read (without --quick they are).", unread)
	default:
		checked = "Checked: the header of every log, and what the index says of each; what was added since it was read was not (without --quick it is)."
	}
	if h.IndexErr == nil && h.Depth >= yore.Logs && away > 0 {
		checked += fmt.Sprintf(" Of %d files nothing more can be said while their roots are not there.", away)
	}
	if sound {
		return "No problem was found.\n" + checked + "\n"
	}
	return checked + "\n"
}

// healthJSON is the report as one object. It holds paths, ids, codes and
// reasons, and no text of any session:
//
//	{"sound":bool,"depth":"headers"|"logs"|"pages",
//	 "roots":[{"agent","path","present":bool,"files","sessions_read","sessions_unread"},…],
//	 "forgotten",
//	 "problems":[{"kind","agent","session"?,"workspace"?,"code"?,"path","line"?,"offset"?,"reason"},…],
//	 "due":[{"agent","session","workspace"?,"path","days_left"},…],
//	 "agents":[{"agent","servers":[{"path","line"?,"name","command","args":[…]},…],"problems":[{"path","line"?,"reason"},…]},…],
//	 "index":{"path","bytes","schema","files","damaged":[…],"error"?,
//	   "shards":[{"workspace","path","bytes","sessions","documents","purge_due":bool,"problem"?},…]}}
func healthJSON(h yore.Health, agents agents, due due) []byte {
	type root struct {
		Agent   string `json:"agent"`
		Path    string `json:"path"`
		Present bool   `json:"present"`
		Files   int    `json:"files"`
		Read    int    `json:"sessions_read"`
		Unread  int    `json:"sessions_unread"`
	}
	type problem struct {
		Kind      yore.ProblemKind `json:"kind"`
		Agent     string           `json:"agent"`
		Session   string           `json:"session,omitempty"`
		Workspace string           `json:"workspace,omitempty"`
		Code      fault.Code       `json:"code,omitempty"`
		Path      string           `json:"path"`
		Line      int64            `json:"line,omitempty"`
		Offset    int64            `json:"offset,omitempty"`
		Reason    string           `json:"reason"`
	}
	out := struct {
		Sound     bool        `json:"sound"`
		Depth     string      `json:"depth"`
		Roots     []root      `json:"roots"`
		Forgotten int         `json:"forgotten"`
		Problems  []problem   `json:"problems"`
		Due       []dueJSON   `json:"due"`
		Agents    []agentJSON `json:"agents"`
		Index     indexJSON   `json:"index"`
	}{h.Sound() && agents.sound(), [...]string{"headers", "logs", "pages"}[h.Depth], []root{}, h.Forgotten, []problem{}, due.json(), agents.json(), indexOf(h)}
	for _, r := range h.Roots {
		out.Roots = append(out.Roots, root{string(r.Agent), r.Path, r.Present, r.Files, r.Sound, r.Unread})
	}
	for _, p := range h.Problems {
		out.Problems = append(out.Problems, problem{p.Kind, string(p.Agent), string(p.ID), p.Workspace, p.Code, p.Path, p.Line, p.Offset, p.Reason})
	}
	line, _ := json.Marshal(out) // strings, numbers and booleans only
	return line
}

type indexJSON struct {
	Path    string      `json:"path"`
	Bytes   int64       `json:"bytes"`
	Schema  int         `json:"schema"`
	Files   int64       `json:"files"`
	Damaged []string    `json:"damaged"`
	Error   string      `json:"error,omitempty"`
	Shards  []shardJSON `json:"shards"`
}

type shardJSON struct {
	Workspace string `json:"workspace"`
	Path      string `json:"path"`
	Bytes     int64  `json:"bytes"`
	Sessions  int64  `json:"sessions"`
	Documents int64  `json:"documents"`
	PurgeDue  bool   `json:"purge_due"`
	Problem   string `json:"problem,omitempty"`
}

func indexOf(h yore.Health) indexJSON {
	x := indexJSON{h.Index.Path, h.Index.Size, h.Index.Schema, h.Index.Sources, append([]string{}, h.Index.Damaged...), "", []shardJSON{}}
	if h.IndexErr != nil {
		x.Error = h.IndexErr.Error()
	}
	for _, s := range h.Index.Shards {
		x.Shards = append(x.Shards, shardOf(s))
	}
	return x
}

func shardOf(s sqlite.ShardHealth) shardJSON {
	return shardJSON{s.Workspace, s.Path, s.Size, s.Sessions, s.Documents, s.PurgeDue, s.Problem}
}
