package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"ibsm/cmd/ibsmctl/slurm"
	"ibsm/conf"
	"ibsm/conf/manual"
)

const completionUsage = `Usage: ibsmctl completion SHELL [PROGRAM]

Prints a completion script for bash, zsh or fish, for ibsmctl and ibsm, or for PROGRAM only.
The packages install it; to try it: source <(ibsmctl completion bash)

Names of nodes, GUIDs that begin with 0x, and LIDs are completed from the running manager.
If it does not answer within 200 ms, they are not completed.
`

const manualUsage = `Usage: ibsmctl manual PAGE [DATE]

Prints a man page, with a date such as 2026-01-31: ibsm.8, ibsmctl.8 or ibsm.conf.5.
The packages install them; to read one: ibsmctl manual ibsm.8 | man -l -
`

// These two describe all verbs, so they cannot be in the value that the list begins with.
func init() {
	verbs = append(verbs,
		verb{"completion", "print a completion script for bash, zsh or fish", runCompletion},
		verb{"manual", "print a man page", runManual})
}

// values are the words that arguments of options may be, of one verb or of all.
var values = map[string][]string{
	"--type":         nodeTypes,
	"--state":        portStates,
	"draw --colour":  {"state", "load"},
	"dump --format":  {string(slurm.Tree), string(slurm.Blocks), string(slurm.YAML)},
	"state --format": {"json", "opensm"},
}

// arguments are the words that the first argument of a verb may be, where the help does
// not list them as actions.
var arguments = map[string][]string{
	"dump":       {"lfts", "lid-matrix", "routes", "multicast", "subnet", "guids"},
	"log-level":  {"error", "info", "verbose", "debug"},
	"completion": manual.Shells,
	"manual":     {"ibsm.8", "ibsmctl.8", "ibsm.conf.5"},
}

// help is what a verb prints for --help.
func (v *verb) help(ctx context.Context) (string, error) {
	var b bytes.Buffer
	err := v.run(ctx, []string{"--help"}, &b)
	return b.String(), err
}

// commandLine is the command line of ibsmctl.
func commandLine(ctx context.Context) (*manual.Command, error) {
	var usage bytes.Buffer
	if err := printUsage(&usage); err != nil {
		return nil, err
	}
	all := manual.NewCommand("ibsmctl", "", usage.String())
	for i := range verbs {
		v := &verbs[i]
		help, err := v.help(ctx)
		if err != nil {
			return nil, err
		}
		c := manual.NewCommand(v.name, v.summary, help)
		c.Words = arguments[v.name]
		if v.name == "why" || v.name == "path" || v.name == "partitions" {
			c.Ask = nodesAsk
		}
		if strings.Contains(strings.Join(strings.Fields(help), " "), "See ibsmctl --help for") {
			for _, o := range all.Options {
				if !slices.ContainsFunc(c.Options, func(own manual.Option) bool { return own.Long == o.Long }) {
					c.Options = append(c.Options, o)
				}
			}
		}
		for i := range c.Options {
			o := &c.Options[i]
			if o.Arg == "NODE" {
				o.Ask = nodesAsk
			}
			if o.Words = values[v.name+" --"+o.Long]; o.Words == nil {
				o.Words = values["--"+o.Long]
			}
		}
		all.Verbs = append(all.Verbs, c)
	}
	return &all, nil
}

// daemonLine is the command line of ibsm.
func daemonLine() *manual.Command {
	c := manual.NewCommand("ibsm", "", conf.Usage())
	for i := range c.Options {
		for _, o := range conf.Options() {
			if k := conf.Find(o.Key); o.Long == c.Options[i].Long && k != nil && o.Arg != "" {
				c.Options[i].Words = k.Words
			}
		}
	}
	return &c
}

func runCompletion(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) > 1 && args[0] == "nodes" {
		return completeNodes(ctx, args[1], args[2:], stdout)
	}
	flags := pflag.NewFlagSet("completion", pflag.ContinueOnError)
	if done, err := parse(flags, args, stdout, completionUsage); done {
		return err
	}
	args = flags.Args()
	if len(args) == 0 || len(args) > 2 || !slices.Contains(manual.Shells, args[0]) || len(args) == 2 && args[1] != "ibsm" && args[1] != "ibsmctl" {
		return &usageError{"completion: expected one of " + strings.Join(manual.Shells, ", ") + ", and optionally ibsm or ibsmctl", describes("completion")}
	}
	own, err := commandLine(ctx)
	if err != nil {
		return err
	}
	for _, program := range []*manual.Command{own, daemonLine()} {
		if len(args) == 2 && args[1] != program.Name {
			continue
		}
		script, err := program.Completion(args[0])
		if err == nil {
			_, err = io.WriteString(stdout, script)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func runManual(ctx context.Context, args []string, stdout io.Writer) error {
	flags := pflag.NewFlagSet("manual", pflag.ContinueOnError)
	if done, err := parse(flags, args, stdout, manualUsage); done {
		return err
	}
	args = flags.Args()
	date := ""
	if len(args) > 1 {
		date = args[1]
	}
	pages := conf.ManPages(date)
	own, err := ownPage(ctx, date)
	if err != nil {
		return err
	}
	pages["ibsmctl.8"] = own
	if len(args) < 1 || len(args) > 2 || pages[args[0]] == "" {
		return &usageError{"manual: expected one of " + strings.Join(slices.Sorted(maps.Keys(pages)), ", "), describes("manual")}
	}
	_, err = io.WriteString(stdout, pages[args[0]])
	return err
}

// ownPage is the page of ibsmctl: its own help, then that of each verb.
func ownPage(ctx context.Context, date string) (string, error) {
	var usage bytes.Buffer
	if err := printUsage(&usage); err != nil {
		return "", err
	}
	p := manual.Page{Name: "ibsmctl", Section: 8, Summary: "show the state of a running ibsm and control it", Date: date}
	p.Help(usage.String(), false)
	p.Heading("Verbs")
	for i := range verbs {
		help, err := verbs[i].help(ctx)
		if err != nil {
			return "", fmt.Errorf("%s: %w", verbs[i].name, err)
		}
		p.Subheading(verbs[i].name)
		p.Help(help, true)
	}
	p.Heading("See also")
	p.Paragraph("ibsm(8), ibsm.conf(5), ibfabric(1)")
	return p.Roff(), nil
}
