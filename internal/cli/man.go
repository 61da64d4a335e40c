package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "Print the manual page",
		Long: `Man prints the manual page of yore and all of its commands, in the form that man(1)
reads.`,
		Example: "  yore man > ~/.local/share/man/man1/yore.1\n  yore man | man -l -",
		Hidden:  true,
		Args:    takes(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.emit(manual(cmd.Root())) },
	}
}

// manual writes the commands as one page for man(1).
func manual(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(".TH YORE 1 \"\" \"yore\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\nyore \\- " + roff(lowered(root.Short)) + "\n")
	b.WriteString(".SH SYNOPSIS\n.B yore\n.I COMMAND\n[\\fIFLAG\\fR...] [\\fIARGUMENT\\fR...]\n.SH DESCRIPTION\n")
	roffText(&b, root.Long)
	b.WriteString(".SH COMMANDS\n")
	commands := slices.DeleteFunc(slices.Clone(root.Commands()), func(c *cobra.Command) bool {
		return !c.IsAvailableCommand() || c.Name() == "help" || c.Name() == "completion"
	})
	for _, c := range commands {
		fmt.Fprintf(&b, ".SS %s\n", roff(c.UseLine()))
		about := c.Long
		if about == "" {
			about = c.Short + "."
		}
		roffText(&b, about)
		roffFlags(&b, c.LocalNonPersistentFlags())
		if c.Example != "" {
			b.WriteString(".PP\nExamples:\n")
			roffVerbatim(&b, c.Example)
		}
	}
	b.WriteString(".SS yore completion bash|zsh|fish|powershell\nPrint a script that completes commands, flags, session ids and other values in that shell.\n")
	b.WriteString(".SH FLAGS OF EVERY COMMAND\n")
	roffFlags(&b, root.PersistentFlags())
	b.WriteString(".SH ENVIRONMENT\n")
	for _, s := range settingTable() {
		roffVariable(&b, envName(s.name), s.meaning)
	}
	for _, v := range variables() {
		roffVariable(&b, v.name, v.meaning)
	}
	b.WriteString(".SH FILES\n.TP\n.I yore/config.toml\nin the user's configuration folder: settings that flags and environment do not give.\n.TP\n.I yore\nin the user's cache folder: the index, which can be deleted at any time.\n")
	return b.String()
}

// roff escapes one line of text.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", "\\(ga", "^", "\\(ha", "~", "\\(ti", "'", "\\(aq", "\"", "\\(dq").Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}

// roffText writes paragraphs; lines that are indented stay as they are.
func roffText(b *strings.Builder, text string) {
	for _, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		paragraph = strings.Trim(paragraph, "\n")
		if strings.HasPrefix(paragraph, " ") {
			roffVerbatim(b, paragraph)
			continue
		}
		b.WriteString(".PP\n")
		for line := range strings.SplitSeq(paragraph, "\n") {
			b.WriteString(roff(strings.TrimSpace(line)) + "\n")
		}
	}
}

func roffVerbatim(b *strings.Builder, text string) {
	b.WriteString(".PP\n.RS 4\n.nf\n")
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		b.WriteString(roff(strings.TrimPrefix(line, "  ")) + "\n")
	}
	b.WriteString(".fi\n.RE\n")
}

func roffFlags(b *strings.Builder, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "\\fB" + roff("--"+f.Name) + "\\fR"
		if f.Shorthand != "" {
			name = "\\fB" + roff("-"+f.Shorthand) + "\\fR, " + name
		}
		if value != "" {
			name += " \\fI" + roff(value) + "\\fR"
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", name, roff(usage))
	})
}

func roffVariable(b *strings.Builder, name, meaning string) {
	fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(name), roff(strings.ReplaceAll(meaning, "`", "")))
}
