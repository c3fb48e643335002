// Command ibsmctl shows the state of a running ibsm and controls it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/conf"
	"ibsm/ctl"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main without the process: 0 is success, 1 a failure, 2 wrong usage.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return cli.Run(ctx, program(), args, stdout, stderr, managerHint)
}

// managerHint is what a manager said to do about an error.
func managerHint(err error) string {
	if f := (*ctl.Failure)(nil); errors.As(err, &f) {
		return credentialHint(f)
	}
	return ""
}

// common are the options of every verb that queries a manager.
var common = []string{"socket", "server", "ca", "fingerprint", "token-file", "json", "node-name-map"}

// program is the command line of ibsmctl.
func program() *cobra.Command {
	a := &asker{}
	root := &cobra.Command{
		Use: "ibsmctl VERB [OPTION]... [ARGUMENT]...", Short: "show the state of a running ibsm and control it",
		Args: elsewhere,
		Long: `
ibsmctl shows the state of a running ibsm and controls it. ibsmctl VERB --help describes a verb.
--socket, --server, --json and --node-name-map apply to every verb that queries a manager. With
--server it asks managers on other hosts over HTTPS; profiles for it are in the file that
IBSMCTL_PROFILES names, or in ~/.config/ibsmctl.toml, or in /etc/ibsm/ibsmctl.toml. docs/api.md
describes them.

Exit status: 0 success, 1 failure, 2 wrong usage.`,
		Example: `  ibsmctl status
  ibsmctl ports --state down
  ibsmctl why leaf-01:7
  ibsmctl path node1 0x0002c90300000001
  ibsmctl events --follow
  ibsmctl --server https://sm1:8443,https://sm2:8443 --token-file token status
`}
	f := root.PersistentFlags()
	f.StringVar(&a.socket, "socket", "",
		"control socket at `PATH` (default: IBSM_SOCKET, or /run/ibsm/ibsm.sock; if instances run, the only one in /run/ibsm, or the master's)")
	a.serverOptions.add(root)
	f.BoolVar(&a.json, "json", false, "print the result as JSON; docs/ctl.md describes the manager's replies")
	f.StringVar(&a.mapped, "node-name-map", "",
		"node names from `FILE` in OpenSM's format: lines of GUID \"name\" (default: IBSM_NODE_NAME_MAP, or else the names that the manager logs)")
	root.AddCommand(newStatus(a), newTop(a), newSMs(a), newNodes(a), newHosts(a), newPorts(a), newLinks(a), newWhy(a),
		newPath(a),
		newDiff(a), newGenerations(a), newGroups(a), newServices(a), newSubscriptions(a), newSAStats(a), newCounters(a),
		newCongestionControl(a),
		newSweep(a), newCapture(a), newReroute(a), newPlan(a), newDrain(a), newUndrain(a), newRoutes(a), newRails(a),
		newTopology(a), newDraw(a), newPage(a), newDump(a), newLogLevel(a), newConfig(a), newPartitions(a),
		newPortGroups(a), newQoS(a), newVPorts(a), newSecurity(a), newAPI(a), onHost(newState(a), "state stores"),
		onHost(newMigrate(a), "programs and files"), newEvents(a),
		cli.Takes(newCompletion()), cli.Takes(newManual()))
	cli.Prepare(root, conf.Version)
	return root
}

// elsewhere suggests a verb for a word that other tools have for what is done here, and
// that is not similar in letters.
func elsewhere(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if verb, is := map[string]string{
		"reload": "config reload", "rehash": "config reload", "resweep": "sweep", "portstatus": "why",
		"switches": "nodes --type switch", "routers": "nodes --type router",
		"hcas":      "nodes --type CA",
		"ibtracert": "path", "tracert": "path", "route": "path", "trace": "path", "cables": "links",
		"routes": "dump routes",
		"pkeys":  "partitions show", "log": "events", "logs": "events", "sminfo": "sms", "metrics": "top",
		"stats":     "top",
		"multicast": "groups", "mcast": "groups", "pgrp": "port-groups",
	}[args[0]]; is {
		return cli.UsageError(fmt.Sprintf("unknown verb %q; did you mean %s?", args[0], verb), cli.See(cmd))
	}
	return nil
}
