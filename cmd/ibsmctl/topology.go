package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"ibsm/atomicfile"
	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/topo/cabling"
	"ibsm/topo/net"
)

// topologyCommand is the options of ibsmctl topology.
type topologyCommand struct {
	*asker
	fabric, output, format string
	held                   bool
}

// planFormats are those that learn writes.
var planFormats = []string{"ibsm", "topoconfig"}

func newTopology(a *asker) *cobra.Command {
	c := &topologyCommand{asker: a}
	cmd := &cobra.Command{Use: "topology VERB [OPTION]... [ARGUMENT]...",
		Short: "compare the cables with a plan of them", Long: `
Writes a plan of the cables, and compares cables with a plan. Each difference is reported once,
however many cables it involves: swapped cables, cables shifted by one port, a replaced device.

learn writes the cables of the subnet as a plan. check compares the subnet with PLAN; without PLAN
it shows the differences from the manager's topo_config_file found by the last heavy sweep. diff
compares two files and needs no manager.

PLAN is a file written by learn, a topoconfig.conf of NVIDIA's UFM, or a topology file of
ibnetdiscover or ibsim.

Exit status: 0 all cables are as planned, 1 failure or cables differ, 2 wrong usage.`,
		Example: `  ibsmctl topology learn -o /etc/opensm/ibsm-topology.conf
  ibsmctl topology check
  ibsmctl topology diff plan.conf ibnetdiscover.out
`}
	f := cmd.PersistentFlags()
	f.StringVar(&c.fabric, "fabric", "",
		"learn, check: use the topology of `SPEC` instead of the manager's subnet: a file (ibnetdiscover, ibsim) or a generator such as fattree:k=8")
	f.StringVarP(&c.output, "output", "o", "", "learn: write to `FILE` instead of standard output")
	f.StringVar(&c.format, "format", "ibsm", "learn: write as `FORMAT`: ibsm or topoconfig (NVIDIA's UFM)")
	f.BoolVar(&c.held, "held", false, "learn: include cables that are held back")
	cli.Words(cmd, "format", planFormats...)
	verb := c.verbsOf(cmd)
	verb("learn", "write the cables of the subnet as a plan", 0, 0, c.learn)
	verb("check [PLAN]", "compare the subnet with a plan", 0, 1, c.check)
	onHost(verb("diff PLAN OTHER", "compare a file with a plan", 2, 2, c.diff), "files")
	return cmd
}

func (c *topologyCommand) learn(ctx context.Context, _ []string) error {
	format, err := oneOf("--format", c.format, planFormats)
	if err != nil {
		return err
	}
	present, err := c.present(ctx, c.held)
	if err != nil {
		return err
	}
	write := cabling.Write
	if format != planFormats[0] {
		write = cabling.WriteTopoconfig
	}
	var text bytes.Buffer
	if err := write(&text, present); err != nil {
		return err
	}
	if cmp.Or(c.output, "-") != "-" {
		return atomicfile.ReplaceLike(c.output, c.output, text.Bytes())
	}
	_, err = c.stdout.Write(text.Bytes())
	return err
}

func (c *topologyCommand) check(ctx context.Context, args []string) error {
	if len(args) == 0 && c.fabric == "" {
		return c.checkManager(ctx)
	}
	if len(args) == 0 {
		return cli.UsageError("--fabric needs a PLAN to compare with", "")
	}
	plan, err := readPlan(args[0])
	if err != nil {
		return err
	}
	present, err := c.present(ctx, true)
	if err != nil {
		return err
	}
	return c.show(ctl.CablingOf(cabling.Compare(plan, present)))
}

// checkManager shows what the manager has found.
func (c *topologyCommand) checkManager(ctx context.Context) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	r := &ctl.Cabling{}
	if err := c.Get(ctx, "/v1/topology", nil, r); err != nil {
		return c.explain(err)
	}
	if !r.Plan && len(r.HeldBack) == 0 && r.CutOff == 0 {
		return cli.WithHint(errors.New(r.Seen),
			"specify a PLAN, or set topo_config_file; ibsmctl topology learn writes a plan")
	}
	return c.show(r)
}

func (c *topologyCommand) diff(_ context.Context, args []string) error {
	plan, err := readPlan(args[0])
	if err != nil {
		return err
	}
	other, err := readPlan(args[1])
	if err != nil {
		return err
	}
	return c.show(ctl.CablingOf(cabling.Compare(plan, other)))
}

