package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ibsm/ctl"
)

const groupsUsage = `Usage: ibsmctl groups [OPTION]... [MGID]

Lists the multicast groups: MGID, MLID, P_Key, Q_Key, MTU, rate, SL, and how many
members there are, of which so many keep the group alive. With an MGID the members of
that group: port, how it is a member, and name. ibsmctl --help describes the options.
`

const servicesUsage = `Usage: ibsmctl services [OPTION]...

Lists the services that ports have registered: ID, GID and name of the port, P_Key,
when the lease ends, and name. ibsmctl --help describes the options.
`

const subscriptionsUsage = `Usage: ibsmctl subscriptions [OPTION]...

Lists who wants to be told of what: the subscriber's name, LID and queue pair, the trap
and its type, what issues it, and from where. ibsmctl --help describes the options.
`

const saStatsUsage = `Usage: ibsmctl sa-stats [OPTION]...

Shows what subnet administration has answered, by attribute and status, and what it has
not; how long half of the answers took at most, and 99 in 100; which limits were reached,
and what became of registrations and events. The time of an answer begins when the request
has been received. It ends for a get when the answer is sent, for a table when it is made,
and for what is to be registered when disk, forwarding tables and ports have it.
ibsmctl --help describes the options.
`

func runGroups(ctx context.Context, args []string, stdout io.Writer) error {
	a := newAsker("groups", groupsUsage)
	if done, err := a.parse(args, 0, 1, stdout); done || err != nil {
		return err
	}
	if len(a.args) == 1 {
		t := &table{columns: []column{{head: "PORT"}, {head: "MEMBER"}, {head: "NODE", yields: true}}}
		return rows(ctx, a, "/v1/members", query("group", a.args[0]), stdout, t, func(m *ctl.Member) {
			state := strings.Join(m.State, ", ")
			if m.Proxy {
				state += ", by proxy"
			}
			t.add(shortGID(m.Port), state, printable(a.names.of(m.Node, m.Desc)))
		})
	}
	t := &table{columns: []column{{head: "MGID"}, {head: "MLID"}, {head: "P_KEY"}, {head: "Q_KEY"}, {head: "MTU", right: true},
		{head: "GBIT/S", right: true}, {head: "SL", right: true}, {head: "MEMBERS", right: true}, {head: ""}}}
	return rows(ctx, a, "/v1/groups", nil, stdout, t, func(g *ctl.Group) {
		kept := ""
		if g.WellKnown {
			kept = "configured"
		}
		t.add(shortGID(g.MGID), fmt.Sprintf("0x%04x", uint16(g.MLID)), g.PKey, g.QKey, strconv.Itoa(g.MTU), strconv.FormatFloat(g.Rate, 'f', -1, 64),
			strconv.Itoa(int(g.SL)), fmt.Sprintf("%d/%d", g.Full, g.Members), kept)
	})
}

func runServices(ctx context.Context, args []string, stdout io.Writer) error {
	a := newAsker("services", servicesUsage)
	if done, err := a.parse(args, 0, 0, stdout); done || err != nil {
		return err
	}
	t := &table{columns: []column{{head: "ID"}, {head: "GID"}, {head: "NODE", yields: true}, {head: "P_KEY"}, {head: "ENDS"}, {head: "NAME", yields: true}}}
	return rows(ctx, a, "/v1/services", nil, stdout, t, func(s *ctl.Service) {
		ends := "never"
		if s.Ends != 0 {
			ends = time.Unix(s.Ends, 0).Format(time.DateTime)
		}
		t.add(s.ID, shortGID(s.GID), printable(a.names.of(s.Node, s.Desc)), s.PKey, ends, printable(s.Name))
	})
}

func runSubscriptions(ctx context.Context, args []string, stdout io.Writer) error {
	a := newAsker("subscriptions", subscriptionsUsage)
	if done, err := a.parse(args, 0, 0, stdout); done || err != nil {
		return err
	}
	t := &table{columns: []column{{head: "SUBSCRIBER"}, {head: "NODE", yields: true}, {head: "LID", right: true}, {head: "QP", right: true},
		{head: "TRAP"}, {head: "TYPE"}, {head: "PRODUCER"}, {head: "FROM"}}}
	return rows(ctx, a, "/v1/subscriptions", nil, stdout, t, func(s *ctl.Subscription) {
		trap := s.Trap
		if !s.Generic {
			trap = "vendor's " + trap
		}
		t.add(shortGID(s.Subscriber), printable(a.names.of(s.Node, s.Desc)), lid(s.LID), strconv.FormatUint(uint64(s.QPN), 10), trap, s.Type, s.Producer, shortGID(s.Issuers))
	})
}

// rows asks for a list and prints it, as a table that row fills.
func rows[T any](ctx context.Context, a *asker, path string, filter map[string][]string, stdout io.Writer, t *table, row func(*T)) error {
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

func runSAStats(ctx context.Context, args []string, stdout io.Writer) error {
	a := newAsker("sa-stats", saStatsUsage)
	if done, err := a.parse(args, 0, 0, stdout); done || err != nil {
		return err
	}
	st := &ctl.SAStats{}
	if shown, err := a.value(ctx, "/v1/sa-stats", nil, st, stdout); shown || err != nil {
		return err
	}
	t := &table{columns: []column{{head: "ATTRIBUTE"}, {head: "ANSWER"}, {head: "COUNT", right: true}}}
	for _, r := range st.Replies {
		t.add(r.Attribute, r.Status, strconv.FormatUint(r.Count, 10))
	}
	for _, d := range st.Dropped {
		t.add("", "none: "+d.Reason, strconv.FormatUint(d.Count, 10))
	}
	if err := t.print(stdout, terminalWidth(stdout)); err != nil {
		return err
	}
	if len(st.Times) > 0 {
		times := &table{columns: []column{{head: "ANSWERS TO"}, {head: "COUNT", right: true}, {head: "P50", right: true}, {head: "P99", right: true}}}
		for _, w := range st.Times {
			times.add(w.Way, strconv.FormatUint(w.Count, 10), shortTime(w.P50), shortTime(w.P99))
		}
		fmt.Fprintln(stdout) // an error comes again
		if err := times.print(stdout, terminalWidth(stdout)); err != nil {
			return err
		}
	}
	x, r := &st.Transfers, &st.Registrations
	_, err := fmt.Fprintf(stdout, `
transfers by RMPP: %d sent, %d received, %d failed, %d refused, %d under way; %d times sent again
registrations: %d refused at a limit, %d leases ended, %d ports in INIT, %d absent too long; replies: %d late, %d without GUIDs, %d wait
events: %d, %d dropped; reports: %d sent, %d unanswered, %d dropped, %d wait
`,
		x.Sent, x.Received, x.Failed, x.Refused, x.UnderWay, x.Repeated,
		r.Full, r.Expired, r.Reset, r.Absent, r.Late, r.Unwritten, r.RepliesWaiting,
		r.Notices, r.NoticesDropped, r.Reports, r.Unanswered, r.ReportsDropped, r.ReportsWaiting)
	if err == nil && r.Defects > 0 {
		_, err = fmt.Fprintf(stdout, "%d changes contradict what is registered: this is a defect, please report it\n", r.Defects)
	}
	return err
}
