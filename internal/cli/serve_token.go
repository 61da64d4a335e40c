package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/postgres"
)

func (a *app) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token COMMAND",
		Short: "Mint, list and revoke tokens",
		Args:  func(cmd *cobra.Command, args []string) error { return unknownCommand(cmd, args) },
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.mintCommand(), a.tokensCommand(), a.revokeCommand())
	return cmd
}

func (a *app) mintCommand() *cobra.Command {
	var t postgres.Token
	var days int
	cmd := &cobra.Command{
		Use:   "mint",
		Short: "Make a token and print it, for the only time",
		Long: `Mint makes a token for one person of a tenant and some workspaces, named exactly
as they are sent. What is kept of it is a hash, so it cannot be shown again. A
request can take workspaces of its token away and never add one.`,
		Example: `  yore serve token mint --tenant acme --person ada --workspace app --right read,push`,
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			db, err := a.database(cmd.Context(), cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			if days < 0 {
				return fault.New(fault.InvalidArgs, "--days is %d: want 0 for a token that never expires, or more", days)
			}
			if days > 0 {
				t.Expires = time.Now().AddDate(0, 0, days)
			}
			secret, made, err := db.Mint(cmd.Context(), t)
			if err != nil {
				return err
			}
			a.note("Token %s of %s, for %s. It is shown this once.", made.ID, render.Name(made.Person), strings.Join(made.Workspaces, ", "))
			return a.emit(secret + "\n")
		},
	}
	databaseFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&t.Tenant, "tenant", "", "the `TENANT`, a company or a team")
	f.StringVar(&t.Person, "person", "", "the `PERSON` that the token is for")
	f.StringArrayVarP(&t.Workspaces, "workspace", "w", nil, "a `WORKSPACE` as it is sent, exactly; repeatable")
	f.StringSliceVar(&t.Rights, "right", []string{postgres.RightRead}, "`RIGHTS` among read, push and metrics, separated by commas")
	f.IntVar(&days, "days", 365, "`N` days until it expires; 0: never")
	return cmd
}

func (a *app) tokensCommand() *cobra.Command {
	var tenant string
	var lines bool
	cmd := &cobra.Command{
		Use: "list", Short: "List tokens, without what would open anything", Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			db, err := a.database(cmd.Context(), cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			all, err := db.Tokens(cmd.Context(), tenant)
			if err != nil {
				return err
			}
			for _, t := range all {
				state := "valid"
				switch {
				case !t.Revoked.IsZero():
					state = "revoked"
				case !t.Valid(time.Now()):
					state = "expired"
				}
				row := map[string]any{
					"id": t.ID, "tenant": t.Tenant, "person": t.Person, "workspaces": t.Workspaces, "rights": t.Rights, "created": render.Time(t.Created.UnixMilli()), "state": state,
				}
				until := "never expires"
				if !t.Expires.IsZero() {
					until = "until " + t.Expires.UTC().Format(time.DateOnly)
					row["expires"] = render.Time(t.Expires.UnixMilli())
				}
				if lines {
					text, err := json.Marshal(row)
					if err == nil {
						err = a.emitLine(text)
					}
					if err != nil {
						return err
					}
					continue
				}
				var names []string
				for _, w := range t.Workspaces {
					names = append(names, render.Name(w))
				}
				err := a.emit(fmt.Sprintf("%s  %-7s  %s/%s  %s  %s  %s\n", t.ID, state, render.Name(t.Tenant), render.Name(t.Person),
					strings.Join(t.Rights, "+"), until, strings.Join(names, " ")))
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	databaseFlag(cmd)
	cmd.Flags().StringVar(&tenant, "tenant", "", "those of one `TENANT` alone")
	jsonFlag(cmd, &lines)
	return cmd
}

func (a *app) revokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke TOKEN", Short: "End a token, by the id that the list shows", Args: takes("TOKEN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			db, err := a.database(cmd.Context(), cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			return db.Revoke(cmd.Context(), args[0])
		},
	}
	databaseFlag(cmd)
	return cmd
}
