package cli

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yorehq/yore/internal/render"
)

// misuse says of a flag that is not there, or is given what it does not take,
// what was likely meant or is wanted.
func misuse(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		want := map[string]string{
			"bool": "true or false", "int": "a whole number", "int64": "a whole number",
		}[value.GetFlag().Value.Type()]
		if want == "" {
			return err
		}
		if errors.Is(err, strconv.ErrRange) {
			want += " that is not as large"
		}
		return fmt.Errorf("--%s is %s: want %s", value.GetFlag().Name, render.Name(value.GetValue()), want)
	}
	given, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	slices.SortFunc(known, cmp.Compare)
	return fmt.Errorf("%w%s", err, didYouMean("--"+given, known))
}

// allSet finds the flags of a group in the parser's complaint that more than
// one of them is set.
var allSet = regexp.MustCompile(`; \[([^\]]+)\] were all set$`)

// exclusive refuses flags that exclude each other.
func exclusive(cmd *cobra.Command) error {
	err := cmd.ValidateFlagGroups()
	if err == nil {
		return nil
	}
	found := allSet.FindStringSubmatch(err.Error())
	if found == nil {
		return err
	}
	names := strings.Fields(found[1])
	for i := range names {
		names[i] = "--" + names[i]
	}
	last := len(names) - 1
	return fmt.Errorf("%s and %s exclude each other", strings.Join(names[:last], ", "), names[last])
}
