package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore/internal/render"
)

// takes checks how many arguments a command is given. Each name is one; a last
// name that ends in "..." takes any number from one on, in brackets from none on.
func takes(names ...string) cobra.PositionalArgs {
	needed, more := len(names), false
	if needed > 0 {
		last := names[needed-1]
		more = strings.HasSuffix(strings.TrimSuffix(last, "]"), "...")
		if strings.HasPrefix(last, "[") {
			needed--
		}
	}
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < needed:
			return fmt.Errorf("%s is missing", strings.TrimSuffix(names[len(args)], "..."))
		case len(args) <= len(names) || more:
			return nil
		case len(names) == 0:
			return fmt.Errorf("%s takes no argument, but got %s", cmd.CommandPath(), render.Name(args[0]))
		}
		return fmt.Errorf("%s takes %s, but got %s as well", cmd.CommandPath(), strings.Join(names, " and "), render.Name(args[len(names)]))
	}
}

// takesOneOf checks for one argument of a closed list, the command's ValidArgs.
func takesOneOf(name string) cobra.PositionalArgs {
	count := takes(name)
	return func(cmd *cobra.Command, args []string) error {
		if err := count(cmd, args); err != nil {
			return err
		}
		if slices.Contains(cmd.ValidArgs, args[0]) {
			return nil
		}
		return fmt.Errorf("%s is %s: want %s%s", name, render.Name(args[0]), orList(cmd.ValidArgs), didYouMean(args[0], cmd.ValidArgs))
	}
}
