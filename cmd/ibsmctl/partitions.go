package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/partitions"

	"github.com/spf13/pflag"
)

const partitionsUsage = `ibsmctl partitions checks, shows and edits partitions.conf, and applies it to the running
manager.

Usage:
  ibsmctl partitions check [FILE]                 report errors and warnings; if a manager
                                                  runs, also conflicts with the subnet
  ibsmctl partitions show FILE                    partitions, members and groups
  ibsmctl partitions fmt [FILE]                   print the file in a standard format
  ibsmctl partitions create NAME [MEMBER]...      create a partition, with --key and --flag
  ibsmctl partitions delete NAME                  delete a partition with all its lines
  ibsmctl partitions rename NAME NEW              rename a partition
  ibsmctl partitions add NAME MEMBER...           add members, or change their membership
  ibsmctl partitions remove NAME MEMBER...        remove members
  ibsmctl partitions set NAME FLAG...             set flags: ipoib, rate=7, defmember=full
  ibsmctl partitions unset NAME FLAG...           remove flags
  ibsmctl partitions undo                         undo the last edit

  ibsmctl partitions show [--node NODE]           the P_Keys of the ports, by index
  ibsmctl partitions diff [FILE]                  show what FILE, or the manager's file,
                                                  would change
  ibsmctl partitions apply [--wait TIME]          apply the manager's file, and wait until
                                                  the ports have the P_Keys (1m)
  ibsmctl partitions why PORT NAME                the line that decides a port's membership

NAME may also be a P_Key. A MEMBER is a port GUID or ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS,
SELF, with =full, =limited or =both; without a suffix the partition's defmember applies.

Options:
  -f, --file FILE   file to use (default: the manager's; if none runs,
                    /etc/opensm/partitions.conf)
  -n, --dry-run     print the changed file, write nothing; apply: show the plan
      --key KEY     create: the P_Key (default: the lowest free one)
      --flag FLAG   create: a flag; may be repeated
  -w, --write       fmt: write the file
      --strict      check: treat warnings as errors
      --json        check, show, diff, apply, why: output for programs
  -h, --help        print this help
See ibsmctl --help for --socket and --node-name-map, where a manager is asked.

Exit status: 0 success, 1 the file has errors or the change is refused, 2 wrong usage.

Examples:
  ibsmctl partitions check --strict partitions.conf
  ibsmctl partitions create storage --key 0x10 --flag ipoib --flag rate=16 SELF=full
  ibsmctl partitions add storage 0xb83fd20300a00020=full && ibsmctl partitions apply
`

// partitionsCommand is the options of ibsmctl partitions, and where its output goes.
type partitionsCommand struct {
	file, key                   string
	flags                       []string
	dryRun, write, strict, json bool
	socket                      string
	stdout                      io.Writer
}

// partitionVerbs are what ibsmctl partitions does.
var partitionVerbs = []string{"check", "show", "fmt", "create", "delete", "rename", "add", "remove", "set", "unset", "undo", "diff", "apply", "why"}

// runPartitions carries out "ibsmctl partitions".
func runPartitions(ctx context.Context, args []string, stdout io.Writer) error {
	hint := describes("partitions")
	if done, err := askedPartitions(ctx, args, stdout); done {
		return err
	}
	c := &partitionsCommand{stdout: stdout}
	flags := pflag.NewFlagSet("partitions", pflag.ContinueOnError)
	flags.StringVarP(&c.file, "file", "f", "", "")
	flags.StringVar(&c.key, "key", "0", "")
	flags.StringArrayVar(&c.flags, "flag", nil, "")
	flags.BoolVarP(&c.dryRun, "dry-run", "n", false, "")
	flags.BoolVarP(&c.write, "write", "w", false, "")
	flags.BoolVar(&c.strict, "strict", false, "")
	flags.BoolVar(&c.json, "json", false, "")
	flags.StringVar(&c.socket, "socket", "", "")
	for _, name := range []string{"node", "node-name-map"} { // of show without a file
		flags.String(name, "", "")
	}
	if done, err := parse(flags, args, stdout, partitionsUsage); done {
		return err
	}
	if flags.NArg() == 0 {
		return &usageError{"partitions: expected a verb: " + strings.Join(partitionVerbs, ", "), hint}
	}
	what, rest := flags.Arg(0), flags.Args()[1:]
	bounds, known := map[string][2]int{
		"check": {0, 1}, "show": {0, 1}, "fmt": {0, 1}, "undo": {0, 0}, "delete": {1, 1}, "rename": {2, 2},
		"create": {1, 1 << 16}, "add": {2, 1 << 16}, "remove": {2, 1 << 16}, "set": {2, 16}, "unset": {2, 16},
	}[what]
	switch {
	case !known:
		return unknown("verb of partitions", what, partitionVerbs, hint)
	case len(rest) < bounds[0] || len(rest) > bounds[1]:
		return &usageError{fmt.Sprintf("partitions %s: wrong number of arguments, %d", what, len(rest)), hint}
	}
	if what == "show" && len(rest) == 0 && !flags.Changed("file") {
		i := slices.Index(args, what)
		return showRunning(ctx, slices.Concat(args[:i], args[i+1:]), stdout)
	}
	if bounds[1] == 1 && what != "delete" && len(rest) == 1 {
		c.file = rest[0]
	}
	if c.file == "" {
		var err error
		if c.file, err = partitionFile(ctx, c.socket); err != nil {
			return err
		}
	}
	switch what {
	case "check":
		return c.check(ctx)
	case "show":
		return c.show()
	case "fmt":
		return c.format()
	case "undo":
		if err := undo(c.file); err != nil {
			return err
		}
		return c.report(fileChanged)
	}
	return c.edit(what, rest)
}

