package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/archive"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/reader"
	format "github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
)

// archiveOptions are what `yore archive` is asked.
type archiveOptions struct {
	scope  scope
	status bool
	json   bool
}

func (a *app) archiveCommand() *cobra.Command {
	var o archiveOptions
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "Keep copies of sessions before their agents delete them",
		Long: `Archive copies the sessions of a workspace into a folder of yours, with every
event exactly as it was logged: only what is new since the last time, and whole
files at once. The copies are true: credentials in them are not masked, as they are
in whatever yore shows of them, so keep the folder to yourself. Some agents delete logs after a while; ` + "`yore doctor`" + ` names those that
are due.

The folder is the one of --dir, of YORE_ARCHIVE, or of archive = "DIR" in the
configuration file; there is none unless you name one. Once it is configured, its
sessions are found and read like any other; a session that is still in its
agent's folder is one with its copy, and the agent's log is used. Nothing is
written to an agent's folder. What is forgotten (yore forget) is not archived;
copies of it that are still there are deleted, and nothing else ever is.

A session whose log cannot be read is skipped and named, and the exit code is 3;
what the archive has of it stays.`,
		Example: `  yore archive --dir ~/sessions
  yore archive --all
  yore archive --all --status`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.archive(cmd.Context(), o) },
	}
	o.scope.flags(cmd)
	f := cmd.Flags()
	f.String("dir", "", "the archive's `DIR` (default: the one that is configured)")
	f.BoolVar(&o.status, "status", false, "write nothing, say what the archive has and what it lacks")
	jsonFlag(cmd, &o.json)
	return cmd
}

func (a *app) archive(ctx context.Context, o archiveOptions) error {
	if a.settings.archive == "" {
		return fault.New(fault.InvalidConfig, `there is no archive folder: give --dir DIR, or set archive = "DIR" in the configuration file`)
	}
	which, err := o.scope.which()
	if err != nil {
		return err
	}
	roots, err := a.agentRoots()
	if err != nil {
		return err
	}
	archiver, err := archive.New(a.settings.archive, roots)
	if err != nil {
		return err
	}
	archiver = archiver.Without(forgets(forgetList(a.logger)))
	if o.status {
		return a.archiveStatus(ctx, archiver, which, o.json)
	}
	progress, cleared := a.barOf("archiving")
	report, err := archiver.Run(ctx, which, progress)
	cleared()
	if err != nil {
		return err
	}
	removed, err := a.removeForgotten(ctx)
	if err != nil {
		return err
	}
	a.partial = len(report.Skips) > 0
	if o.json {
		return a.emitLine(reportJSON(removed, a.settings.archive, report))
	}
	var b strings.Builder
	for _, row := range []struct {
		name string
		n    int
	}{
		{"new", report.Count[archive.Added]}, {"continued", report.Count[archive.Continued]},
		{"rewritten", report.Count[archive.Rewritten]}, {"unchanged", report.Count[archive.Unchanged]}, {"skipped", report.Count[archive.Skipped]},
	} {
		if row.n > 0 || row.name == "new" {
			fmt.Fprintf(&b, "%-10s  %d\n", row.name, row.n)
		}
	}
	if removed > 0 {
		fmt.Fprintf(&b, "%-10s  %d\n", "forgotten", removed)
	}
	skipText(&b, report.Skips)
	return a.emitPainted(b.String())
}

// removeForgotten removes the copies of forgotten sessions: the archive was not
// there, or not named, when they were forgotten.
func (a *app) removeForgotten(ctx context.Context) (int, error) {
	set, err := forgetList(a.logger).Now()
	if err != nil || set.Len() == 0 {
		return 0, err
	}
	copies, err := archive.Copies(ctx, a.settings.archive, set.Covers)
	if err != nil {
		return 0, err
	}
	return len(copies), archive.Remove(copies)
}

// which tells the sessions of a scope from others.
func (s *scope) which() (archive.Which, error) {
	if s.all {
		return nil, nil
	}
	dir, err := s.workspace()
	return func(workspace string) bool { return workspace == dir }, err
}

// agentRoots are the places of the agents' own logs.
func (a *app) agentRoots() ([]archive.Root, error) {
	var roots []archive.Root
	readers := yore.Readers()
	for _, s := range a.settings.sources {
		if s.Agent == format.Agent {
			continue
		}
		i := slices.IndexFunc(readers, func(r reader.Reader) bool { return r.Agent() == s.Agent })
		if i < 0 {
			return nil, fault.New(fault.InvalidConfig, "no reader for agent %q", s.Agent)
		}
		roots = append(roots, archive.Root{Reader: readers[i], Path: s.Root})
	}
	return roots, nil
}

func skipText(b *strings.Builder, skips []archive.Skip) {
	for _, s := range skips {
		who := render.Name(string(s.Agent))
		if s.ID != "" {
			who += " session " + render.Name(string(s.ID))
		}
		fmt.Fprintf(b, "  skipped: %s\n    %s\n    %s\n", who, render.Line(s.Path, 0), render.Line(s.Reason, 0))
	}
}