// show prints a comparison. The error says that it has differences.
func (c *topologyCommand) show(r *ctl.Cabling) error {
	var text bytes.Buffer
	for i := range r.Findings {
		fmt.Fprintln(&text, printable(r.Findings[i].Text))
	}
	if r.More > 0 {
		fmt.Fprintf(&text, "and %d more\n", r.More)
	}
	for i := range r.HeldBack {
		h := &r.HeldBack[i]
		why := "not in the plan"
		if h.Switch {
			why = "held_back_sw_file"
		}
		fmt.Fprintf(&text, "held back (%s): %s port %d - %s port %d\n", why, printable(c.called(&h.From)), h.From.Port,
			printable(c.called(&h.To)), h.To.Port)
	}
	if r.MoreHeld > 0 {
		fmt.Fprintf(&text, "and %d more held back\n", r.MoreHeld)
	}
	if r.Plan || r.CutOff > 0 {
		fmt.Fprintln(&text, r.Seen)
	}
	if err := c.print(r, &text); err != nil {
		return err
	}
	switch differences := len(r.Findings) + r.More; {
	case r.CutOff > 0:
		return errors.New("holding back all of them would cut the manager off from most of the subnet")
	case r.Other:
		return errors.New("the plan describes another subnet")
	case differences > 0:
		return errors.New("the cables are not as planned")
	}
	return nil
}

// called is the operator's name of a device.
func (c *topologyCommand) called(e *ctl.CableEnd) string {
	return cmp.Or(c.names.of(e.Node, e.Desc), e.Node)
}

// readPlan reads a plan.
func readPlan(name string) (*cabling.Cabling, error) {
	text, err := readUpTo(name, cabling.MaxFile+1)
	if err != nil {
		return nil, err
	}
	plan, err := cabling.Read(name, text)
	if plan != nil {
		plan.Warnings.Warn(os.Stderr)
	}
	return plan, err
}

// present are the cables of the manager's subnet, if held is set with those that are held back or cut off, or those of
// --fabric.
func (c *topologyCommand) present(ctx context.Context, held bool) (*cabling.Cabling, error) {
	if c.fabric != "" {
		n, err := loadNet(c.fabric)
		if err != nil {
			return nil, err
		}
		return cabling.Of(n), nil
	}
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	all := &subnetCabling{at: map[string]int32{}, names: c.names}
	err := ctl.All(ctx, c.Client, http.MethodGet, "/v1/nodes", nil, func(n *ctl.Node) error {
		i, err := all.device(n.GUID, n.Desc, n.Type)
		if last := uint8(n.Ports); err == nil && all.Devices[i].Type == mad.Switch &&
			cabling.WithoutConnector(n.VendorID, last, last) {
			all.Inner = append(all.Inner, cabling.End{Device: i, Port: last})
		}
		return err
	})
	if err != nil {
		return nil, c.explain(err)
	}
	err = ctl.All(ctx, c.Client, http.MethodGet, "/v1/links", nil, func(l *ctl.Link) error {
		end := func(e *ctl.End) ctl.CableEnd {
			return ctl.CableEnd{Node: e.Node, Desc: e.Desc, Type: e.Type, Port: e.Port}
		}
		return all.add(&ctl.Cable{From: end(&l.From), To: end(&l.To), Width: l.Width, Speed: l.Speed})
	})
	if err != nil || !held {
		return &all.Cabling, c.explain(err)
	}
	used := map[cabling.End]bool{}
	for i := range all.Cables {
		used[all.Cables[i].Ends[0]], used[all.Cables[i].Ends[1]] = true, true
	}
	err = ctl.All(ctx, c.Client, http.MethodGet, "/v1/cables", nil, func(l *ctl.Cable) error {
		from, err := all.device(l.From.Node, l.From.Desc, l.From.Type)
		if err != nil {
			return err
		}
		to, err := all.device(l.To.Node, l.To.Desc, l.To.Type)
		if err != nil || used[cabling.End{Device: from, Port: l.From.Port}] ||
			used[cabling.End{Device: to, Port: l.To.Port}] {
			return err
		}
		return all.add(l)
	})
	return &all.Cabling, c.explain(err)
}

// subnetCabling is the cables of the manager's subnet, as its replies have them.
type subnetCabling struct {
	cabling.Cabling
	at    map[string]int32 // devices by GUID
	names names
}

// device is the index of a device, which is a new one if no reply has had it before.
func (s *subnetCabling) device(guid, desc, typ string) (int32, error) {
	if i, is := s.at[guid]; is {
		return i, nil
	}
	g, err := mad.ParseGUID(guid)
	if err != nil {
		return 0, fmt.Errorf("the manager's reply: %w", err)
	}
	s.at[guid] = int32(len(s.Devices))
	s.Devices = append(s.Devices, cabling.Device{GUID: g, Name: s.names.of(guid, desc), Type: typesByName[typ]})
	return s.at[guid], nil
}

// add adds a cable.
func (s *subnetCabling) add(l *ctl.Cable) error {
	from, err := s.device(l.From.Node, l.From.Desc, l.From.Type)
	if err != nil {
		return err
	}
	to, err := s.device(l.To.Node, l.To.Desc, l.To.Type)
	if err != nil {
		return err
	}
	cable := cabling.Cable{Ends: [2]cabling.End{{Device: from, Port: l.From.Port}, {Device: to, Port: l.To.Port}}}
	cable.Width, cable.Speed, _ = net.ParseRate(l.Width + l.Speed)
	s.Cables = append(s.Cables, cable)
	return nil
}

// typesByName are the types of nodes by their names in replies.
var typesByName = map[string]mad.NodeType{mad.CA.String(): mad.CA, mad.Switch.String(): mad.Switch,
	mad.Router.String(): mad.Router}
