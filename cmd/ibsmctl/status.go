package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/plural"
)

func newStatus(a *asker) *cobra.Command {
	c := &cobra.Command{Use: "status [OPTION]...", Short: "state of the manager and summary of its subnet",
		Args: cli.Args(0, 0), Long: `
Shows the state of the manager, the result of its last heavy sweep, a summary of the
subnet, and the subnet managers in it. With --wait it first waits until the manager is running
and has either completed a heavy sweep as master or become a standby. The exit status is 1 if
this takes longer than TIME. With --server and several profiles it shows a line for each subnet;
the exit status is 1 if one does not answer.`}
	wait := c.Flags().Duration("wait", 0, "wait at most `TIME` for the manager, or 1m if no TIME is given")
	c.Flags().Lookup("wait").NoOptDefVal = "1m"
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		a.stderr = cmd.ErrOrStderr()
		all, err := a.profiles()
		switch {
		case err != nil:
			return err
		case len(all) > 1 && *wait > 0:
			return cli.UsageError("--wait waits for one subnet", "")
		case len(all) > 1:
			return a.statusOfEach(ctx, all, cmd.OutOrStdout())
		case *wait > 0:
			err = a.await(ctx, *wait, a.open)
		default:
			err = a.open(ctx)
		}
		if err != nil {
			return err
		}
		return a.status(ctx, cmd.OutOrStdout())
	}
	return c
}

// awaitPoll is how often --wait asks.
const awaitPoll = 100 * time.Millisecond

// await waits until the manager runs and has come up, as master or standby. While nobody answers, open chooses the
// manager anew: an instance may start later, and another manager may become master.
func (a *asker) await(ctx context.Context, most time.Duration, open func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(awaitPoll)
	defer tick.Stop()
	reason := errors.New("it has not answered")
	for {
		st := &ctl.Status{}
		err := open(ctx)
		if err == nil {
			err = a.Get(ctx, "/v1/status", nil, st)
		}
		switch {
		case ctx.Err() != nil:
		// NOT-ACTIVE is also the state before the first sweep
		case err == nil && (st.Sweep != nil || st.State == "STANDBY"):
			return nil
		case err == nil:
			reason = fmt.Errorf("the manager is %s, %s", cmp.Or(st.State, "without a port: "+st.Waiting), st.Phase)
		case !errors.Is(err, ctl.ErrUnreachable):
			return a.explain(err)
		default:
			reason = a.explain(err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not up after %v: %w", most, reason)
		case <-tick.C:
		}
	}
}

func (a *asker) status(ctx context.Context, stdout io.Writer) error {
	st := &ctl.Status{}
	if shown, err := a.value(ctx, "/v1/status", nil, st, stdout); shown || err != nil {
		return err
	}
	_, err := io.WriteString(stdout, statusText(st, time.Now()))
	return err
}

func statusText(st *ctl.Status, now time.Time) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s %s\n", name, printable(fmt.Sprintf(format, args...)))
	}
	for _, text := range st.Troubles() {
		b.WriteString(printable(text) + "\n")
	}
	line("manager", "ibsm %s, process %d, up for %v", st.Version, st.PID, now.Sub(st.Started).Round(time.Second))
	line("port", "%s", st.Where)
	if st.Waiting != "" {
		line("waiting", "%s", st.Waiting)
	}
	if st.OwnPort != "" {
		line("", "%s", st.OwnPort)
	}
	if st.State != "" {
		line("state", "%s; sweep: %s", st.State, st.Phase)
	}
	line("routing", "%s", routingText(st))
	if l := st.TreeLoop; l != nil {
		line("", "%s", l)
	}
	if st.SickLinksAvoided > 0 {
		line("sick links", "%s", sickText(st))
	}
	if st.Drained > 0 {
		line("drained", "%s", drainedText(st))
	}
	if st.Cabling != nil {
		line("cabling", "%s", st.Cabling)
	}
	if text := settingsText(st); text != "" {
		line("settings", "%s", text)
	}
	if s := st.Subnet; s != nil {
		line("subnet", "prefix %s, SM LID %d, generation %d", s.Prefix, s.SMLID, s.Generation)
		line("nodes", "%s, %s, %s%s", plural.Of(s.Switches, "switch"), plural.Of(s.CAs, "CA"),
			plural.Of(s.Routers, "router"), missing(s.Missing))
		line("ports", "%s; %s, %s", states(s.Ports), plural.Of(s.Links, "link"), plural.Of(s.LIDs, "LID"))
		if len(s.VPorts) > 0 {
			line("vPorts", "%s", states(s.VPorts))
		}
	}
	sweepLines(line, st.Sweep, now)
	for i, m := range st.SMs {
		name := "other SM"
		if i == 0 {
			name = "this SM"
		}
		line(name, "%s LID %d priority %d %s%s", m.GUID, m.LID, m.Priority, m.State, ignoredText(&m))
	}
	for _, a := range st.Alarms {
		line("ALARM", "%s: %s from %s %s (LID %d), the last %v ago", a.Kind, plural.Of(int(a.Count), "packet"), a.GUID,
			a.Where, a.LID, now.Sub(a.Last).Round(time.Second))
	}
	return b.String()
}