type skipJSON struct {
	Agent   session.Agent `json:"agent"`
	Session session.ID    `json:"session,omitempty"`
	Path    string        `json:"path"`
	Reason  string        `json:"reason"`
}

func skipsJSON(skips []archive.Skip) []skipJSON {
	all := []skipJSON{}
	for _, s := range skips {
		all = append(all, skipJSON{s.Agent, s.ID, s.Path, s.Reason})
	}
	return all
}

// reportJSON is a run as one object. It holds paths, ids and reasons, and no
// text of any session.
func reportJSON(forgotten int, dir string, r archive.Report) []byte {
	line, _ := json.Marshal(struct {
		Dir       string     `json:"dir"`
		New       int        `json:"new"`
		Continued int        `json:"continued"`
		Rewritten int        `json:"rewritten"`
		Unchanged int        `json:"unchanged"`
		Bytes     int64      `json:"bytes"`
		Forgotten int        `json:"forgotten,omitempty"` // copies that were deleted
		Skipped   []skipJSON `json:"skipped"`
	}{
		dir, r.Count[archive.Added], r.Count[archive.Continued], r.Count[archive.Rewritten], r.Count[archive.Unchanged],
		r.Bytes, forgotten, skipsJSON(r.Skips),
	}) // strings and numbers only
	return line
}

func (a *app) archiveStatus(ctx context.Context, archiver *archive.Archiver, which archive.Which, asJSON bool) error {
	st, err := archiver.Status(ctx, which)
	if err != nil {
		return err
	}
	a.partial = st.Damaged > 0 || len(st.Skips) > 0
	if asJSON {
		line, _ := json.Marshal(struct {
			Dir      string     `json:"dir"`
			Sessions int        `json:"sessions"`
			Bytes    int64      `json:"bytes"`
			Current  int        `json:"current"`
			Behind   int        `json:"behind"`
			Alone    int        `json:"alone"`
			Damaged  int        `json:"damaged"`
			Missing  int        `json:"missing"`
			Skipped  []skipJSON `json:"skipped"`
		}{a.settings.archive, st.Sessions, st.Bytes, st.Current, st.Behind, st.Alone, st.Damaged, st.Missing, skipsJSON(st.Skips)})
		return a.emitLine(line)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "archive     %s\nsessions    %d in %d bytes\nup to date  %d\nbehind      %d\n", render.Line(a.settings.archive, 0), st.Sessions, st.Bytes, st.Current, st.Behind)
	fmt.Fprintf(&b, "kept alone  %d  (their logs are not with their agents any more)\nmissing     %d\n", st.Alone, st.Missing)
	if st.Damaged > 0 {
		fmt.Fprintf(&b, "damaged     %d\n", st.Damaged)
	}
	skipText(&b, st.Skips)
	return a.emitPainted(b.String())
}

// due is what doctor says of logs that their agents are about to delete.
type due []archive.Due

func (a *app) due(ctx context.Context) (due, error) {
	roots, err := a.agentRoots()
	if err != nil {
		return nil, err
	}
	set, err := forgetList(a.logger).Now()
	if err != nil {
		return nil, err
	}
	list, err := archive.FindDue(ctx, roots, a.settings.archive, time.Now())
	return slices.DeleteFunc(list, func(d archive.Due) bool {
		return set.Has(session.Key{Agent: d.Agent, ID: d.ID})
	}), err
}

// maxDue is how many logs the text names.
const maxDue = 10

func (list due) text(b *strings.Builder) {
	if len(list) == 0 {
		return
	}
	b.WriteString("due for deletion by their agents, and not archived:\n")
	for _, d := range list[:min(len(list), maxDue)] {
		when := "at any time"
		if days := daysLeft(d.Left); days > 0 {
			when = fmt.Sprintf("within %d days", days)
		}
		fmt.Fprintf(b, "  %s session %s: %s\n    %s\n", render.Name(string(d.Agent)), render.Name(string(d.ID)), when, render.Line(d.Path, 0))
	}
	if more := len(list) - maxDue; more > 0 {
		fmt.Fprintf(b, "  and %d more (--json names all)\n", more)
	}
	b.WriteString("  `yore archive --all` keeps them.\n")
}

// daysLeft rounds up to whole days; 0: none.
func daysLeft(left time.Duration) int {
	const day = 24 * time.Hour
	return int((max(left, 0) + day - 1) / day)
}

type dueJSON struct {
	Agent     session.Agent `json:"agent"`
	Session   session.ID    `json:"session"`
	Workspace string        `json:"workspace,omitempty"`
	Path      string        `json:"path"`
	DaysLeft  int           `json:"days_left"`
}

func (list due) json() []dueJSON {
	all := []dueJSON{}
	for _, d := range list {
		all = append(all, dueJSON{d.Agent, d.ID, d.Workspace, d.Path, daysLeft(d.Left)})
	}
	return all
}
