package sim_test

import (
	"fmt"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// openSMSends is what OpenSM 3.3.23 sends to any device.
var openSMSends = map[fabric.Kind]bool{
	{Method: mad.MethodGet, Attr: smp.AttrNodeInfo}: true, {Method: mad.MethodGet, Attr: smp.AttrNodeDescription}: true,
	{Method: mad.MethodGet, Attr: smp.AttrSwitchInfo}: true, {Method: mad.MethodSet, Attr: smp.AttrSwitchInfo}: true,
	{Method: mad.MethodGet, Attr: smp.AttrPortInfo}: true, {Method: mad.MethodSet, Attr: smp.AttrPortInfo}: true,
	{Method: mad.MethodGet, Attr: smp.AttrPKeyTable}: true, {Method: mad.MethodSet, Attr: smp.AttrPKeyTable}: true,
	{Method: mad.MethodGet, Attr: smp.AttrGUIDInfo}: true, {Method: mad.MethodSet, Attr: smp.AttrGUIDInfo}: true,
	{Method: mad.MethodGet, Attr: smp.AttrSMInfo}: true, {Method: mad.MethodSet, Attr: smp.AttrSMInfo}: true,
	{Method: mad.MethodSet, Attr: smp.AttrLinearForwardingTable}:    true,
	{Method: mad.MethodSet, Attr: smp.AttrMulticastForwardingTable}: true,
	{Method: mad.MethodSet, Attr: smp.AttrSLtoVLMappingTable}:       true,
	{Method: mad.MethodSet, Attr: smp.AttrVLArbitrationTable}:       true,
	{Method: mad.MethodTrap, Attr: smp.AttrNotice}:                  true,
	{Method: mad.MethodTrapRepress, Attr: smp.AttrNotice}:           true,
}

// featuresNet is a net of devices that have all features of device.FeatureTable. defect is that of all but the
// manager's.
func featuresNet(t *testing.T, defect fabric.Defect) *harness {
	n := nettest.Generate(t, "fattree:k=4")
	for i := range n.Nodes {
		for j := range n.Nodes[i].Ports {
			n.Nodes[i].Ports[j].Speed = mad.FDR10
		}
	}
	return newHarness(t, n, fabric.Config{Seed: 1, Caps: func(i int32, node *net.Node, c *fabric.Caps) {
		c.NVIDIA, c.CapabilityMask = true, c.CapabilityMask|smp.IsExtendedSpeedsSupported
		if node.Type == mad.Switch {
			c.AR, c.PrivateLFTs, c.OptimizedSLtoVL = fabric.AROff, true, 1
			c.CapabilityMask2 |= smp.IsSwitchPortStateTableSupported
		}
		if i != firstHost(n).Node {
			c.Defect = defect
		}
	}})
}

// TestFeatures: where all devices fail a request of device.FeatureTable, in any way, the subnet comes up, also under a
// second manager, and after the third sweep nobody is asked any more. And nothing is sent that is not in the table, nor
// what OpenSM sends.
func TestFeatures(t *testing.T) {
	for _, row := range device.FeatureTable {
		for i := range row.SMPs {
			for _, q := range []fabric.Quirk{
				{Answer: fabric.NoAnswer}, {Answer: fabric.AnswersStatus, Status: 0x04},
				{Answer: fabric.AnswersStatus, Status: 0x08},
				{Answer: fabric.AnswersStatus, Status: 0x0c}, {Answer: fabric.AnswersStatus, Status: 0x1c},
				{Answer: fabric.AnswersStatus, Status: 0x7f00},
			} {
				q.Method, q.Attr = row.SMPs[i].Method, row.SMPs[i].Attr
				t.Run(fmt.Sprintf("%v, bits %#x", q, row.SMPs[i].Bits), func(t *testing.T) {
					failsFeature(t, &row.SMPs[i], q)
				})
			}
		}
	}
}

func failsFeature(t *testing.T, smps *device.FeatureSMP, q fabric.Quirk) {
	asked, quirk, all := 0, q.Defect(), map[fabric.Kind]bool{}
	b := featuresNet(t, func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
		all[fabric.Kind{Method: p.Method(), Attr: p.AttrID()}] = true
		if !smps.Is(p) {
			return obey(), true
		}
		asked++
		return quirk(p, obey)
	})
	cfg := quirkConfig(t, "qos")
	cfg.Registrar, cfg.Sweep.Settings.FDR10 = registrarConfig().Registrar, plan.DisableFDR10
	b.comeUp(cfg).retire()
	m := b.add(host(b.net, 5), cfg)
	b.pass(thirdSweep)
	for range 3 { // heavy sweeps
		b.Configure(m.Manager, cfg)
		b.pass(settling)
	}
	if asked == 0 {
		t.Fatal("nobody was asked")
	}
	asked = 0
	ups := len(m.ups)
	b.Configure(m.Manager, cfg)
	b.pass(settling)
	if len(m.ups) != ups+1 || asked > 0 {
		t.Errorf("after the third sweep devices are asked %d times by %d sweeps", asked, len(m.ups)-ups)
	}
	for _, fault := range b.judge(m.View) {
		t.Error(fault)
	}
	for kind := range all {
		listed := openSMSends[kind]
		for _, row := range device.FeatureTable {
			for _, f := range row.SMPs {
				listed = listed || f.Method == kind.Method && f.Attr == kind.Attr
			}
		}
		if !listed {
			t.Errorf("%v is sent, which is neither in the table nor sent by OpenSM", kind)
		}
	}
}
