package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/plural"
)

// callerOptions are the options of a partition that is put.
type callerOptions struct {
	pkey, note, qkey string
	ipoib            bool
	mtu              int
	rate             float64
	sl, scope        uint8
}

// callerOptions adds the options of verbs about partitions of the manager.
func (c *partitionsCommand) callerOptions(cmd *cobra.Command) {
	f, o := cmd.PersistentFlags(), &c.options
	f.BoolVar(&c.callers, "callers", false, "export: the partitions that programs have put, not the file")
	f.StringArrayVar(&c.adding, "add", nil, "set: add `MEMBER` to a partition beside the file; may be repeated")
	f.StringArrayVar(&c.leaving, "remove", nil, "set: remove `MEMBER` from it; may be repeated")
	f.StringVar(&o.pkey, "pkey", "auto", "put: P_Key `KEY`; auto is the one that it has, or the lowest free one")
	f.StringVar(&o.note, "note", "", "put: a `TEXT` of at most 128 bytes")
	f.Uint8Var(&o.sl, "sl", 0, "put: `SL` of paths in the partition")
	f.BoolVar(&o.ipoib, "ipoib", false, "put: with an IPoIB broadcast group")
	f.IntVar(&o.mtu, "mtu", 0, "put: MTU of the group in `BYTES`")
	f.Float64Var(&o.rate, "rate", 0, "put: rate of the group in `GBPS`")
	f.Uint8Var(&o.scope, "scope", 0, "put: `SCOPE` of the group")
	f.StringVar(&o.qkey, "qkey", "", "put: `QKEY` of the group")
}

// addCallerVerbs adds the verbs about partitions of the manager.
func (c *partitionsCommand) addCallerVerbs(verb func(use, short string, least, most int,
	do func(ctx context.Context, args []string) error) *cobra.Command) {
	cli.Takes(verb("list", "partitions of the file and beside it, and the state of their members", 0, 0, c.list),
		append(common, "node")...)
	cli.Takes(verb("history", "versions of the file and changes beside it, by time", 0, 0, c.history),
		append(common, "file")...)
	cli.Takes(verb("put NAME [MEMBER]...", "put a partition beside the file", 1, -1, c.putCaller),
		append(common, "file", "strict", "pkey", "note", "sl", "ipoib", "mtu", "rate", "scope", "qkey")...)
	cli.Takes(verb("rm NAME", "delete a partition beside the file", 1, 1, func(ctx context.Context, args []string) error {
		return c.change(ctx, http.MethodDelete, args[0], nil)
	}), common...)
}

// isPartitionName reports whether an argument is the name of a partition of the manager rather than a file.
func isPartitionName(arg string) bool {
	_, err := os.Stat(arg)
	return err != nil && !strings.Contains(arg, "/")
}

// callerMember is a member as an argument has it: GUID or HOST, then =full, =limited or =both, then ,index0.
func callerMember(arg string) (m ctl.PartitionMember) {
	rest, index0 := strings.CutSuffix(arg, ",index0")
	who, membership, _ := strings.Cut(rest, "=")
	m.Membership, m.Index0 = cmp.Or(membership, partitions.Full.String()), index0
	if guid, err := mad.ParseGUID(who); err == nil && strings.HasPrefix(who, "0x") {
		m.GUID = guid.String()
	} else {
		m.Host = who
	}
	return m
}

func callerMembers(args []string) []ctl.PartitionMember {
	all := make([]ctl.PartitionMember, len(args))
	for i, arg := range args {
		all[i] = callerMember(arg)
	}
	return all
}

