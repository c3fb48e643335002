package vports_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/mad/vports"
	"ibsm/sim/fabric"
	"ibsm/sim/fabric/fabrictest"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// harness is a switch with two hosts: a station at the first asks the second.
type harness struct {
	t    *testing.T
	f    *fabric.Fabric
	at   *fabric.Station
	node int32
	sets int
}

func newHarness(t *testing.T, c *fabric.VPorts) *harness {
	t.Helper()
	h := &harness{t: t}
	n := nettest.Generate(t, "mesh:dims=1,hosts=2")
	n.Profile = net.RealDevices
	h.node = int32(len(n.Nodes) - 1)
	h.f = fabric.New(n, fabric.Config{
		Caps: func(node int32, _ *net.Node, caps *fabric.Caps) {
			if node == h.node {
				caps.VPorts = c
			}
		},
		OnSet: func(fabric.Set) { h.sets++ },
	})
	var err error
	if h.at, err = h.f.Attach(net.End{Node: h.node - 1, Port: 1}); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *harness) function(i int) fabric.VPort {
	return fabric.VPort{At: net.End{Node: h.node, Port: 1}, Index: uint16(i)}
}

func (h *harness) ask(attr mad.AttrID, mod uint32) (vports.Answer, error) {
	o := fabrictest.Ask(h.f, h.at, &txn.Request{Route: mad.MakeRoute(1, 2), Method: mad.MethodGet, Attr: attr,
		Mod: mod})
	return vports.Answer{Answered: o.Result == txn.Replied, Status: o.Status, Data: o.Data}, nil
}

// enable is what a manager does before the probe.
func (h *harness) enable() {
	o := fabrictest.Ask(h.f, h.at, &txn.Request{Route: mad.MakeRoute(1, 2), Method: mad.MethodSet,
		Attr: smp.AttrVirtualizationInfo, Data: [64]byte{4: 0x80}})
	if o.Status != mad.StatusOK {
		h.t.Fatal(o.Status)
	}
	h.sets = 0
}

// probe probes the port, and looks whether anything was set.
func (h *harness) probe() *vports.Report {
	h.t.Helper()
	h.f.ResetStats()
	before := h.held()
	r, err := vports.Probe(h.ask)
	if err != nil {
		h.t.Fatal(err)
	}
	sent := 0
	for kind, n := range h.f.Stats().SMPs {
		if sent += int(n); kind.Method != mad.MethodGet {
			h.t.Errorf("%d of %v %s", n, kind.Method, smp.AttrName(kind.Attr))
		}
	}
	if sent > 60 {
		h.t.Errorf("%d requests, want at most 60", sent)
	}
	if after := h.held(); h.sets != 0 || after != before {
		h.t.Errorf("%d Sets; the port holds\n%s\nbefore\n%s", h.sets, after, before)
	}
	return r
}

// held is what the port and its vPorts hold.
func (h *harness) held() string {
	at := h.function(0).At
	text := fmt.Sprintf("%x %v", h.f.PortInfo(at), h.f.PKeys(at))
	for i := 1; i <= h.f.NumFunctions(at); i++ {
		text += fmt.Sprintf("\n%x %v", h.f.VPortInfo(h.function(i)), h.f.VPortPKeys(h.function(i)))
	}
	return fmt.Sprintf("%s\n%x", text, h.f.VirtualizationInfo(at))
}

// TestLayouts: the probe names the layout that a port has, whether its functions have GUIDs and are up or not, and
// whether meaningless bits are refused or not.
func TestLayouts(t *testing.T) {
	for _, layout := range smp.VPortLayouts {
		for _, anyModifier := range []bool{false, true} {
			for _, functions := range []int{4, 127} {
				for _, state := range []string{"GUID 0", "GUIDs", "enabled"} {
					name := fmt.Sprintf("%v, any modifier %t, %d functions, %s", layout, anyModifier, functions, state)
					t.Run(name, func(t *testing.T) {
						h := newHarness(t, &fabric.VPorts{Layout: layout, AnyModifier: anyModifier,
							Functions: uint16(functions)})
						for i := 1; i <= functions && state != "GUID 0"; i++ {
							h.f.SetFunctionGUID(h.function(i), mad.GUID(0x0200<<48+i), mad.GUID(0x0300<<48+i))
						}
						if state == "enabled" {
							h.enable()
						}
						r := h.probe()
						if want := []smp.VPortLayout{layout}; !slices.Equal(r.Layouts, want) ||
							r.Conclusion != "The port has layout "+layout.String()+"." {
							var b bytes.Buffer
							r.Write(&b)
							t.Errorf("layouts %v, want %v:\n%s", r.Layouts, want, &b)
						}
					})
				}
			}
		}
	}
}

