package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/plural"
)

// partitionsCommand is the options of ibsmctl partitions.
type partitionsCommand struct {
	*asker
	file, key, node       string
	flags                 []string
	dryRun, write, strict bool
	force, byName         bool
	wait                  time.Duration

	callers         bool // export: what programs have put
	options         callerOptions
	adding, leaving []string // members
}

func newPartitions(a *asker) *cobra.Command {
	c := &partitionsCommand{asker: a}
	cmd := &cobra.Command{Use: "partitions [VERB] [OPTION]... [ARGUMENT]...",
		Short: "check, show, edit and apply partitions.conf, and put partitions beside it",
		Long: `
Checks, shows and edits partitions.conf, and applies it to the running manager. If a manager
runs, check also reports conflicts with the subnet.

list, the default, shows all partitions; with --server and several profiles it shows a line for
each subnet. put, rm, set with --add and --remove, show NAME, undo CHANGE and export --callers are
about partitions that the manager stores beside the file, as programs put them: no file is edited,
and nothing has to be applied. The file takes precedence. Their MEMBER is a port GUID or a host
name, full unless =limited or =both follows, and ,index0 puts the P_Key at index 0. put makes the
partition have these members and options and no others; with --file FILE it sends FILE, in the
JSON of the control protocol, and - is standard input.

NAME may also be a P_Key. A MEMBER is a port GUID, a host name (all ports of the host; needs a
running manager), or ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS, SELF, followed by =full, =limited or
=both; without a suffix the partition's defmember applies. Some members are an extension that OpenSM
does not accept: a pattern of host names such as node[001-100] or rack1-*, a range of GUIDs, @GROUP,
and with --names a host name. They are written unchanged and resolved in each sweep; export prints
FILE with port GUIDs in their place, for OpenSM.
A FLAG is, for example, ipoib, rate=7 or defmember=full.

Exit status: 0 success, 1 the file has errors or the change is refused, 2 wrong usage.`,
		Example: `  ibsmctl partitions check --strict partitions.conf
  ibsmctl partitions create storage --key 0x10 --flag ipoib --flag rate=16 SELF=full
  ibsmctl partitions add storage host-02=full 0xb83fd20300a00020 && ibsmctl partitions apply
  ibsmctl partitions put tenant-7 --ipoib host-03 host-04=limited
  ibsmctl partitions show tenant-7 --wait 30s
`}
	f := cmd.PersistentFlags()
	f.StringVarP(&c.file, "file", "f", "",
		"use `FILE` (default: the manager's; if no manager runs, partitions.conf in /etc/opensm or /etc/rdma)")
	f.StringVar(&c.key, "key", "", "create: P_Key `KEY` (default: the lowest free one)")
	f.StringArrayVar(&c.flags, "flag", nil, "create: a `FLAG`; may be repeated")
	f.BoolVarP(&c.dryRun, "dry-run", "n", false, "print the changed file instead of writing it; apply: show the plan")
	f.BoolVarP(&c.write, "write", "w", false, "fmt: write the file")
	f.BoolVar(&c.force, "force", false, "check, apply: accept dangerous lines")
	f.BoolVar(&c.byName, "names", false,
		"add, create: write host names, which OpenSM does not accept, instead of port GUIDs")
	f.BoolVar(&c.strict, "strict", false,
		"check: treat warnings as errors; put, set: refuse unknown hosts and full P_Key tables")
	f.StringVar(&c.node, "node", "", "show without FILE: the ports of `NODE` only; list: its partitions")
	f.DurationVar(&c.wait, "wait", time.Minute, "apply: wait at most `TIME`; show NAME: wait until the ports have the P_Key")
	c.callerOptions(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c.stdout, c.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
		return c.list(cmd.Context(), nil)
	}
	a.completeNodeOption(cmd)
	c.addVerbs(cmd)
	return cmd
}

