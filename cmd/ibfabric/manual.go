package main

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"ibsm/conf/manual"
)

const completionUsage = `Usage: ibfabric completion SHELL

Prints a completion script of ibfabric for bash, zsh or fish. The packages install it; to try it: source <(ibfabric completion bash)
`

const manualUsage = `Usage: ibfabric manual [DATE]

Prints the man page ibfabric.1, with a date such as 2026-01-31.
The packages install it; to read it: ibfabric manual | man -l -
`

// These two describe all verbs, so they cannot be in the value that the list begins with.
func init() {
	verbs = append(verbs,
		verb{"completion", "print a completion script for bash, zsh or fish", runCompletion},
		verb{"manual", "print the man page", runManual})
}

// help is what a verb prints for --help.
func (v *verb) help() (string, error) {
	var b bytes.Buffer
	err := v.run([]string{"--help"}, &b)
	return b.String(), err
}

// parseBare reads the command line of a verb without options but --help. done reports that
// nothing is left to do.
func parseBare(verb string, args []string, stdout io.Writer, usage string) (words []string, done bool, err error) {
	flags := pflag.NewFlagSet(verb, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		_, err := io.WriteString(stdout, usage)
		return nil, true, err
	case err != nil:
		return nil, true, &usageError{verb + ": " + err.Error(), "ibfabric " + verb + " --help"}
	}
	return flags.Args(), false, nil
}

func runCompletion(args []string, stdout io.Writer) error {
	args, done, err := parseBare("completion", args, stdout, completionUsage)
	if done {
		return err
	}
	if len(args) != 1 || !slices.Contains(manual.Shells, args[0]) {
		return &usageError{"completion: expected one of " + strings.Join(manual.Shells, ", "), "ibfabric completion --help"}
	}
	all := manual.Command{Name: "ibfabric"}
	for i := range verbs {
		help, err := verbs[i].help()
		if err != nil {
			return err
		}
		c := manual.NewCommand(verbs[i].name, verbs[i].summary, help)
		if c.Name == "completion" {
			c.Words = manual.Shells
		}
		all.Verbs = append(all.Verbs, c)
	}
	script, err := all.Completion(args[0])
	if err == nil {
		_, err = io.WriteString(stdout, script)
	}
	return err
}

func runManual(args []string, stdout io.Writer) error {
	args, done, err := parseBare("manual", args, stdout, manualUsage)
	if done {
		return err
	}
	if len(args) > 1 {
		return &usageError{"manual: expected a date at most", "ibfabric manual --help"}
	}
	var usage bytes.Buffer
	if err := printUsage(&usage); err != nil {
		return err
	}
	p := manual.Page{Name: "ibfabric", Section: 1, Summary: "simulated InfiniBand fabrics", Date: strings.Join(args, "")}
	p.Help(usage.String(), false)
	p.Heading("The verbs")
	for i := range verbs {
		help, err := verbs[i].help()
		if err != nil {
			return err
		}
		p.Subheading(verbs[i].name)
		p.Help(help, true)
	}
	p.Heading("See also")
	p.Paragraph("ibsm(8), ibsmctl(8)")
	_, err = io.WriteString(stdout, p.Roff())
	return err
}
