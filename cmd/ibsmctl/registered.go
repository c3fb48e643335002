package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
)

func newGroups(a *asker) *cobra.Command {
	return &cobra.Command{Use: "groups [OPTION]... [MGID]", Short: "multicast groups and their members",
		Args: cli.Args(0, 1), RunE: a.asking(a.groups), Long: `
Lists the multicast groups: MGID, MLID, P_Key, Q_Key, MTU, rate, SL, and the number of full
members (which keep the group alive) and of all members. With an MGID it lists the members of
the group: port, join state and name. A second list shows ports whose last join was rejected,
with the reason. --json prints the first list only.`}
}

func (a *asker) groups(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) == 1 {
		t := &table{columns: []column{{head: "PORT"}, {head: "MEMBER"}, {head: "NODE", yields: true}}}
		if err := rows(ctx, a, "/v1/members", query("group", args[0]), stdout, t, func(m *ctl.Member) {
			state := strings.Join(m.State, ", ")
			if m.Proxy {
				state += ", by proxy"
			}
			t.add(shortGID(m.Port), state, printable(a.names.of(m.Node, m.Desc)))
		}); err != nil {
			return err
		}
		return a.refusals(ctx, args[0], stdout)
	}
	t := &table{columns: []column{{head: "MGID"}, {head: "MLID"}, {head: "P_KEY"}, {head: "Q_KEY"},
		{head: "MTU", right: true},
		{head: "GBIT/S", right: true}, {head: "SL", right: true}, {head: "MEMBERS", right: true}, {head: ""}}}
	err := rows(ctx, a, "/v1/groups", nil, stdout, t, func(g *ctl.Group) {
		kept := ""
		if g.WellKnown {
			kept = "configured"
		}
		t.add(shortGID(g.MGID), fmt.Sprintf("0x%04x", uint16(g.MLID)), g.PKey, g.QKey, strconv.Itoa(g.MTU),
			strconv.FormatFloat(g.Rate, 'f', -1, 64),
			strconv.Itoa(int(g.SL)), fmt.Sprintf("%d/%d", g.Full, g.Members), kept)
	})
	if err != nil {
		return err
	}
	return a.refusals(ctx, "", stdout)
}

// refusals lists refused requests to join a group, "" for all groups, below the list before.
func (a *asker) refusals(ctx context.Context, group string, stdout io.Writer) error {
	if a.json {
		return nil
	}
	t := &table{
		columns: []column{{head: "REFUSED"}, {head: "NODE", yields: true}, {head: "MGID"}, {head: "TIMES", right: true},
			{head: "LAST"}, {head: "REASON", yields: true}},
	}
	found := false
	err := ctl.All(ctx, a.Client, http.MethodGet, "/v1/refusals", query("group", group), func(r *ctl.Refusal) error {
		found = true
		t.add(r.Port, printable(a.names.of(r.Node, r.Desc)), shortGID(r.MGID), strconv.FormatUint(r.Count, 10),
			r.Last.Local().Format(time.DateTime), printable(r.Reason))
		return nil
	})
	if err != nil || !found {
		return a.explain(err)
	}
	if _, err := io.WriteString(stdout, "\n"); err != nil {
		return err
	}
	return t.print(stdout, terminalWidth(stdout))
}

func newServices(a *asker) *cobra.Command {
	return &cobra.Command{Use: "services [OPTION]...", Short: "registered services", Args: cli.Args(0, 0),
		RunE: a.asking(a.services), Long: `
Lists the registered services: ID, GID and name of the port, P_Key, expiry of the lease, and
service name.`}
}

func (a *asker) services(ctx context.Context, _ []string, stdout io.Writer) error {
	t := &table{columns: []column{{head: "ID"}, {head: "GID"}, {head: "NODE", yields: true}, {head: "P_KEY"},
		{head: "ENDS"}, {head: "NAME", yields: true}}}
	return rows(ctx, a, "/v1/services", nil, stdout, t, func(s *ctl.Service) {
		ends := "never"
		if s.Ends != 0 {
			ends = time.Unix(s.Ends, 0).Format(time.DateTime)
		}
		t.add(s.ID, shortGID(s.GID), printable(a.names.of(s.Node, s.Desc)), s.PKey, ends, printable(s.Name))
	})
}

func newSubscriptions(a *asker) *cobra.Command {
	return &cobra.Command{Use: "subscriptions [OPTION]...", Short: "event subscriptions", Args: cli.Args(0, 0),
		RunE: a.asking(a.subscriptions), Long: `
Lists the event subscriptions (InformInfo): name, LID and queue pair of the subscriber, trap
number and type, producer, and source.`}
}

