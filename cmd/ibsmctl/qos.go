package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/conf/policyfile"
	"ibsm/ctl"
	"ibsm/plural"
	"ibsm/routing/portgroups"
	"ibsm/routing/qos"
)

// qosCommand is the options of ibsmctl qos.
type qosCommand struct {
	*asker
	strict bool
}

func newQoS(a *asker) *cobra.Command {
	c := &qosCommand{asker: a}
	cmd := &cobra.Command{Use: "qos VERB [OPTION]... [FILE]", Short: "check and show qos-policy.conf",
		Long: `
Checks a QoS policy file, or shows its rules in the order of evaluation. Without FILE, check reads
the file of the running manager or /etc/opensm/qos-policy.conf, and show prints the policy in
force, with the number of ports in each group. A FILE may use groups of the running manager's
pgrp_policy_file.

ibsmctl why SOURCE DESTINATION shows the rule that applies to a path.

Exit status: 0 success, 1 the file has errors, 2 wrong usage.`,
		Example: `  ibsmctl qos check --strict qos-policy.conf
  ibsmctl qos show
  ibsmctl why host-01 host-02 --service-id 0x1060cbc
`}
	verb := c.verbsOf(cmd)
	check := verb("check [FILE]", "report errors and warnings", 0, 1, c.check)
	check.Long = `
Reports errors and warnings in a QoS policy file, each with its line. Without FILE it checks the
file of the running manager, or /etc/opensm/qos-policy.conf.`
	check.Flags().BoolVar(&c.strict, "strict", false, "treat warnings as errors")
	verb("show [FILE]", "the rules, levels and groups of FILE; without FILE the policy in force", 0, 1, c.show)
	return cmd
}

// runningFile is the file that a key of the running manager names, or the default one.
func runningFile(ctx context.Context, a *asker, key *conf.Key) (string, error) {
	err := a.open(ctx)
	switch {
	case a.Client == nil:
		return "", err
	case a.Remote():
		return "", a.notHere(key.Name)
	}
	var running struct{ Settings []ctl.Setting }
	if err == nil && a.Get(ctx, "/v1/config", nil, &running) == nil {
		for _, s := range running.Settings {
			if s.Key == key.Name {
				return s.Value, nil
			}
		}
	}
	return key.Default, nil
}

// readQoS reads a file, which may name groups of another one.
func readQoS(name string, others *portgroups.Set) (policy *qos.Policy, src []byte, errors, warnings diag.List,
	err error) {
	if src, err = readUpTo(name, qos.MaxFile+1); err != nil {
		return nil, nil, nil, nil, err
	}
	policy, errors, warnings = qos.Parse(others, name, src)
	return policy, src, errors, warnings, nil
}

// read reads a file. Where it has errors, it is read once more with the groups of the running manager's
// pgrp_policy_file, which it may name.
func (c *qosCommand) read(ctx context.Context, name string) (policy *qos.Policy, src []byte, errors, warnings diag.List,
	err error) {
	policy, src, errors, warnings, err = readQoS(name, nil)
	if len(errors) == 0 || err != nil {
		return policy, src, errors, warnings, err
	}
	file, unread := runningFile(ctx, c.asker, conf.PortGroupsFile.Key())
	if unread != nil {
		return policy, src, errors, warnings, nil
	}
	text, unread := readUpTo(file, policyfile.MaxFile+1)
	groups, _, _ := portgroups.Parse(file, text)
	if unread != nil || len(groups) == 0 {
		return policy, src, errors, warnings, nil
	}
	return readQoS(name, portgroups.NewSet(groups))
}

// check prints what is wrong, each with its line.
func (c *qosCommand) check(ctx context.Context, args []string) error {
	var name string
	var err error
	if len(args) > 0 {
		name = args[0]
	} else if name, err = runningFile(ctx, c.asker, conf.QoSPolicyFile.Key()); err != nil {
		return err
	}
	_, src, errors, warnings, err := c.read(ctx, name)
	if err != nil {
		return err
	}
	findings := []ctl.Finding{}
	var text bytes.Buffer
	lines := strings.Split(string(src), "\n")
	for _, l := range []struct {
		severity string
		list     diag.List
	}{{"error", errors}, {"warning", warnings}} {
		for _, e := range l.list {
			f := ctl.Finding{File: e.File, Line: e.Line, Column: e.Col, Severity: l.severity, Text: e.Text}
			findings = append(findings, f)
			fmt.Fprintln(&text, printable(f.String()))
			if e.Line > 0 && e.Line <= len(lines) && strings.TrimSpace(lines[e.Line-1]) != "" {
				fmt.Fprintf(&text, "    %s\n",
					cut(printable(strings.ReplaceAll(strings.TrimSuffix(lines[e.Line-1], "\r"), "\t", " ")), 120))
			}
		}
	}
	if err := c.print(findings, &text); err != nil {
		return err
	}
	switch {
	case len(errors) > 0:
		return fmt.Errorf("%s has %s: a manager would not apply it", name, plural.Of(len(errors), "error"))
	case c.strict && len(warnings) > 0:
		return fmt.Errorf("%s has %s", name, plural.Of(len(warnings), "warning"))
	}
	return nil
}

// show prints a policy.
func (c *qosCommand) show(ctx context.Context, args []string) error {
	shown := &ctl.QoS{}
	if len(args) > 0 {
		policy, _, errors, _, err := c.read(ctx, args[0])
		if err != nil {
			return err
		}
		if policy == nil {
			return cli.WithHint(errors[0], "ibsmctl qos check "+args[0]+" shows all errors")
		}
		shown = ctl.NewQoS(policy)
	} else {
		if err := c.open(ctx); err != nil {
			return err
		}
		if err := c.Get(ctx, "/v1/qos", nil, shown); err != nil {
			return c.explain(err)
		}
	}
	var text bytes.Buffer
	rules := table{columns: []column{{head: "RULE", right: true}, {head: "LINE"}, {head: "REQUESTS"}, {head: "LEVEL"},
		{head: "USE", yields: true}}}
	for i := range shown.Rules {
		r := &shown.Rules[i]
		rules.add(fmt.Sprint(i+1), lineOf(r.Position), printable(r.Conditions), printable(levelText(r.Level, r.Limits)),
			printable(r.Use))
	}
	rules.add("", lineOf(shown.Default.Position), "all others",
		printable(levelText(shown.Default.Name, shown.Default.Limits)), printable(shown.Default.Use))
	if err := rules.print(&text, terminalWidth(c.stdout)); err != nil {
		return err
	}
	if len(shown.Groups) > 0 {
		fmt.Fprintln(&text)
		groups := table{
			columns: []column{{head: "GROUP"}, {head: "LINE"}, {head: "PORTS", right: true},
				{head: "LISTS", yields: true}},
		}
		for _, g := range shown.Groups {
			ports := "-"
			if g.Ports != nil {
				ports = fmt.Sprint(*g.Ports)
			}
			groups.add(printable(g.Name), lineOf(g.Position), ports, printable(g.Lists))
		}
		if err := groups.print(&text, terminalWidth(c.stdout)); err != nil {
			return err
		}
	}
	return c.print(shown, &text)
}

// lineOf is the line of a position file:line:column, or all of it.
func lineOf(position string) string {
	if parts := strings.Split(position, ":"); len(parts) > 2 {
		return parts[len(parts)-2]
	}
	return position
}

// levelText is a level, which has a name unless it is that of a line of qos-ulps.
func levelText(name, limits string) string {
	if name == "" {
		return limits
	}
	return name + ": " + limits
}
