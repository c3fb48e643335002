package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/ctl/profile"
	"ibsm/partitions/callers"
	"ibsm/plural"
)

// subnetPatience is how long each of several subnets has to answer.
const subnetPatience = time.Minute

// answer is what one of several subnets answers.
type answer[T any] struct {
	name    string // of the profile
	address string // of the manager; "" for none
	reply   T
	err     error
}

// askEach asks several subnets at once, and returns their answers in the order of the profiles.
func askEach[T any](ctx context.Context, a *asker, all []*profile.Profile,
	ask func(context.Context, *asker) (T, error)) []answer[T] {
	answers := make([]answer[T], len(all))
	var tasks sync.WaitGroup
	for i, p := range all {
		tasks.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, subnetPatience)
			defer cancel()
			one := &asker{json: a.json, mapped: a.mapped}
			to := &answers[i]
			to.name = p.Name
			if to.err = one.connectTo(ctx, p); to.err != nil {
				return
			}
			to.address = one.Address()
			defer one.Close()
			if to.err = one.getNames(ctx); to.err == nil {
				to.reply, to.err = ask(ctx, one)
			}
			if to.err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				to.err = fmt.Errorf("%s: no answer within %v", one.Address(), subnetPatience)
			}
		})
	}
	tasks.Wait()
	return answers
}

// unanswered is the error of several subnets of which some did not answer, nil if all did.
func unanswered[T any](answers []answer[T]) error {
	var names []string
	for i := range answers {
		if answers[i].err != nil {
			names = append(names, answers[i].name)
		}
	}
	if names == nil {
		return nil
	}
	return cli.WithHint(fmt.Errorf("no answer from %d of %s: %s", len(names), plural.Of(len(answers), "subnet"),
		strings.Join(names, ", ")), "ask one alone with --server NAME to see what to do")
}

// reasonText is why a subnet did not answer, in a line.
func reasonText(err error) string { return printable(strings.ReplaceAll(err.Error(), "\n", "; ")) }

// printEachJSON prints the replies of several subnets to a request.
func printEachJSON(stdout io.Writer, answers []answer[json.RawMessage]) error {
	type subnet struct {
		Name    string          `json:"name"`
		Manager string          `json:"manager,omitempty"`
		Reply   json.RawMessage `json:"reply,omitempty"`
		Error   string          `json:"error,omitempty"`
	}
	all := struct {
		Subnets []subnet `json:"subnets"`
	}{}
	for _, a := range answers {
		s := subnet{Name: a.name, Manager: a.address, Reply: a.reply}
		if a.err != nil {
			s.Reply, s.Error = nil, a.err.Error()
		}
		all.Subnets = append(all.Subnets, s)
	}
	if err := printJSON(stdout, all); err != nil {
		return err
	}
	return unanswered(answers)
}

// inJSON is a verb that prints JSON, for one of several subnets.
func inJSON(do func(context.Context, *asker, io.Writer) error) func(context.Context, *asker) (json.RawMessage, error) {
	return func(ctx context.Context, a *asker) (json.RawMessage, error) {
		var b bytes.Buffer
		err := do(ctx, a, &b)
		return b.Bytes(), err
	}
}

// statusOfEach prints a line for each of several subnets.
func (a *asker) statusOfEach(ctx context.Context, all []*profile.Profile, stdout io.Writer) error {
	if a.json {
		return printEachJSON(stdout, askEach(ctx, a, all, inJSON(func(ctx context.Context, a *asker,
			w io.Writer) error {
			return a.status(ctx, w)
		})))
	}
	answers := askEach(ctx, a, all, func(ctx context.Context, a *asker) (*ctl.Status, error) {
		st := &ctl.Status{}
		return st, a.Get(ctx, "/v1/status", nil, st)
	})
	t := table{columns: []column{{head: "NAME"}, {head: "STATE"}, {head: "NODES"}, {head: "PORTS"}, {head: "SWEEP"},
		{head: "MANAGER"}, {head: "NOTE"}}}
	for _, s := range answers {
		if s.err != nil {
			t.add(s.name, "-", "-", "-", "-", "-", reasonText(s.err))
			continue
		}
		t.add(append([]string{s.name}, statusCells(s.reply, s.address, time.Now())...)...)
	}
	if err := t.print(stdout, 0); err != nil {
		return err
	}
	return unanswered(answers)
}

