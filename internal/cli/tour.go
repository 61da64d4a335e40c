package cli

import (
	"github.com/spf13/cobra"

	"github.com/yorehq/yore/internal/demo"
)

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Take a tour of the five tools over samples",
		Long: `Demo makes a throw-away index over a few sample sessions that are part of the
program, calls each of the five tools as an agent would, and shows question and
answer. It needs no configuration, reads none of your own sessions, and leaves
nothing behind.`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo.Run(cmd.Context(), a.logger, a.emitPainted)
		},
	}
}