// Where no table with blocks shows whose it is, two layouts are left: the probe says so.
func TestTwoLayouts(t *testing.T) {
	h := newHarness(t, &fabric.VPorts{Functions: 1, PartitionCap: 128, Layout: smp.VPortIndexMixed})
	h.f.SetDefect(h.node, fabric.Quirk{Method: mad.MethodGet, Attr: smp.AttrVPortGUIDInfo,
		Answer: fabric.AnswersStatus, Status: 0x0c}.Defect())
	r := h.probe()
	if want := []smp.VPortLayout{smp.VPortIndexLow, smp.VPortIndexMixed}; !slices.Equal(r.Layouts, want) ||
		!strings.HasPrefix(r.Conclusion, "The port has layout low or mixed; the answers do not say which.") {
		t.Errorf("layouts %v: %s", r.Layouts, r.Conclusion)
	}
}

func TestConclusions(t *testing.T) {
	quirk := func(attr mad.AttrID, answer fabric.Answer) fabric.Defect {
		return fabric.Quirk{Method: mad.MethodGet, Attr: attr, Answer: answer, Status: 0x1c}.Defect()
	}
	vPorts := func(p *mad.Packet) bool { return p.AttrID() > 0xffb0 && p.AttrID() <= 0xffb6 }
	for _, tt := range []struct {
		name   string
		c      *fabric.VPorts
		defect fabric.Defect
		want   string
	}{
		{"no vPorts", nil, nil,
			"The port does not announce vPorts: its firmware has no virtual functions, or they are switched off."},
		{"announced by GeneralInfo alone", &fabric.VPorts{Functions: 4, NotInPortInfo: true}, nil,
			"The port has layout high."},
		{"announced, and no answer", &fabric.VPorts{Functions: 4}, quirk(smp.AttrVirtualizationInfo, fabric.NoAnswer),
			"The port announces vPorts, but VirtualizationInfo: no answer."},
		{"announced, and refused", &fabric.VPorts{Functions: 4},
			quirk(smp.AttrVirtualizationInfo, fabric.AnswersStatus),
			"The port announces vPorts, but VirtualizationInfo: status 0x1c (invalid field)."},
		{"no room", &fabric.VPorts{Cap: 1}, nil, "The port has room for no function: VPortCap is 1."},
		{"no functions", &fabric.VPorts{}, nil,
			"No layout fits. The port has no functions now: make one (sriov_numvfs), and probe again."},
		{"another revision", &fabric.VPorts{Functions: 4, Revision: 1}, nil, "The port has layout high. " +
			"VirtualizationRevision is 1: the attributes may differ from those of revision 0, which are known."},
		{"off before it is enabled", &fabric.VPorts{Functions: 4, OffUntilEnabled: true}, nil,
			"The port refuses all but VirtualizationInfo, maybe as long as no manager has enabled virtualization."},
		{"nothing else answered", &fabric.VPorts{Functions: 4},
			func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) { return obey(), !vPorts(p) },
			"The port refuses all but VirtualizationInfo, maybe as long as no manager has enabled virtualization."},
		{"another layout", &fabric.VPorts{Functions: 4},
			func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
				if vPorts(p) && p.AttrMod() != 0 {
					return 0x1c, true
				}
				*p.Data() = [64]byte{0: 0x40}
				if p.AttrID() == smp.AttrVirtualizationInfo {
					*p.Data() = [64]byte{0: 1, 3: 4, 4: 0x80}
					return 0, true
				}
				return obey(), true
			}, "No layout fits."},
		{"P_Key tables refused", &fabric.VPorts{Functions: 4}, quirk(smp.AttrVPortPKeyTable, fabric.AnswersStatus),
			"The port has layout high."},
		{"P_Key tables unanswered", &fabric.VPorts{Functions: 4}, quirk(smp.AttrVPortPKeyTable, fabric.NoAnswer),
			"The port has layout high."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, tt.c)
			h.f.SetDefect(h.node, tt.defect)
			if r := h.probe(); r.Conclusion != tt.want {
				t.Errorf("\n got %s\nwant %s", r.Conclusion, tt.want)
			}
		})
	}
}

