package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/postgres"
)

// eraseOptions are what `yore serve erase` is told.
type eraseOptions struct {
	tenant, workspace, person string
	older, audit              int // days
	yes                       bool
}

func (a *app) eraseCommand() *cobra.Command {
	var o eraseOptions
	cmd := &cobra.Command{
		Use:   "erase",
		Short: "Erase sessions by workspace, person or age, and prove that they are gone",
		Long: `Erase takes sessions out of the database: those of a workspace, of a person, older
than some days, or of all that is given together. Without --yes it counts them and
erases nothing.

It counts before and after, and writes the tables anew so that nothing is left in
the database's files; that takes them for a while. With a person alone, their
tokens and the record of what they asked go as well. Backups and the database's
own log of changes live as long as you keep them.`,
		Example: `  yore serve erase --tenant acme --person ada
  yore serve erase --tenant acme --older-than 365 --yes
  yore serve erase --tenant acme --audit-older-than 90 --yes`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.erase(cmd.Context(), cmd, o) },
	}
	databaseFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&o.tenant, "tenant", "", "of this `TENANT`")
	f.StringVarP(&o.workspace, "workspace", "w", "", "of this `WORKSPACE`")
	f.StringVar(&o.person, "person", "", "that this `PERSON` sent")
	f.IntVar(&o.older, "older-than", 0, "whose latest event is older than `N` days")
	f.IntVar(&o.audit, "audit-older-than", 0, "lines of the audit log older than `N` days")
	f.BoolVar(&o.yes, "yes", false, "do it")
	return cmd
}

func (a *app) erase(ctx context.Context, cmd *cobra.Command, o eraseOptions) error {
	var which postgres.Erasure
	if o.workspace != "" {
		which.Workspace = &o.workspace
	}
	if o.person != "" {
		which.Person = &o.person
	}
	if o.older > 0 {
		which.Before = time.Now().AddDate(0, 0, -o.older)
	}
	sessions := o.workspace != "" || o.person != "" || o.older > 0
	if o.tenant == "" || !sessions && o.audit <= 0 || o.older < 0 {
		return fault.New(fault.InvalidArgs, "give --tenant, and --workspace, --person, --older-than or --audit-older-than")
	}
	db, err := a.database(ctx, cmd)
	if err != nil {
		return err
	}
	defer db.Close()
	t := db.Tenant(o.tenant)
	if sessions {
		before, err := t.Count(ctx, which)
		if err != nil {
			return err
		}
		if err := a.emit("before: " + erasedText(before)); err != nil {
			return err
		}
	}
	if !o.yes {
		return a.emit("Nothing was erased: --yes does it.\n")
	}
	if sessions {
		done, err := t.Erase(ctx, which)
		if err != nil {
			return err
		}
		if err := a.emit("erased: " + erasedText(done)); err != nil {
			return err
		}
	}
	if o.person != "" && o.workspace == "" && o.older == 0 {
		tokens, records, err := t.ForgetPerson(ctx, o.person)
		if err != nil {
			return err
		}
		if err := a.emit(fmt.Sprintf("erased: %d tokens, %d lines of the audit log\n", tokens, records)); err != nil {
			return err
		}
	}
	if o.audit > 0 {
		n, err := db.TrimAudit(ctx, o.tenant, time.Now().AddDate(0, 0, -o.audit))
		if err != nil {
			return err
		}
		if err := a.emit(fmt.Sprintf("erased: %d lines of the audit log\n", n)); err != nil {
			return err
		}
	}
	if sessions {
		after, err := t.Count(ctx, which)
		if err != nil {
			return err
		}
		if err := a.emit("after:  " + erasedText(after)); err != nil {
			return err
		}
		if after != (postgres.Erased{}) {
			a.partial = true
			a.note("More came in meanwhile: repeat the command.")
		}
	}
	clean, err := db.Purge(ctx)
	if err != nil {
		return err
	}
	if !clean {
		a.partial = true
		a.note("Remains are still in the database's files, since somebody reads for long: repeat the command.")
		return nil
	}
	return a.emit("The tables are written anew: nothing of it is left in the database's files.\n")
}

func erasedText(e postgres.Erased) string {
	return fmt.Sprintf("%d workspaces as a whole, %d sessions, %d documents, %d pieces of log\n", e.Workspaces, e.Sessions, e.Documents, e.Chunks)
}

func (a *app) auditCommand() *cobra.Command {
	var tenant string
	var days int
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Print who asked what of a tenant, as JSON, oldest first",
		Long: `Audit prints the log of what was asked of a tenant's history and sent to it, one
JSON object a line: when, by which token and person, what. No answer is in it.`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if tenant == "" || days < 1 {
				return fault.New(fault.InvalidArgs, "give --tenant TENANT, and --days of at least 1")
			}
			db, err := a.database(cmd.Context(), cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			since := time.Now().AddDate(0, 0, -days)
			for {
				const page = 1000
				all, err := db.Records(cmd.Context(), tenant, since, page)
				if err != nil {
					return err
				}
				for _, r := range all {
					text, err := json.Marshal(map[string]any{
						"time": r.At.UTC().Format(time.RFC3339Nano), "token": r.Token, "person": r.Person, "action": r.Action, "detail": r.Detail,
					})
					if err == nil {
						err = a.emitLine(text)
					}
					if err != nil {
						return err
					}
					since = r.At.Add(time.Microsecond)
				}
				if len(all) < page {
					return nil
				}
			}
		},
	}
	databaseFlag(cmd)
	cmd.Flags().StringVar(&tenant, "tenant", "", "the `TENANT`")
	cmd.Flags().IntVar(&days, "days", 7, "the last `N` days")
	return cmd
}