// sweepLines are the lines about the last heavy sweep; s may be nil.
func sweepLines(line func(name, format string, args ...any), s *ctl.SweepStatus, now time.Time) {
	if s != nil {
		result := "SUBNET UP"
		if !s.Up {
			result = "errors during initialization"
		}
		line("sweep", "%s %v ago, took %.3f s, Sets: %s, longest route %s", result, now.Sub(s.Ended).Round(time.Second),
			s.Seconds, s.Sets, plural.Of(s.Longest, "link"))
		if s.Failures+s.Cut+s.Lost > 0 {
			line("", "%s failed, %s disconnected, %s: see ibsmctl events", plural.Of(s.Failures, "Set"),
				plural.With(s.Cut, "pair of switch and LID is", "pairs of switch and LID are"),
				plural.With(s.Lost, "destination unreachable although cabled",
					"destinations unreachable although cabled"))
		}
		if s.ByRules != "" {
			line("", "%s", s.ByRules)
		}
		if s.CreditLoop > 0 {
			line("", "the routes have a credit loop of %s: see ibsmctl why", plural.Of(s.CreditLoop, "link"))
		}
	}
}

// ignoredText says that a manager does not apply.
func ignoredText(m *ctl.SM) string {
	if m.Ignored {
		return ", ignored: another sm_key, or not in allowed_sm_guids"
	}
	return ""
}

// settingsText says describes the partitions and settings in force, unless they are the manager's own.
func settingsText(st *ctl.Status) string {
	r := st.MirroredSettings
	if r == nil {
		return ""
	}
	text := "uses the partitions and settings of " + r.Of + " after a failover"
	if st.State == "MASTER" {
		text = "uses the partitions and settings of " + r.Of
	}
	if len(r.Differ) == 0 {
		return text + "; its own files are identical"
	}
	text += "; its own files differ in " + strings.Join(r.Differ, ", ")
	if st.State == "MASTER" {
		text += "; apply them with ibsmctl config reload"
	}
	return text
}

func missing(n int) string {
	if n == 0 {
		return ""
	}
	return "; " + plural.With(n, "node is unresponsive", "nodes are unresponsive")
}

// states is the number of ports in each state, the most first.
func states(ports map[string]int) string {
	names := make([]string, 0, len(ports))
	for name := range ports {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := names[i], names[j]
		return ports[a] > ports[b] || ports[a] == ports[b] && a < b
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", ports[name], name)
	}
	return strings.Join(names, ", ")
}

// sickText says how many links are out of use because they are sick.
func sickText(st *ctl.Status) string {
	text := plural.Of(st.SickLinksAvoided, "link") + " out of use"
	if st.SickLinksNeeded > 0 {
		text += fmt.Sprintf(", %d still needed", st.SickLinksNeeded)
	}
	return text + ": ibsmctl links sick"
}

// drainedText says how much is drained.
func drainedText(st *ctl.Status) string {
	var parts []string
	if n := st.Drained - st.DrainedPorts; n > 0 {
		parts = append(parts, plural.With(n, "switch", "switches"))
	}
	if st.DrainedPorts > 0 {
		parts = append(parts, plural.Of(st.DrainedPorts, "port"))
	}
	text := strings.Join(parts, ", ") + ": ibsmctl drain lists them"
	if st.StillNeeded > 0 {
		text += fmt.Sprintf("; routes still use %d", st.StillNeeded)
	}
	return text
}

// routingText says which routing engines are configured, and which is used.
func routingText(st *ctl.Status) string {
	chosen := strings.Join(st.Engines, ",")
	if st.Subnet == nil {
		if chosen == "" {
			return "no engine is configured: auto routes an unused subnet; routes in use are kept"
		}
		return "configured: " + chosen
	}
	text := st.RoutesText()
	if chosen != "" && chosen != text {
		text += "; configured: " + chosen
	}
	return text
}
