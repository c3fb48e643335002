package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/vports"
)

func newVPorts(a *asker) *cobra.Command {
	state := ""
	c := &cobra.Command{Use: "vports [OPTION]... [NAME|GUID]", Short: "virtual functions of adapters, and what keeps them down",
		Args: cli.Args(0, 1), Long: `
Lists the vPorts of adapters, which are their virtual functions: host, device, index, GUID, LID,
state, P_Keys, and why one is not Active. A LID in parentheses is that of the port or of another
vPort: packets for the vPort need a GRH. With NAME it lists those of a host, or of the hosts of a
pattern such as node[001-100]; with GUID the one that has it, or those behind a port or an adapter.
The vPort of a physical function is listed only if it is not as its port is.

Functions come up with the setting virt_enabled 2: see docs/virtual.md. Probe finds out how an
adapter addresses them, and changes nothing.`, Example: `  ibsmctl vports
  ibsmctl vports --state Down node7
  ibsmctl vports 0x0200000000000001
`}
	c.Flags().StringVar(&state, "state", "", "only vPorts in `STATE` Down, Initialize, Armed or Active")
	cli.Words(c, "state", portStates...)
	c.RunE = a.asking(func(ctx context.Context, args []string, stdout io.Writer) (err error) {
		if state != "" {
			if state, err = oneOf("--state", state, portStates); err != nil {
				return err
			}
		}
		name := ""
		if len(args) > 0 {
			name = args[0]
		}
		return a.vPorts(ctx, query("name", name, "state", state), stdout)
	})
	c.AddCommand(onHost(newVPortsProbe(a), "a port"))
	return c
}

// vPorts lists vPorts, one in each line.
func (a *asker) vPorts(ctx context.Context, q url.Values, stdout io.Writer) error {
	t := &table{columns: []column{{head: "HOST", yields: true}, {head: "DEVICE", yields: true},
		{head: "VPORT", right: true}, {head: "GUID"}, {head: "LID", right: true}, {head: "STATE"}, {head: "P_KEYS"},
		{head: "WHY", yields: true}}}
	return rows(ctx, a, "/v1/"+string(ctl.VPorts), q, stdout, t, func(v *ctl.VPort) {
		at := lid(v.LID)
		if v.Shared && at != "" {
			at = "(" + at + ")"
		}
		keys := v.PKeys[:min(len(v.PKeys), maxKeysShown)]
		if more := len(v.PKeys) - len(keys); more > 0 {
			keys = append(slices.Clone(keys), fmt.Sprintf("and %d more", more))
		}
		t.add(printable(v.Host), printable(v.Device), strconv.Itoa(int(v.Index)), v.GUID, at, v.State,
			strings.Join(keys, " "), printable(v.Reason))
	})
}

// maxKeysShown is how many P_Keys of a vPort a line has.
const maxKeysShown = 4

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