// putCaller puts a partition.
func (c *partitionsCommand) putCaller(ctx context.Context, args []string) error {
	o := &c.options
	if c.file == "" {
		return c.change(ctx, http.MethodPut, args[0], &ctl.Partition{Name: args[0], PKey: o.pkey, Note: o.note,
			IPoIB: o.ipoib, MTU: o.mtu, Rate: o.rate, SL: o.sl, Scope: o.scope, QKey: o.qkey,
			Members: callerMembers(args[1:])})
	}
	if len(args) > 1 {
		return cli.UsageError("--file has the members", "")
	}
	const most = 16 << 20 // of a request
	text, err := []byte(nil), error(nil)
	if c.file == "-" {
		text, err = io.ReadAll(io.LimitReader(os.Stdin, most+1))
	} else {
		text, err = readUpTo(c.file, most+1)
	}
	if err != nil {
		return err
	}
	return c.changeBy(ctx, http.MethodPut, args[0], text)
}

// patchCaller adds and removes members.
func (c *partitionsCommand) patchCaller(ctx context.Context, args []string) error {
	if len(args) > 1 {
		return cli.UsageError("flags are for the file, --add and --remove for a program's partition",
			"see ibsmctl partitions set --help")
	}
	return c.change(ctx, http.MethodPatch, args[0], map[string][]ctl.PartitionMember{
		"add": callerMembers(c.adding), "remove": callerMembers(c.leaving)})
}

// change sends a change of a partition, and prints what has become of it. body is nil for none.
func (c *partitionsCommand) change(ctx context.Context, method, name string, body any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	return c.changeBy(ctx, method, name, text)
}

func (c *partitionsCommand) changeBy(ctx context.Context, method, name string, text []byte) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	strict := ""
	if c.strict {
		strict = "true"
	}
	done, err := c.ChangePartition(ctx, method, name, query("strict", strict), text)
	if err != nil {
		return c.explain(err)
	}
	var out bytes.Buffer
	what := "changed"
	switch {
	case method == http.MethodDelete && done.PKey == "":
		what = "is not there"
	case !done.Changed:
		what = "is unchanged"
	case done.Created:
		what = "created"
	case method == http.MethodDelete:
		what = "deleted"
	}
	fmt.Fprintf(&out, "%s %s", done.Name, what)
	if done.PKey != "" {
		fmt.Fprintf(&out, ": P_Key %s, change %d", done.PKey, done.Number)
	}
	if done.Changed {
		fmt.Fprintf(&out, "; %s put, %d removed", plural.Of(done.Put, "member"), done.Removed)
	}
	if !done.Mirrored {
		out.WriteString("; no standby has acknowledged it yet")
	}
	out.WriteByte('\n')
	return c.print(done, &out)
}

// listQuery is the query of list.
func (c *partitionsCommand) listQuery() url.Values {
	if guid, err := mad.ParseGUID(c.node); err == nil && strings.HasPrefix(c.node, "0x") {
		return query("guid", guid.String())
	}
	return query("host", c.node)
}

// list prints all partitions, or those of several subnets in a line each.
func (c *partitionsCommand) list(ctx context.Context, _ []string) error {
	if all, err := c.profiles(); err == nil && len(all) > 1 {
		return c.partitionsOfEach(ctx, all)
	}
	if err := c.open(ctx); err != nil {
		return err
	}
	q := c.listQuery()
	if c.json {
		return c.copy(ctx, http.MethodGet, "/v1/partition", q, c.stdout)
	}
	t := table{columns: []column{{head: "NAME"}, {head: "P_KEY"}, {head: "ORIGIN"}, {head: "CHANGE", right: true},
		{head: "MEMBERS", right: true}, {head: "STATE"}, {head: "NOTE", yields: true}}}
	err := ctl.All(ctx, c.Client, http.MethodGet, "/v1/partition", q, func(p *ctl.Partition) error {
		members := 0
		for _, n := range p.States {
			members += n
		}
		change := ""
		if p.Number > 0 {
			change = fmt.Sprint(p.Number)
		}
		t.add(printable(p.Name), p.PKey, p.Origin, change, fmt.Sprint(members), statesText(p),
			printable(cmp.Or(p.Note, p.Position)))
		return nil
	})
	if err != nil {
		return c.explain(err)
	}
	return t.print(c.stdout, terminalWidth(c.stdout))
}

