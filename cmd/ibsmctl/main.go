// Command ibsmctl shows the state of a running ibsm and controls it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"ibsm/conf"
)

// verb is one thing that ibsmctl does.
type verb struct {
	name    string
	summary string
	run     func(ctx context.Context, args []string, stdout io.Writer) error
}

var verbs = []verb{
	{"status", "state of the manager and summary of its subnet", runStatus},
	{"top", "live activity of a manager, full screen", runTop},
	{"sms", "subnet managers, and which one takes over when the master dies", runSMs},
	{"nodes", "switches, adapters and routers", runNodes},
	{"ports", "ports, their state and their peers", runPorts},
	{"links", "links between ports", runLinks},
	{"why", "why a port is not Active, or does not reach another", runWhy},
	{"path", "the route from one port to another, hop by hop", runPath},
	{"diff", "changes between two generations of the subnet", runDiff},
	{"generations", "generations that diff can compare", runGenerations},
	{"groups", "multicast groups and their members", runGroups},
	{"services", "registered services", runServices},
	{"subscriptions", "event subscriptions", runSubscriptions},
	{"sa-stats", "statistics of subnet administration", runSAStats},
	{"sweep", "request a sweep", runSweep},
	{"reroute", "recompute all routes", runReroute},
	{"plan", "show what a heavy sweep would write", runPlan},
	{"draw", "draw the subnet, as SVG", runDraw},
	{"dump", "dumps in OpenSM's formats, or the topology in Slurm's", runDump},
	{"log-level", "show or change the log level", runLogLevel},
	{"config", "check, show, compare, convert and reload configuration files", runConfig},
	{"partitions", "check, show, edit and apply partitions.conf", runPartitions},
	{"state", "show, export, check and import a state store", runState},
	{"events", "past and new events", runEvents},
}

const usageHead = `ibsmctl shows the state of a running ibsm and controls it.

Usage:
  ibsmctl VERB [OPTION]... [ARGUMENT]...
  ibsmctl VERB --help
  ibsmctl --version

Verbs:
`

const usageTail = `
Common options, of every verb that asks a manager:
      --socket PATH          control socket (default: IBSM_SOCKET, or /run/ibsm/ibsm.sock; if
                             instances run, the only one in /run/ibsm, or the master's)
      --json                 print the manager's reply as JSON; docs/ctl.md describes it
      --node-name-map FILE   node names, in OpenSM's format: lines of GUID "name"
                             (default: IBSM_NODE_NAME_MAP)

Exit status: 0 success, 1 failure, 2 wrong usage.

Examples:
  ibsmctl status
  ibsmctl ports --state down
  ibsmctl why leaf-01:7
  ibsmctl path node1 0x0002c90300000001
  ibsmctl events --follow
`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main without the process: 0 is success, 1 a failure, 2 wrong usage.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := dispatch(ctx, args, stdout)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "ibsmctl: error: %v\n", err)
	if hint := hintFor(err); hint != "" {
		fmt.Fprintf(stderr, "hint: %s\n", hint)
	}
	if errors.As(err, new(*usageError)) {
		return 2
	}
	return 1
}

// usageError is a command line that cannot be carried out.
type usageError struct {
	text string
	hint string // what to do about it, "" when there is nothing to say
}

func (e *usageError) Error() string { return e.text }

func dispatch(ctx context.Context, args []string, stdout io.Writer) error {
	const list = "see ibsmctl --help for the verbs"
	if len(args) == 0 {
		return &usageError{"a verb is missing", list}
	}
	switch args[0] {
	case "--version", "version":
		_, err := fmt.Fprintln(stdout, "ibsmctl", conf.Version)
		return err
	case "help":
		if len(args) > 1 {
			return dispatch(ctx, []string{args[1], "--help"}, stdout)
		}
		return printUsage(stdout)
	case "-h", "--help":
		return printUsage(stdout)
	}
	lead := leading(args)
	if lead == len(args) {
		return &usageError{"a verb is missing", list}
	}
	for _, v := range verbs {
		if v.name == args[lead] {
			return v.run(ctx, slices.Concat(args[:lead], args[lead+1:]), stdout)
		}
	}
	if strings.HasPrefix(args[lead], "-") {
		return &usageError{fmt.Sprintf("unknown option %s before the verb", args[lead]), list}
	}
	names := make([]string, len(verbs))
	for i, v := range verbs {
		names[i] = v.name
	}
	if other, is := elsewhere[args[lead]]; is {
		return &usageError{fmt.Sprintf("unknown verb %q; did you mean %s?", args[lead], other), list}
	}
	return unknown("verb", args[lead], names, list)
}

// elsewhere are words that other tools have for what is done here, and that are not near
// in letters.
var elsewhere = map[string]string{
	"reload": "config reload", "rehash": "config reload", "resweep": "sweep", "portstatus": "why",
	"hosts": "nodes --type CA", "switches": "nodes --type switch", "routers": "nodes --type router", "hcas": "nodes --type CA",
	"ibtracert": "path", "tracert": "path", "route": "path", "trace": "path", "cables": "links", "routes": "dump routes",
	"pkeys": "partitions show", "log": "events", "logs": "events", "sminfo": "sms", "metrics": "top", "stats": "top",
	"multicast": "groups", "mcast": "groups", "topology": "links",
}

// leading counts the arguments before the verb: options that every verb has may stand
// there as well.
func leading(args []string) (n int) {
	for n < len(args) {
		switch name, _, whole := strings.Cut(args[n], "="); {
		case name == "--json":
			n++
		case name == "--socket" || name == "--node-name-map":
			if n++; !whole {
				n = min(n+1, len(args))
			}
		default:
			return n
		}
	}
	return n
}

func printUsage(w io.Writer) error {
	var b strings.Builder
	b.WriteString(usageHead)
	for _, v := range verbs {
		fmt.Fprintf(&b, "  %-13s  %s\n", v.name, v.summary)
	}
	b.WriteString(usageTail)
	_, err := io.WriteString(w, b.String())
	return err
}
