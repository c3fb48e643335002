package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"ibsm/topo/net"
)

const genUsage = `ibfabric gen writes a generated topology in the format of ibnetdiscover. ibsim and
ibsm --fabric can load it; ibsm --fabric also accepts the SPEC itself.

Usage:
  ibfabric gen SPEC [-o FILE]

Options:
  -o, --output FILE  write to FILE instead of standard output
  -h, --help         print this help

SPEC is KIND or KIND:KEY=VALUE,KEY=VALUE,... The same SPEC always gives the same
fabric. Kinds and their keys:

`

const genExamples = `
Examples:
  ibfabric gen fattree:k=8 -o small.net           128 hosts, 80 switches, three levels
  ibfabric gen fattree:k=36,levels=2              648 hosts, 54 switches
  ibfabric gen fattree:k=16,missing-links=5%,seed=7
                                                  each seed a different 5% missing
  ibfabric gen torus:dims=8x8x8,hosts=2,speed=NDR
`

// runGen carries out "ibfabric gen".
func runGen(args []string, stdout io.Writer) error {
	flags := pflag.NewFlagSet("gen", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	output := flags.StringP("output", "o", "", "")
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		_, err := io.WriteString(stdout, genUsage+indent(net.Help())+genExamples)
		return err
	case err != nil:
		return &usageError{"gen: " + err.Error(), "ibfabric gen --help lists the options"}
	case flags.NArg() != 1:
		return &usageError{fmt.Sprintf("gen: expected one SPEC, got %d arguments", flags.NArg()), "for example: ibfabric gen fattree:k=8"}
	}
	fabric, err := net.Generate(flags.Arg(0))
	if err != nil {
		return specUsage(err)
	}
	if *output == "" {
		return net.Write(stdout, fabric)
	}
	var topology bytes.Buffer
	if err := net.Write(&topology, fabric); err != nil {
		return err
	}
	return os.WriteFile(*output, topology.Bytes(), 0o666)
}

// specUsage gives an error of a SPEC its hint.
func specUsage(err error) error {
	usage := &usageError{err.Error(), "ibfabric gen --help describes every kind and key"}
	var spec *net.SpecError
	if errors.As(err, &spec) && spec.Hint != "" {
		usage.hint = spec.Hint
	}
	return usage
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
