// Command ibfabric works with simulated InfiniBand fabrics.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"ibsm/conf"
	"ibsm/conf/diag"
)

// verb is one thing that ibfabric does.
type verb struct {
	name    string
	summary string
	run     func(args []string, stdout io.Writer) error
}

var verbs = []verb{
	{"gen", "write a generated topology", runGen},
	{"serve", "simulate a fabric for opensm, the diags and other clients of ibsim's protocol", runServe},
	{"bench", "compare OpenSM and ibsm", runBench},
	{"bench-sa", "compare the subnet administration of OpenSM and ibsm", runBenchSA},
}

const usageHead = `ibfabric works with simulated InfiniBand fabrics.

Usage:
  ibfabric VERB [OPTION]... [ARGUMENT]...
  ibfabric VERB --help
  ibfabric --version

Verbs:
`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main without the process: 0 is success, 1 a failure, 2 wrong usage.
func run(args []string, stdout, stderr io.Writer) int {
	err := dispatch(args, stdout)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "ibfabric: error: %v\n", err)
	var usage *usageError
	if !errors.As(err, &usage) {
		return 1
	}
	if usage.hint != "" {
		fmt.Fprintf(stderr, "hint: %s\n", usage.hint)
	}
	return 2
}

// usageError is a command line that cannot be carried out.
type usageError struct {
	text string
	hint string // what to do about it, "" when there is nothing to say
}

func (e *usageError) Error() string { return e.text }

func dispatch(args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return &usageError{"a verb is missing", "see ibfabric --help for the verbs"}
	}
	switch args[0] {
	case "--version", "version":
		_, err := fmt.Fprintln(stdout, "ibfabric", conf.Version)
		return err
	case "help":
		if len(args) > 1 {
			return dispatch([]string{args[1], "--help"}, stdout)
		}
		return printUsage(stdout)
	case "-h", "--help":
		return printUsage(stdout)
	}
	for _, v := range verbs {
		if v.name == args[0] {
			return v.run(args[1:], stdout)
		}
	}
	if strings.HasPrefix(args[0], "-") {
		return &usageError{fmt.Sprintf("unknown option %s before the verb", args[0]), "see ibfabric --help for the verbs"}
	}
	names := make([]string, len(verbs))
	for i, v := range verbs {
		names[i] = v.name
	}
	return &usageError{fmt.Sprintf("unknown verb %q", args[0]) + diag.Meant(args[0], names), "see ibfabric --help for the verbs"}
}

func printUsage(w io.Writer) error {
	var b strings.Builder
	b.WriteString(usageHead)
	for _, v := range verbs {
		fmt.Fprintf(&b, "  %-10s  %s\n", v.name, v.summary)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