// statusCells are the state of a subnet in a line.
func statusCells(st *ctl.Status, address string, now time.Time) []string {
	nodes, ports, sweep := "-", "-", "-"
	if s := st.Subnet; s != nil {
		nodes = fmt.Sprintf("%s, %s%s", plural.Of(s.Switches, "switch"), plural.Of(s.CAs, "CA"), missing(s.Missing))
		ports = states(s.Ports)
	}
	if s := st.Sweep; s != nil {
		sweep = "SUBNET UP"
		if !s.Up {
			sweep = "errors"
		}
		sweep += fmt.Sprintf(" %v ago", now.Sub(s.Ended).Round(time.Second))
	}
	notes := st.Troubles()
	if st.Waiting != "" {
		notes = append(notes, "waits: "+st.Waiting)
	}
	if n := len(st.Alarms); n > 0 {
		notes = append(notes, plural.Of(n, "alarm"))
	}
	state := st.State
	if state == "" {
		state = "WAITING"
	}
	return []string{state, nodes, printable(ports), sweep, address, printable(strings.Join(notes, "; "))}
}

// partitionsOfEach prints a line for each of several subnets: its partitions, in JSON, are those of the verb list.
func (c *partitionsCommand) partitionsOfEach(ctx context.Context, all []*profile.Profile) error {
	q := c.listQuery()
	if c.json {
		return printEachJSON(c.stdout, askEach(ctx, c.asker, all, inJSON(func(ctx context.Context, a *asker,
			w io.Writer) error {
			return a.copy(ctx, http.MethodGet, "/v1/partition", q, w)
		})))
	}
	type sum struct {
		file, callers, unready, members int
		states                          map[string]int
	}
	answers := askEach(ctx, c.asker, all, func(ctx context.Context, a *asker) (*sum, error) {
		s := &sum{states: map[string]int{}}
		return s, ctl.All(ctx, a.Client, http.MethodGet, "/v1/partition", q, func(p *ctl.Partition) error {
			if p.Origin == "file" {
				s.file++
			} else {
				s.callers++
			}
			if !p.Ready {
				s.unready++
			}
			for state, n := range p.States {
				s.members += n
				s.states[state] += n
			}
			return nil
		})
	})
	t := table{columns: []column{{head: "NAME"}, {head: "OF THE FILE", right: true}, {head: "OF PROGRAMS", right: true},
		{head: "MEMBERS", right: true}, {head: "STATE"}, {head: "MANAGER"}, {head: "NOTE"}}}
	for _, s := range answers {
		if s.err != nil {
			t.add(s.name, "-", "-", "-", "-", "-", reasonText(s.err))
			continue
		}
		state := "ready"
		if s.reply.unready > 0 {
			delete(s.reply.states, callers.Applied.String())
			state = fmt.Sprintf("%d not ready: %s", s.reply.unready, states(s.reply.states))
		}
		t.add(s.name, fmt.Sprint(s.reply.file), fmt.Sprint(s.reply.callers), fmt.Sprint(s.reply.members), state,
			s.address, "")
	}
	if err := t.print(c.stdout, 0); err != nil {
		return err
	}
	return unanswered(answers)
}

// whyOfEach prints a block for each of several subnets. A node that one of them has may be unknown to the others.
func (a *asker) whyOfEach(ctx context.Context, all []*profile.Profile, args []string, ask *pathOptions,
	stdout io.Writer) error {
	why := func(ctx context.Context, a *asker, w io.Writer) error { return a.why(ctx, args, ask, w) }
	if a.json {
		return printEachJSON(stdout, askEach(ctx, a, all, inJSON(why)))
	}
	answers := askEach(ctx, a, all, func(ctx context.Context, a *asker) (text bytes.Buffer, err error) {
		err = why(ctx, a, &text)
		return text, err
	})
	found, unknown := false, map[int]bool{}
	for i := range answers {
		s := &answers[i]
		f := (*ctl.Failure)(nil)
		unknown[i] = errors.As(s.err, &f) && f.Status == http.StatusNotFound
		found = found || s.err == nil
		if s.err != nil {
			fmt.Fprintf(stdout, "%s: %s\n", s.name, reasonText(s.err))
			continue
		}
		fmt.Fprintf(stdout, "%s: %s\n", s.name, s.address)
		for line := range strings.Lines(s.reply.String()) {
			fmt.Fprintf(stdout, "  %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	for i := range answers {
		if found && unknown[i] {
			answers[i].err = nil
		}
	}
	return unanswered(answers)
}