// askedPartitions carries out what asks a manager; done is false for the rest.
func askedPartitions(ctx context.Context, args []string, stdout io.Writer) (done bool, err error) {
	i := leading(args)
	if i == len(args) {
		return false, nil
	}
	rest := slices.Concat(args[:i], args[i+1:])
	switch args[i] {
	case "apply":
		return true, applyPartitions(ctx, rest, stdout)
	case "diff":
		return true, diffPartitions(ctx, rest, stdout)
	case "why":
		return true, whyPartitions(ctx, rest, stdout)
	}
	return false, nil
}

// readPartitions reads a file; the error reports a missing file.
func readPartitions(name string) (*partitions.File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	src, err := io.ReadAll(io.LimitReader(file, partitions.MaxFile+1))
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
	_, errs, warnings := f.Policy()
	findings := []ctl.Finding{}
	var text bytes.Buffer
	lines := strings.Split(f.Src, "\n")
	for _, list := range []struct {
		severity string
		list     diag.List
	}{{"error", errs}, {"warning", warnings}} {
		for _, e := range list.list {
			findings = append(findings, ctl.Finding{File: e.File, Line: e.Line, Column: e.Col, Severity: list.severity, Text: e.Text})
		}
	}
	findings = append(findings, fabricFindings(ctx, c.socket, f, findings)...)
	for _, e := range findings {
		fmt.Fprintln(&text, e)
		if e.Line > 0 && e.Line <= len(lines) && len(lines[e.Line-1]) > 0 {
			fmt.Fprintf(&text, "    %s\n", cut(printable(strings.ReplaceAll(strings.TrimSuffix(lines[e.Line-1], "\r"), "\t", " ")), 120))
		}
	}
	if err := c.print(findings, &text); err != nil {
		return err
	}
	switch {
	case len(errs) > 0:
		return fmt.Errorf("%s has %s: a manager would not apply it", c.file, several(len(errs), "error"))
	case c.strict && len(findings) > 0:
		return fmt.Errorf("%s has %s", c.file, several(len(findings), "warning"))
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

func (c *partitionsCommand) show() error {
	f, err := readPartitions(c.file)
	if err != nil {
		return err
	}
	policy, errs, _ := f.Policy()
	if err := errs.Err(); err != nil {
		return err
	}
	list := []partition{}
	t := table{columns: []column{{head: "NAME"}, {head: "P_KEY"}, {head: "GROUPS", right: true}, {head: "MEMBERS", yields: true}}}
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

func (c *partitionsCommand) format() error {
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

// edit changes the file.
func (c *partitionsCommand) edit(what string, args []string) error {
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
	if _, err := fmt.Sscan(c.key, &key); err != nil {
		return nil, &usageError{fmt.Sprintf("partitions create: --key %q: expected a number such as 0x10", c.key), ""}
	}
	return f.Create(name, key, c.flags, members...)
}

// print prints a result for programs or for people.
func (c *partitionsCommand) print(result any, text *bytes.Buffer) error {
	if c.json {
		e := json.NewEncoder(c.stdout)
		e.SetIndent("", "  ")
		return e.Encode(result)
	}
	_, err := c.stdout.Write(text.Bytes())
	return err
}
