// Package cli has what ibsmctl and ibfabric share on top of cobra: one form of help, errors
// with hints, exit statuses, completion scripts and man pages.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ibsm/conf/diag"
)

// hinted is an error and what to do about it.
type hinted struct {
	error
	hint  string
	usage bool
}

func (h *hinted) Unwrap() error { return h.error }

// UsageError is the error of a command line that cannot be carried out. The hint says what
// to do about it; "" for none.
func UsageError(text, hint string) error { return &hinted{errors.New(text), hint, true} }

// WithHint adds to an error what to do about it.
func WithHint(err error, hint string) error { return &hinted{err, hint, false} }

// Hint is the hint of an error, "" if it has none.
func Hint(err error) string {
	if h := (*hinted)(nil); errors.As(err, &h) {
		return h.hint
	}
	return ""
}

// init keeps cobra from sorting verbs, which it does for all programs or none: help has them in the order in which they
// were added.
func init() { cobra.EnableCommandSorting = false }

// Prepare gives a program of verbs what all have: options --help and --version, verbs help and
// version, help in one form, and errors with hints. Call it when the program has all its verbs.
func Prepare(root *cobra.Command, version string) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentFlags().BoolP("help", "h", false, "print the help")
	// cobra's own --version needs text/template, with which the linker drops no methods: 3 MB.
	wantVersion := root.Flags().Bool("version", false, "print the version")
	printVersion := func(cmd *cobra.Command, _ []string) error {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), root.Name(), version)
		return err
	}
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { io.WriteString(cmd.OutOrStdout(), Help(cmd)) })
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(
		&cobra.Command{Use: "help [VERB]...", Hidden: true, RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 && found.HasSubCommands() {
				return noVerb(found, rest)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), Help(found))
			return err
		}})
	root.AddCommand(&cobra.Command{Use: "version", Hidden: true, RunE: printVersion})
	wantVerbs(root)
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *wantVersion {
			return printVersion(cmd, args)
		}
		return noVerb(cmd, args)
	}
}

// wantVerbs has a command with verbs, and those below it, refuse words that are none.
func wantVerbs(cmd *cobra.Command) {
	if !cmd.HasSubCommands() {
		return
	}
	alone := cmd.RunE        // nil where it does nothing without a verb
	takes := cmd.Args != nil // arguments that are no verb
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if alone != nil && (len(args) == 0 || takes) {
			return alone(cmd, args)
		}
		return noVerb(cmd, args)
	}
	if cmd.Args == nil {
		cmd.Args = cobra.ArbitraryArgs
	}
	for _, verb := range cmd.Commands() {
		wantVerbs(verb)
	}
}

// Complete prepares a command and its verbs for a request of a completion script: options and
// arguments whose placeholder isFile are completed with names of files, others are not.
func Complete(cmd *cobra.Command) {
	cmd.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		name, text := pflag.UnquoteUsage(f)
		if isFile(name) {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, files) // the option exists
		}
		f.Usage = text
	})
	if cmd.ValidArgsFunction == nil && !cmd.HasSubCommands() &&
		slices.ContainsFunc(strings.FieldsFunc(cmd.Use, notLetter), isFile) {
		cmd.ValidArgsFunction = files
	}
	for _, verb := range cmd.Commands() {
		Complete(verb)
	}
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

// isFile reports whether a placeholder stands for a file.
func isFile(name string) bool {
	return slices.Contains([]string{"FILE", "STORE", "PATH", "DIR", "SPEC"}, name)
}

// files completes the names of files.
func files(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// Words has an option completed with some words.
func Words(cmd *cobra.Command, option string, words ...string) {
	if err := cmd.RegisterFlagCompletionFunc(option,
		cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // there is no such option
	}
}

// noVerb is the error of a command that only has verbs.
func noVerb(cmd *cobra.Command, args []string) error {
	var names []string
	for _, verb := range cmd.Commands() {
		if !verb.Hidden {
			names = append(names, verb.Name())
		}
	}
	of := ""
	if cmd.HasParent() {
		of = " of " + cmd.Name()
	}
	if len(args) == 0 {
		return UsageError("a verb"+of+" is missing", See(cmd))
	}
	return UsageError(fmt.Sprintf("unknown verb%s %q", of, args[0])+diag.Meant(args[0], names), See(cmd))
}

// See is the hint where to read about a command.
func See(cmd *cobra.Command) string {
	if cmd.HasSubCommands() {
		return "see " + cmd.CommandPath() + " --help for the verbs"
	}
	return "see " + cmd.CommandPath() + " --help"
}

// Args requires at least least arguments, and at most most unless it is negative.
func Args(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return UsageError("an argument is missing", See(cmd))
		case most >= 0 && len(args) > most:
			return UsageError(fmt.Sprintf("unexpected argument %q", args[most]), See(cmd))
		}
		return nil
	}
}

// Takes has a verb refuse the options that it inherits, except those that are listed.
func Takes(verb *cobra.Command, options ...string) *cobra.Command {
	verb.PreRunE = func(cmd *cobra.Command, _ []string) (err error) {
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
			if f.Changed && !slices.Contains(options, f.Name) {
				err = UsageError("unknown option --"+f.Name, See(cmd))
			}
		})
		return err
	}
	return verb
}

// Run carries out a command line and returns the exit status: 0 success, 1 failure, 2 wrong
// usage. hint, if not nil, finds the hints of errors that are not of this package.
func Run(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer,
	hint func(error) string) int {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		Complete(root)
	}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "%s: error: %v\n", root.Name(), err)
	text := Hint(err)
	if text == "" && hint != nil {
		text = hint(err)
	}
	if text != "" {
		fmt.Fprintf(stderr, "hint: %s\n", text)
	}
	if h := (*hinted)(nil); errors.As(err, &h) && h.usage {
		return 2
	}
	return 1
}

// flagError is an error of an option in words that do not speak of Go.
func flagError(cmd *cobra.Command, err error) error {
	text := err.Error()
	var none *pflag.NotExistError
	var bad *pflag.InvalidValueError
	var bare *pflag.ValueRequiredError
	switch {
	case errors.As(err, &none) && none.GetSpecifiedShortnames() != "":
		text = "unknown option -" + none.GetSpecifiedName()
	case errors.As(err, &none):
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
		name := "--" + none.GetSpecifiedName()
		text = "unknown option " + name + diag.Meant(name, known)
	case errors.As(err, &bad):
		want := "another value"
		switch bad.GetFlag().Value.Type() {
		case "int", "int64", "uint64":
			want = "a number"
		case "duration":
			want = "a time such as 30s"
		case "bool":
			want = "true or false"
		}
		text = fmt.Sprintf("--%s %q: expected %s", bad.GetFlag().Name, bad.GetValue(), want)
	case errors.As(err, &bare):
		text = "--" + bare.GetFlag().Name + ": argument missing"
	}
	return UsageError(text, See(cmd))
}