// A device of another vendor, or a switch, is asked nothing of NVIDIA's.
func TestOtherDevices(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*smp.NodeInfo)
		want string
	}{
		{"another vendor", func(n *smp.NodeInfo) { n.SetVendorID(0x1175) },
			"No attribute of vPorts was requested: vendor 0x001175 does not define them."},
		{"switch", func(n *smp.NodeInfo) { n.SetNodeType(mad.Switch) },
			"The node is a switch. Only ports of adapters have vPorts."},
	} {
		h := newHarness(t, &fabric.VPorts{Functions: 4})
		r, err := vports.Probe(func(attr mad.AttrID, mod uint32) (vports.Answer, error) {
			if attr >= 0xff00 {
				t.Errorf("%s: %s was requested", tt.name, smp.AttrName(attr))
			}
			a, err := h.ask(attr, mod)
			if attr == smp.AttrNodeInfo {
				tt.edit((*smp.NodeInfo)(&a.Data))
			}
			return a, err
		})
		if err != nil || r.Conclusion != tt.want {
			t.Errorf("%s: %v, %v", tt.name, r, err)
		}
	}
	broken := errors.New("the port is gone")
	if _, err := vports.Probe(func(mad.AttrID, uint32) (vports.Answer, error) {
		return vports.Answer{}, broken
	}); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if _, err := vports.Probe(func(mad.AttrID, uint32) (vports.Answer, error) {
		return vports.Answer{}, nil
	}); err == nil || err.Error() != "NodeInfo: no answer: there is no such port, or it demands an M_Key" {
		t.Errorf("error %v", err)
	}
}

// The report has what was asked and what came, and no M_Key.
func TestReport(t *testing.T) {
	h := newHarness(t, &fabric.VPorts{Functions: 2})
	h.f.SetFunctionGUID(h.function(1), 0x0200000000000001, 0x0300000000000001)
	r := h.probe()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := `node         0xb83fd20300a00010 "host-02 mlx5_0"
device       CA, vendor 0x0002c9, device 0x101b, revision 0x0
port         1, GUID 0xb83fd20300a00010, LID 65535, Initialize
PortInfo     CapabilityMask 0xa651e848, CapabilityMask2 0x0036: announces vPorts
GeneralInfo  00008200000000000000000000000000: announces vPorts
vPorts       128, the highest index now 2, virtualization not enabled, revision 0, capabilities 0x00

Requests, all of them Gets:
NodeInfo            0x00000000  01010101b83fd20300a00010b83fd20300a00010b83fd20300a000100040101b00000000010002c9
NodeDescription     0x00000000  686f73742d3032206d6c78355f30
GeneralInfo         0x00000004  000082
VirtualizationInfo  0x00000000  00800002
VPortState          0x00000000  2110
`
	if got := b.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	want = `
Answers about vPorts, by the layout of the request:
vPort  attribute         high     low      mixed
1      VPortInfo         fits     refused  refused
1      VNodeInfo         fits     refused  refused
1      VNodeDescription  fits     refused  refused
1      VPortGUIDInfo     fits     refused  fits
1      VPortP_KeyTable   unclear  unclear  unclear
2      VPortInfo         fits     refused  refused
2      VNodeInfo         fits     refused  refused
2      VNodeDescription  fits     refused  refused
2      VPortGUIDInfo     unclear  refused  unclear
2      VPortP_KeyTable   unclear  refused  unclear

The port has layout high.
`
	if got := b.String(); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