func (a *asker) subscriptions(ctx context.Context, _ []string, stdout io.Writer) error {
	t := &table{columns: []column{{head: "SUBSCRIBER"}, {head: "NODE", yields: true}, {head: "LID", right: true},
		{head: "QP", right: true},
		{head: "TRAP"}, {head: "TYPE"}, {head: "PRODUCER"}, {head: "FROM"}}}
	return rows(ctx, a, "/v1/subscriptions", nil, stdout, t, func(s *ctl.Subscription) {
		trap := s.Trap
		if !s.Generic {
			trap = "vendor " + trap
		}
		t.add(shortGID(s.Subscriber), printable(a.names.of(s.Node, s.Desc)), lid(s.LID),
			strconv.FormatUint(uint64(s.QPN), 10), trap, s.Type, s.Producer, shortGID(s.Issuers))
	})
}

// rows asks for a list and prints it, as a table that row fills.
func rows[T any](ctx context.Context, a *asker, path string, filter map[string][]string, stdout io.Writer, t *table,
	row func(*T)) error {
	if a.json {
		return a.copy(ctx, http.MethodGet, path, filter, stdout)
	}
	err := ctl.All(ctx, a.Client, http.MethodGet, path, filter, func(v *T) error {
		row(v)
		return nil
	})
	if err != nil {
		return a.explain(err)
	}
	return t.print(stdout, terminalWidth(stdout))
}

func newSAStats(a *asker) *cobra.Command {
	return &cobra.Command{Use: "sa-stats [OPTION]...", Short: "statistics of subnet administration",
		Args: cli.Args(0, 0), RunE: a.asking(a.saStats), Long: `
Shows statistics of subnet administration: responses by attribute and status, dropped
requests, packets received on QP1, response times (median and 99th percentile), limits that
were reached, and counters of registrations and events. A response time starts when the request
is received. It ends when the response to a Get is sent, the response to a GetTable is
complete, or a registration is stored and programmed into switches and ports.`}
}

func (a *asker) saStats(ctx context.Context, _ []string, stdout io.Writer) error {
	st := &ctl.SAStats{}
	if shown, err := a.value(ctx, "/v1/sa-stats", nil, st, stdout); shown || err != nil {
		return err
	}
	return printSAStats(stdout, st)
}

func printSAStats(stdout io.Writer, st *ctl.SAStats) error {
	replies := &table{columns: []column{{head: "ATTRIBUTE"}, {head: "STATUS"}, {head: "COUNT", right: true}}}
	for _, r := range st.Replies {
		replies.add(r.Attribute, r.Status, strconv.FormatUint(r.Count, 10))
	}
	for _, d := range st.Dropped {
		replies.add("", "dropped: "+d.Reason, strconv.FormatUint(d.Count, 10))
	}
	packets := &table{
		columns: []column{{head: "PACKETS ON QP1"}, {head: "RECEIVED", right: true}, {head: "DROPPED", right: true}},
	}
	for _, p := range st.Packets {
		packets.add(p.Kind, strconv.FormatUint(p.Received, 10), strconv.FormatUint(p.Dropped, 10))
	}
	times := &table{columns: []column{{head: "RESPONSES TO"}, {head: "COUNT", right: true}, {head: "P50", right: true},
		{head: "P99", right: true}}}
	for _, w := range st.Times {
		times.add(w.Way, strconv.FormatUint(w.Count, 10), shortTime(w.P50), shortTime(w.P99))
	}
	for _, t := range []*table{replies, packets, times} {
		if t == replies || len(t.rows) > 0 {
			if err := t.print(stdout, terminalWidth(stdout)); err != nil {
				return err
			}
			fmt.Fprintln(stdout) // an error comes again
		}
	}
	x, r := &st.Transfers, &st.Registrations
	_, err := fmt.Fprintf(stdout,
		`RMPP transfers: %d sent, %d received, %d failed, %d rejected, %d in progress; %d packets sent again
registrations: %d rejected at a limit, %d groups of ports at their share of MLIDs, %d leases expired, %d ports removed at their restart, %d after a long absence; replies: %d late, %d without GUIDs, %d waiting
events: %d, %d dropped; reports: %d sent, %d unanswered, %d dropped, %d waiting
`,
		x.Sent, x.Received, x.Failed, x.Refused, x.UnderWay, x.Repeated,
		r.Full, r.MLIDShare, r.Expired, r.Reset, r.Absent, r.Late, r.Unwritten, r.RepliesWaiting,
		r.Notices, r.NoticesDropped, r.Reports, r.Unanswered, r.ReportsDropped, r.ReportsWaiting)
	if err == nil && r.Defects > 0 {
		_, err = fmt.Fprintf(stdout,
			"%d changes contradict the registrations: this is a bug in ibsm, please report it\n", r.Defects)
	}
	return err
}
