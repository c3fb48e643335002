// Command ibsmctl watches a running ibsm and tells it what to do.
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
	{"status", "the manager and its subnet in short", runStatus},
	{"top", "a running manager as it goes, on the whole screen", runTop},
	{"sms", "subnet managers, and who rules when the master dies", runSMs},
	{"nodes", "switches, adapters and routers", runNodes},
	{"ports", "ports, their state and what they lead to", runPorts},
	{"links", "cables", runLinks},
	{"why", "why a port is not Active, or does not reach another", runWhy},
	{"path", "the way from one port to another, hop by hop", runPath},
	{"diff", "what changed between two generations of the subnet", runDiff},
	{"generations", "the generations that diff knows", runGenerations},
	{"groups", "multicast groups and their members", runGroups},
	{"services", "services that ports have registered", runServices},
	{"subscriptions", "who wants to be told of what", runSubscriptions},
	{"sa-stats", "what subnet administration has answered", runSAStats},
	{"sweep", "look for changes now", runSweep},
	{"reroute", "compute all routes afresh", runReroute},
	{"plan", "what a heavy sweep would write now", runPlan},
	{"draw", "a picture of the subnet, as SVG", runDraw},
	{"dump", "forwarding tables, LIDs and others in OpenSM's formats, or the topology in Slurm's", runDump},
	{"log-level", "show or change what is logged", runLogLevel},
	{"config", "check, show, compare and convert configuration files", runConfig},
	{"partitions", "check, show, format and change partitions.conf", runPartitions},
	{"state", "show, export and check what a manager keeps in its store", runState},
	{"events", "what happened, and what happens", runEvents},
}

const usageHead = `ibsmctl watches a running ibsm and tells it what to do.

Usage:
  ibsmctl VERB [OPTION]... [ARGUMENT]...
  ibsmctl VERB --help
  ibsmctl --version

Verbs:
`

const usageTail = `
Options of every verb that asks a manager:
      --socket PATH          its control socket (IBSM_SOCKET, or /run/ibsm/ibsm.sock; where
                             instances run, the only one in /run/ibsm, or the master's)
      --json                 the manager's own reply; docs/ctl.md describes it
      --node-name-map FILE   names for nodes, in OpenSM's format: lines of GUID "name"
                             (IBSM_NODE_NAME_MAP)

Exit status: 0 done, 1 failed, 2 wrong usage.

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
	const list = "ibsmctl --help lists the verbs"
	if len(args) == 0 {
		return &usageError{"no verb", list}
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
		return &usageError{"no verb", list}
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
