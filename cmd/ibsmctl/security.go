package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
)

func newSecurity(a *asker) *cobra.Command {
	cmd := &cobra.Command{Use: "security [VERB] [OPTION]...", Short: "protection of the subnet from its own hosts",
		RunE: a.asking(a.security), Long: `
Checks how well the subnet is protected from hosts whose users have root: keys, managers, the SA
and partitions. For each rule that fails it shows the ports, their number, and the setting to
change. docs/security.md explains the rules. new, export and import create the secret in keys_file
and copy it between managers.

Exit status: 0 all rules hold, 1 a rule fails or the manager does not answer.`,
		Example: `  ibsmctl security
  ibsmctl security --json
  ibsmctl security offenders`}
	cmd.AddCommand(&cobra.Command{Use: "offenders [OPTION]...", Short: "ports that sent forbidden packets",
		Args: cli.Args(0, 0), RunE: a.asking(a.offenders), Long: `
Lists the ports that sent forbidden packets, the latest first: requests that the SA dropped
because of a wrong or missing key, a foreign SGID or a rate limit, and manager packets that only
another port may send.`})
	cmd.AddCommand(&cobra.Command{Use: "plan [OPTION]...", Short: "show what security tenants would change",
		Args: cli.Args(0, 0), RunE: a.asking(func(ctx context.Context, _ []string, stdout io.Writer) error {
			return a.plan(ctx, query("security", "tenants"), stdout)
		}), Long: `
Makes the manager discover the subnet and plan a heavy sweep with security tenants. Shows each Set
that the sweep would send, and the settings that change. Nothing is written or stored. If
security tenants cannot be used, it shows the reason.`})
	cmd.AddCommand(&cobra.Command{Use: "rotate [OPTION]...", Short: "give all ports their next M_Keys",
		Args: cli.Args(0, 0), RunE: a.asking(a.rotate), Long: `
With m_key_per_port, gives each port its next M_Key, rack by rack. Links and routes do not change.
ibsmctl security shows the progress. If the manager stops meanwhile, rotation continues after its
restart, or in the manager that takes over.`})
	addSecretVerbs(cmd)
	return cmd
}

// errInsecure is the failure of a rule.
var errInsecure = errors.New("the subnet is not protected from its own hosts")

func (a *asker) security(ctx context.Context, _ []string, stdout io.Writer) error {
	s := &ctl.Security{}
	if err := a.Get(ctx, "/v1/security", nil, s); err != nil {
		// a standby has no rules, but may lack what it needs as master
		if !errors.Is(err, ctl.ErrUnreachable) && !a.json {
			_, _ = a.printTroubles(ctx, stdout) // err says why there is no more
		}
		return a.explain(err)
	}
	if a.json {
		if err := printJSON(stdout, s); err != nil {
			return err
		}
	} else if err := a.printSecurity(s, stdout); err != nil {
		return err
	}
	if !s.Holds {
		return cli.WithHint(errInsecure, "see the rules that fail, and docs/security.md")
	}
	return nil
}

// printSecurity prints the rules, and below those that fail what to do.
func (a *asker) printSecurity(s *ctl.Security, stdout io.Writer) error {
	var text bytes.Buffer
	for i := range s.Rules {
		r := &s.Rules[i]
		fmt.Fprintf(&text, "%-13s %-24s %s\n", r.State, r.Rule, printable(r.Text))
		if r.State != ctl.RuleFails {
			continue
		}
		if names := a.securityPorts(r); names != "" {
			fmt.Fprintf(&text, "%38s at %s\n", "", names)
		}
		fmt.Fprintf(&text, "%38s %s\n", "", printable(r.Do))
	}
	_, err := stdout.Write(text.Bytes())
	return err
}

// securityPorts names some of the ports at which a rule fails.
func (a *asker) securityPorts(r *ctl.SecurityRule) string {
	const most = 4
	names := make([]string, 0, most)
	for i := range r.Ports[:min(len(r.Ports), most)] {
		p := &r.Ports[i]
		names = append(names, fmt.Sprintf("%s port %d", printable(a.names.of(p.Node, p.Desc)), p.Port))
	}
	if more := len(r.Ports) - len(names) + r.More; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

func (a *asker) rotate(ctx context.Context, _ []string, stdout io.Writer) error {
	done := &ctl.Rotated{}
	if err := a.Post(ctx, "/v1/security/rotate", nil, done); err != nil {
		return a.explain(err)
	}
	if a.json {
		return writeJSON(stdout, done)
	}
	_, err := fmt.Fprintf(stdout, "ports get M_Keys number %d; see ibsmctl security\n", done.Number)
	return err
}

func (a *asker) offenders(ctx context.Context, _ []string, stdout io.Writer) error {
	t := &table{columns: []column{{head: "PORT"}, {head: "NODE", yields: true}, {head: "LID", right: true},
		{head: "REASON"}, {head: "TIMES", right: true}, {head: "LAST"}, {head: "PACKET", yields: true}}}
	return rows(ctx, a, "/v1/offenders", nil, stdout, t, func(o *ctl.Offender) {
		last := ""
		if !o.Last.IsZero() {
			last = o.Last.Local().Format(time.DateTime)
		}
		t.add(o.Port, printable(a.names.of(o.Node, o.Desc)), lid(o.LID), o.Reason, strconv.FormatUint(o.Count, 10),
			last, printable(o.What))
	})
}
