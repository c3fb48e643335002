package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ibsm/conf/manual"
)

// helpWidth is the number of columns of help.
const helpWidth = 96

// Help is the help of a command: usage, description, verbs, options and examples. A verb below
// another verb, such as config check, has the help of that one if it has no description of its own.
func Help(cmd *cobra.Command) string {
	if cmd.Long == "" && cmd.HasParent() && cmd.Parent().HasParent() {
		cmd = cmd.Parent()
	}
	usage := cmd.Use
	if cmd.HasParent() {
		usage = cmd.Parent().CommandPath() + " " + usage
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s\n\n%s\n", usage, strings.TrimSpace(cmd.Long))
	if cmd.HasSubCommands() {
		b.WriteString("\nVerbs:\n" + verbs(cmd))
	}
	if options := cmd.LocalFlags().FlagUsagesWrapped(helpWidth); options != "" {
		b.WriteString("\nOptions:\n" + options)
	}
	common := 0
	cmd.Root().PersistentFlags().VisitAll(func(*pflag.Flag) { common++ })
	if cmd.HasParent() && common > 1 { // more than --help
		fmt.Fprintf(&b, "See %s --help for the common options.\n", cmd.Root().Name())
	}
	if cmd.Example != "" {
		b.WriteString("\nExamples:\n" + cmd.Example)
	}
	return b.String()
}

// describe adds the help of the verbs of a command to a page. above names the command, with a blank behind it; it is ""
// for the program.
func describe(p *manual.Page, cmd *cobra.Command, above string) {
	for _, verb := range cmd.Commands() {
		if !verb.Hidden && (above == "" || verb.Long != "") {
			p.Subheading(above + verb.Name())
			p.Help(Help(verb), true)
			describe(p, verb, above+verb.Name()+" ")
		}
	}
}

// verbs lists the verbs of a program, or with their arguments those of a verb.
func verbs(cmd *cobra.Command) string {
	var b strings.Builder
	list := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return c.Hidden })
	terms, width := make([]string, len(list)), 0
	for i, verb := range list {
		if terms[i] = verb.Name(); cmd.HasParent() {
			terms[i] = verb.Use
		}
		width = max(width, len(terms[i]))
	}
	for i, verb := range list {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, terms[i], verb.Short)
	}
	return b.String()
}

// Page is the man page of a program: its help, that of each verb, and that of each verb below one that
// has a description of its own. The summary is its short description; date, such as 2006-01-02, is
// printed on the page.
func Page(root *cobra.Command, section int, date, seeAlso string) string {
	p := manual.Page{Name: root.Name(), Section: section, Summary: root.Short, Date: date}
	p.Help(Help(root), false)
	p.Heading("Verbs in detail")
	describe(&p, root, "")
	p.Heading("See also")
	p.Paragraph(seeAlso)
	return p.Roff()
}

// Completion is the verb that prints completion scripts, for the program that gets it and for
// others, which answer cobra's request __complete as well.
func Completion(long string, others ...string) *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	cmd := &cobra.Command{Use: "completion SHELL", Short: "print a completion script for bash, zsh or fish", Long: long,
		ValidArgs: shells}
	wrong := "expected one of " + strings.Join(shells, ", ")
	if others != nil {
		cmd.Use += " [PROGRAM]"
		wrong += ", and optionally a program"
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		programs := append([]string{cmd.Root().Name()}, others...)
		if len(args) == 2 && slices.Contains(programs, args[1]) {
			programs = args[1:]
		} else if len(args) != 1 {
			return UsageError(wrong, See(cmd))
		}
		for _, name := range programs {
			c, out := &cobra.Command{Use: name}, cmd.OutOrStdout()
			print := map[string]func() error{
				"bash": func() error { return c.GenBashCompletionV2(out, true) },
				"zsh":  func() error { return c.GenZshCompletion(out) },
				"fish": func() error { return c.GenFishCompletion(out, true) },
			}[args[0]]
			if print == nil {
				return UsageError(wrong, See(cmd))
			}
			if err := print(); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}
