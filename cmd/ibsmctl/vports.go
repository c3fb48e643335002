package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/vports"
)

func newVPorts(a *asker) *cobra.Command {
	c := &cobra.Command{Use: "vports VERB", Short: "virtual functions of adapters", Long: `
Finds out how an adapter addresses its virtual functions: probe asks one, and changes nothing.`}
	c.AddCommand(newVPortsProbe(a))
	return c
}

func newVPortsProbe(a *asker) *cobra.Command {
	c := &cobra.Command{Use: "probe PORT [OPTION]...", Short: "find out how an adapter addresses its virtual functions",
		Args: cli.Args(1, 1), Long: `
Asks an adapter's port for its vPorts (virtual functions) in every layout of attribute
modifiers that is possible, and prints which one it has, with all requests and answers.
No open document says which layouts adapters have: please send the output to the maintainers.

It changes nothing: all requests are Gets. It sends them itself, from a port of this host, and
works with any subnet manager or none; it needs the permission to use /dev/infiniband/umad*.
The adapter needs a virtual function, best with a GUID.

PORT is a LID such as 17 or 0x11; a directed route such as 0,1,5 from the port of this host, where
0 is that port itself; or a port GUID of 0x and 16 digits, for which the SA is asked.

The output contains names, GUIDs, LIDs and P_Keys, but no M_Keys.`, Example: `  ibsmctl vports probe 0 --device mlx5_0
  ibsmctl vports probe 17 > report.txt
`}
	f := c.Flags()
	s := smpSource{}
	f.StringVar(&s.device, "device", "", "send from the port `NAME` of this host, such as mlx5_0:1 or ib0 (default: the first port with a link)")
	f.BoolVar(&s.simulator, "ibsim", false, "send from a node of a running ibsim or ibfabric serve; IBSIM_SOCKNAME and SIM_HOST choose it")
	f.StringVar(&s.keyFile, "m-key-file", "", "read from `FILE` the M_Key of ports that answer only to it")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		to, err := parseTarget(args[0])
		if err != nil {
			return err
		}
		return a.probe(cmd.Context(), s, to, cmd.OutOrStdout())
	}
	return c
}

// target is the port that SMPs are for.
type target struct {
	text  string
	guid  mad.GUID // 0: it is given by lid, or else by route
	lid   mad.LID
	route mad.Route
}

// parseTarget reads a LID, a directed route or a GUID.
func parseTarget(text string) (t target, err error) {
	t.text = text
	wrong := cli.UsageError(fmt.Sprintf("%q is not a port", text),
		"expected a LID such as 17, a directed route such as 0,1,5, or a port GUID of 0x and 16 digits")
	if text == "0" || strings.Contains(text, ",") {
		for i, field := range strings.Split(text, ",") {
			n, err := strconv.ParseUint(field, 10, 8)
			switch longer, ok := t.route.Then(uint8(n)); {
			case err != nil, (i == 0) != (n == 0), n == 255, !ok:
				return t, wrong
			case i > 0:
				t.route = longer
			}
		}
		return t, nil
	}
	n, err := strconv.ParseUint(text, 0, 64)
	switch hexadecimal := strings.HasPrefix(text, "0x"); {
	case err != nil:
		return t, wrong
	case hexadecimal && len(text) > len("0xffff"):
		if t.guid = mad.GUID(n); t.guid == 0 {
			return t, wrong
		}
	case n > 0xffff || !mad.LID(n).IsUnicast():
		return t, wrong
	default:
		t.lid = mad.LID(n)
	}
	return t, nil
}

// probe probes a port, and prints the report.
func (a *asker) probe(ctx context.Context, s smpSource, to target, stdout io.Writer) error {
	link, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer link.close()
	if to.guid != 0 {
		if to.lid, err = link.find(ctx, to.guid); err != nil {
			return err
		}
	}
	r, err := vports.Probe(func(attr mad.AttrID, mod uint32) (vports.Answer, error) {
		return link.get(ctx, to, attr, mod)
	})
	if err != nil {
		return fmt.Errorf("port %s: %w", to.text, err)
	}
	if a.json {
		return printJSON(stdout, probeJSON(r))
	}
	return r.Write(stdout)
}

// probed is a report in JSON.
type probed struct {
	Conclusion string         `json:"conclusion"`
	Layouts    []string       `json:"layouts"` // that nothing speaks against
	NodeGUID   string         `json:"node_guid"`
	Name       string         `json:"description"`
	VendorID   uint32         `json:"vendor_id"`
	DeviceID   uint16         `json:"device_id"`
	Revision   uint32         `json:"revision"`
	LID        uint16         `json:"lid"`
	State      string         `json:"state"`
	CapMask    uint32         `json:"capability_mask"`
	CapMask2   uint16         `json:"capability_mask2"`
	VPortCap   uint16         `json:"vport_cap"`
	IndexTop   uint16         `json:"vport_index_top"`
	Enabled    bool           `json:"virtualization_enabled"`
	Requests   []probeRequest `json:"requests"`
	Tests      []probeTest    `json:"tests"`
}

type probeRequest struct {
	Attribute string `json:"attribute"`
	Modifier  uint32 `json:"modifier"`
	Answered  bool   `json:"answered"`
	Status    uint16 `json:"status"`
	Data      string `json:"data,omitempty"` // 64 bytes, in hexadecimal digits
}

type probeTest struct {
	VPort     uint16 `json:"vport"`
	Attribute string `json:"attribute"`
	Layout    string `json:"layout"`
	Verdict   string `json:"verdict"`
}

func probeJSON(r *vports.Report) probed {
	p := probed{Conclusion: r.Conclusion, Layouts: []string{}, NodeGUID: r.Node.NodeGUID().String(), Name: r.Desc,
		VendorID: r.Node.VendorID(), DeviceID: r.Node.DeviceID(), Revision: r.Node.Revision(), LID: uint16(r.LID),
		State: r.State.String(), CapMask: uint32(r.CapMask), CapMask2: uint16(r.CapMask2),
		VPortCap: r.Virtual.VPortCap(), IndexTop: r.Virtual.VPortIndexTop(), Enabled: r.Virtual.VirtualizationEnable(),
		Requests: []probeRequest{}, Tests: []probeTest{}}
	for _, l := range r.Layouts {
		p.Layouts = append(p.Layouts, l.String())
	}
	for _, q := range r.Requests {
		shown := probeRequest{Attribute: smp.AttrName(q.Attr), Modifier: q.Mod, Answered: q.Answered,
			Status: uint16(q.Status)}
		if q.Answered && q.Status == mad.StatusOK {
			shown.Data = hex.EncodeToString(q.Data[:])
		}
		p.Requests = append(p.Requests, shown)
	}
	for _, t := range r.Tests {
		p.Tests = append(p.Tests, probeTest{t.Index, smp.AttrName(t.Attr), t.Layout.String(), t.Verdict.String()})
	}
	return p
}

// readMKey reads the M_Key in a file.
func readMKey(name string) (mad.MKey, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	key, err := strconv.ParseUint(strings.TrimSpace(string(text)), 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: expected an M_Key such as 0x1122334455667788, and nothing else", name)
	}
	return mad.MKey(key), nil
}