func (c *partitionsCommand) addVerbs(cmd *cobra.Command) {
	verb := c.verbsOf(cmd)
	undo := func(ctx context.Context, args []string) error {
		if len(args) > 0 {
			return c.undoCaller(ctx, args[0])
		}
		return c.onFile(c.undo)(ctx, nil)
	}
	edit := func(use, short string, least, most int) {
		what, _, _ := strings.Cut(use, " ")
		verb(use, short, least, most, func(ctx context.Context, args []string) error {
			return c.onFile(func(ctx context.Context) error { return c.edit(ctx, what, args) })(ctx, nil)
		})
	}
	verb("check [FILE]", "report errors and warnings", 0, 1, c.onFile(c.check))
	verb("show [FILE|NAME]", "partitions of FILE; members of NAME; without both P_Keys of the ports", 0, 1,
		func(ctx context.Context, args []string) error {
			switch {
			case len(args) == 0 && c.file == "":
				return c.showRunning(ctx)
			case c.file == "" && isPartitionName(args[0]):
				return c.showCaller(ctx, args[0], cmd.PersistentFlags().Changed("wait"))
			}
			return c.onFile(c.show)(ctx, args)
		})
	verb("fmt [FILE]", "print the file in a standard format", 0, 1, c.onFile(c.format))
	cli.Takes(verb("export [FILE]", "print the file for OpenSM, with port GUIDs for names", 0, 1,
		func(ctx context.Context, args []string) error {
			if c.callers {
				return c.exportCallers(ctx)
			}
			return c.onFile(c.export)(ctx, args)
		}), append(common, "file", "callers")...)
	edit("create NAME [MEMBER]...", "create a partition, with --key and --flag", 1, -1)
	edit("delete NAME", "delete a partition with all its lines", 1, 1)
	edit("rename NAME NEW", "rename a partition", 2, 2)
	edit("add NAME MEMBER...", "add members, or change their membership", 2, -1)
	edit("remove NAME MEMBER...", "remove members", 2, -1)
	verb("set NAME [FLAG]...", "set flags; with --add, --remove change members beside the file", 1, -1,
		func(ctx context.Context, args []string) error {
			if len(c.adding)+len(c.leaving) > 0 {
				return c.patchCaller(ctx, args)
			}
			if len(args) < 2 {
				return cli.UsageError("expected FLAG, or --add or --remove", "see ibsmctl partitions set --help")
			}
			return c.onFile(func(ctx context.Context) error { return c.edit(ctx, "set", args) })(ctx, nil)
		})
	edit("unset NAME FLAG...", "remove flags", 2, -1)
	c.addCallerVerbs(verb)
	verb("undo [CHANGE]", "undo the last edit of the file by ibsmctl, or a change beside it", 0, 1, undo)
	cli.Takes(verb("diff [FILE]", "show what FILE, or the manager's file, would change", 0, 1, c.diff),
		append(common, "file")...)
	cli.Takes(verb("apply", "apply the manager's file, and wait until the ports have the P_Keys", 0, 0, c.apply),
		append(common, "dry-run", "force", "wait")...)
	why := cli.Takes(verb("why PORT NAME", "the line that decides a port's membership", 2, 2, c.why), common...)
	why.ValidArgsFunction = c.completeNodes(1)
}

// onFile is a verb that works on a file, which the first of rest may name.
func (c *partitionsCommand) onFile(do func(ctx context.Context) error) func(ctx context.Context, rest []string) error {
	return func(ctx context.Context, rest []string) (err error) {
		if len(rest) > 0 {
			c.file = rest[0]
		}
		if c.file == "" {
			if c.file, err = c.partitionFile(ctx); err != nil {
				return err
			}
		}
		return do(ctx)
	}
}

// readPartitions reads a file; the error reports a missing file.
func readPartitions(name string) (*partitions.File, error) {
	src, err := readUpTo(name, partitions.MaxFile+1)
	if err != nil {
		return nil, err
	}
	return partitions.Parse(name, src), nil
}

// check prints what is wrong, each with its line.
func (c *partitionsCommand) check(ctx context.Context) error {
	f, err := readPartitions(c.file)
	if err != nil {
		return err
	}
	policy, errs, warnings := f.Policy()
	findings := []ctl.Finding{}
	var text bytes.Buffer
	lines := strings.Split(f.Src, "\n")
	add := func(severity string, e diag.Error) {
		findings = append(findings, ctl.Finding{File: e.File, Line: e.Line, Column: e.Col, Severity: severity,
			Text: e.Text})
	}
	for _, e := range errs {
		add("error", e)
	}
	if policy != nil {
		for _, e := range policy.Foreign {
			add("note", e)
		}
	}
	for _, e := range warnings {
		if policy != nil && slices.Contains(policy.Dangers, e) {
			add("danger", e)
		} else {
			add("warning", e)
		}
	}
	more, err := c.fabricFindings(ctx, f, findings)
	if err != nil {
		return err
	}
	findings = append(findings, more...)
	dangers := slices.ContainsFunc(findings, func(f ctl.Finding) bool { return f.Severity == "danger" })
	worse := 0 // than notes
	for _, e := range findings {
		if e.Severity != "note" {
			worse++
		}
		fmt.Fprintln(&text, e)
		if e.Line > 0 && e.Line <= len(lines) && len(lines[e.Line-1]) > 0 {
			fmt.Fprintf(&text, "    %s\n",
				cut(printable(strings.ReplaceAll(strings.TrimSuffix(lines[e.Line-1], "\r"), "\t", " ")), 120))
		}
	}
	if err := c.print(findings, &text); err != nil {
		return err
	}
	switch {
	case len(errs) > 0:
		return fmt.Errorf("%s has %s: a manager would not apply it", c.file, plural.Of(len(errs), "error"))
	case dangers && !c.force:
		return cli.WithHint(fmt.Errorf("%s has dangerous lines, which give access to other ports than they appear to",
			c.file), "fix the lines, or use --force")
	case c.strict && worse > 0:
		return fmt.Errorf("%s has %s", c.file, plural.Of(worse, "warning"))
	}
	return nil
}

// partition is one of show for programs.
type partition struct {
	Name    string   `json:"name"`
	PKey    string   `json:"pkey"`
	IPoIB   bool     `json:"ipoib"`
	Members []string `json:"members"`
	Groups  []group  `json:"groups"`
	Place   string   `json:"place,omitempty"`
}