// statesText is the state of a partition in words.
func statesText(p *ctl.Partition) string {
	var states []string
	for _, state := range slices.Sorted(maps.Keys(p.States)) {
		states = append(states, fmt.Sprintf("%d %s", p.States[state], state))
	}
	text := strings.Join(states, ", ")
	switch {
	case p.Ready && len(states) < 2:
		return "ready"
	case p.Ready:
		return "ready: " + text
	case p.Held != "":
		return "held"
	}
	return cmp.Or(text, "pending")
}

// showCaller prints a partition with the state of its members, when it is ready if that is awaited.
func (c *partitionsCommand) showCaller(ctx context.Context, name string, wait bool) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	if !wait {
		c.wait = 0
	}
	p, err := c.awaitReady(ctx, name)
	if err != nil {
		if failed := (*ctl.Failure)(nil); errors.As(err, &failed) {
			return cli.WithHint(err, cmp.Or(failed.Hint, "ibsmctl partitions list shows all; a file is named by its path"))
		}
		return c.explain(err)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s, P_Key %s, of a %s, %s\n", printable(p.Name), p.PKey, p.Origin, statesText(p))
	for _, text := range []string{p.Note, p.Position, p.Held} {
		if text != "" {
			fmt.Fprintln(&out, printable(text))
		}
	}
	t := table{columns: []column{{head: "MEMBER"}, {head: "MEMBERSHIP"}, {head: "PORT"}, {head: "STATE"},
		{head: "NODE"}, {head: "WHY", yields: true}}}
	for i := range p.Members {
		m := &p.Members[i]
		who, how := printable(cmp.Or(m.GUID, m.Host)), m.Membership
		if m.Index0 {
			how += ", index0"
		}
		if len(m.Ports) == 0 {
			t.add(who, how, "-", m.State, "-", printable(m.Why))
		}
		for _, port := range m.Ports {
			t.add(who, how, port.GUID, cmp.Or(port.State, m.State), printable(c.names.of(port.GUID, port.Desc)),
				printable(cmp.Or(port.Why, m.Why)))
		}
	}
	if len(p.Members) > 0 {
		if err := t.print(&out, terminalWidth(c.stdout)); err != nil {
			return err
		}
	}
	if err := c.print(p, &out); err != nil {
		return err
	}
	if c.wait > 0 && !p.Ready {
		return fmt.Errorf("partition %s is not ready after %v", name, c.wait)
	}
	return nil
}

// awaitReady asks for a partition until it is ready, if that is awaited. A terminal shows how far it is.
func (c *partitionsCommand) awaitReady(ctx context.Context, name string) (*ctl.Partition, error) {
	const longest = time.Minute // of a request
	width := terminalWidth(c.stderr)
	step := longest
	if width > 0 {
		step = time.Second
	}
	for until := time.Now().Add(c.wait); ; {
		left := min(time.Until(until), step)
		p, err := c.NamedPartition(ctx, name, int((max(left, 0)+time.Second-1)/time.Second))
		if width > 0 && c.wait > 0 {
			fmt.Fprint(c.stderr, "\r\x1b[K")
		}
		if err != nil || p.Ready || time.Until(until) <= 0 {
			return p, err
		}
		if width > 0 {
			text := fmt.Sprintf("%s: %s", printable(name), statesText(p))
			fmt.Fprint(c.stderr, text[:min(len(text), width-1)])
		}
	}
}

// exportCallers prints the partitions of programs as partitions.conf.
func (c *partitionsCommand) exportCallers(ctx context.Context) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	body, err := c.Open(ctx, http.MethodGet, "/v1/partitions/export", nil)
	if err != nil {
		return c.explain(err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		return fmt.Errorf("the reply is incomplete: %w", err)
	}
	return c.exportFile(ctx, partitions.Parse("the partitions of programs", text))
}