// group is a multicast group of a partition.
type group struct {
	MGID string  `json:"mgid"`
	MTU  int     `json:"mtu"`
	Gbps float64 `json:"gbps"`
	SL   uint8   `json:"sl"`
}

func (c *partitionsCommand) show(context.Context) error {
	f, err := readPartitions(c.file)
	if err != nil {
		return err
	}
	policy, errs, _ := f.Policy()
	if err := errs.Err(); err != nil {
		return err
	}
	list := []partition{}
	t := table{
		columns: []column{{head: "NAME"}, {head: "P_KEY"}, {head: "GROUPS", right: true},
			{head: "MEMBERS", yields: true}},
	}
	for i := range policy.Partitions {
		p := &policy.Partitions[i]
		one := partition{Name: p.Name, PKey: p.Key.String(), IPoIB: p.IPoIB, Members: []string{}, Groups: []group{}}
		if p.Position.Line > 0 {
			one.Place = p.Position.String()
		}
		shown := map[string]bool{} // a file may say again what holds without it
		for _, m := range p.Members {
			if text := m.String(); !shown[text] {
				shown[text] = true
				one.Members = append(one.Members, text)
			}
		}
		for _, g := range p.Groups {
			one.Groups = append(one.Groups, group{g.MGID.String(), g.MTU.Bytes(), g.Rate.Gbps(), g.SL})
		}
		list = append(list, one)
		t.add(printable(one.Name), one.PKey, fmt.Sprint(len(one.Groups)), strings.Join(one.Members, " "))
	}
	var text bytes.Buffer
	if err := t.print(&text, terminalWidth(c.stdout)); err != nil {
		return err
	}
	return c.print(list, &text)
}

func (c *partitionsCommand) format(context.Context) error {
	f, err := readPartitions(c.file)
	if err != nil {
		return err
	}
	if _, errs, _ := f.Policy(); len(errs) > 0 {
		return errs
	}
	if c.write {
		done, err := change(c.file, func(f *partitions.File) ([]byte, error) { return f.Format(), nil })
		if err != nil {
			return err
		}
		return c.report(done)
	}
	_, err = c.stdout.Write(f.Format())
	return err
}

func (c *partitionsCommand) undo(context.Context) error {
	if err := undo(c.file); err != nil {
		return err
	}
	return c.report(fileChanged)
}

// edit changes the file.
func (c *partitionsCommand) edit(ctx context.Context, what string, args []string) (err error) {
	if what == "create" || what == "add" || what == "remove" {
		if args, err = c.resolveMembers(ctx, what, args); err != nil {
			return err
		}
	}
	how := func(f *partitions.File) ([]byte, error) {
		edited, err := c.edited(f, what, args[0], args[1:])
		if err != nil {
			return nil, err
		}
		return []byte(edited.Src), nil
	}
	if !c.dryRun {
		done, err := change(c.file, how)
		if err != nil {
			return err
		}
		return c.report(done)
	}
	f, err := readPartitions(c.file)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = partitions.Parse(c.file, nil), nil
	}
	if err != nil {
		return err
	}
	text, err := how(f)
	if err == nil {
		_, err = c.stdout.Write(text)
	}
	return err
}

// report prints what happened to the file, and that it is not applied yet.
func (c *partitionsCommand) report(done changed) error {
	text := map[changed]string{
		fileKept:    "%s is unchanged\n",
		fileChanged: "%s changed; apply it with ibsmctl partitions apply\n",
		fileMade: "%s created; ibsmctl partitions diff shows what apply would change.\n" +
			"Ports that it does not list can reach only the manager. To keep all ports connected, add:\n" +
			"  ibsmctl partitions create Default --key 0x7fff --flag ipoib ALL=full\n",
	}[done]
	_, err := fmt.Fprintf(c.stdout, text, c.file)
	return err
}

// edited is the file after a change.
func (c *partitionsCommand) edited(f *partitions.File, what, name string, args []string) (*partitions.File, error) {
	switch what {
	case "delete":
		return f.Delete(name)
	case "rename":
		return f.Rename(name, args[0])
	case "set", "unset":
		edit := (*partitions.File).Set
		if what == "unset" {
			edit = (*partitions.File).Unset
		}
		for _, flag := range args {
			var err error
			if f, err = edit(f, name, flag); err != nil {
				return nil, err
			}
		}
		return f, nil
	}
	members := make([]partitions.Member, len(args))
	for i, text := range args {
		var err error
		if members[i], err = partitions.ParseMember(text); err != nil {
			return nil, err
		}
	}
	switch what {
	case "add":
		return f.Add(name, members...)
	case "remove":
		return f.Remove(name, members...)
	}
	var key mad.PKey
	if _, err := fmt.Sscan(cmp.Or(c.key, "0"), &key); err != nil {
		return nil, cli.UsageError(fmt.Sprintf("--key %q: expected a number such as 0x10", c.key), "")
	}
	return f.Create(name, key, c.flags, members...)
}
