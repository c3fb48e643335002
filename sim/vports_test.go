package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/partitions"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/vports"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// functions is a fabric whose hosts have virtual functions, with a manager at the first host.
type functions struct {
	*harness
	m   *watched
	cfg manager.Config
	// early are functions that were ACTIVE without a P_Key that they should have had.
	early []string
	keys  func(at fabric.VPort) []mad.PKey // which those are; nil for none
}

// functionGUID is the GUID that a test gives a function.
func functionGUID(at fabric.VPort) mad.GUID {
	return 0x02<<56 | mad.GUID(at.At.Node)<<16 | mad.GUID(at.Index)
}

// virtualConfig is minhopConfig with virt_enabled.
func virtualConfig(mode vports.Mode) manager.Config {
	cfg := minhopConfig()
	cfg.Sweep.Settings.VPorts = vports.Settings{Mode: mode, MaxPorts: 64}
	return cfg
}

// newFunctions makes a fabric of a kind in which each host has functions with GUIDs.
func newFunctions(t testing.TB, spec string, c fabric.VPorts, cfg fabric.Config) *functions {
	t.Helper()
	before := cfg.Caps
	cfg.Caps = func(node int32, n *net.Node, caps *fabric.Caps) {
		if n.Type == mad.CA {
			own := c
			caps.VPorts = &own
		}
		if before != nil {
			before(node, n, caps)
		}
	}
	b := &functions{}
	was := cfg.OnSet
	cfg.OnSet = func(s fabric.Set) {
		b.watch(s)
		if was != nil {
			was(s)
		}
	}
	b.harness = newHarness(t, nettest.Generate(t, spec), cfg)
	for at := range b.functions() {
		b.Fabric.SetFunctionGUID(at, functionGUID(at), functionGUID(at)|1<<48)
	}
	return b
}

// start brings the fabric up.
func (b *functions) start(cfg manager.Config) {
	b.Helper()
	b.cfg = cfg
	b.m = b.comeUp(cfg)
}

// functions are all of them.
func (b *functions) functions() func(yield func(fabric.VPort) bool) {
	return func(yield func(fabric.VPort) bool) {
		for at := range b.Fabric.EndPorts() {
			for i := range b.Fabric.NumFunctions(at) {
				if !yield(fabric.VPort{At: at, Index: uint16(i + 1)}) {
					return
				}
			}
		}
	}
}

// watch looks at each Set.
func (b *functions) watch(s fabric.Set) {
	if b.keys == nil || s.Attr != smp.AttrVPortInfo {
		return
	}
	for at := range b.functions() {
		info := b.Fabric.VPortInfo(at)
		if at.At.Node != s.Node || info.VPortState() != smp.PortActive {
			continue
		}
		held := b.Fabric.VPortPKeys(at)
		for _, k := range b.keys(at) {
			if !slices.Contains(held, k) {
				b.early = append(b.early, fmt.Sprintf("%v at %v: %v lacks %v", b.Fabric.Now(), at, held, k))
			}
		}
	}
}

// state is that of a function.
func (b *functions) state(at fabric.VPort) smp.PortState {
	info := b.Fabric.VPortInfo(at)
	return info.VPortState()
}

// mustAllBe fails the test unless all functions with a GUID are in a state.
func (b *functions) mustAllBe(state smp.PortState) {
	b.Helper()
	wrong := 0
	for at := range b.functions() {
		if is := b.state(at); is != state {
			if wrong++; wrong < 5 {
				b.Errorf("%v is %v, want %v", at, is, state)
			}
		}
	}
	if wrong > 4 {
		b.Errorf("%d more are not %v", wrong-4, state)
	}
}

// mustShow fails the test unless the view shows all functions as they are.
func (b *functions) mustShow() {
	b.Helper()
	v := b.m.View
	for at := range b.functions() {
		info := b.Fabric.VPortInfo(at)
		p := v.Topo.FindPort(b.Fabric.PortGUID(at.At))
		i := v.Topo.VPorts.FindAt(p, at.Index)
		if i == topo.None {
			b.Errorf("%v is not shown", at)
			continue
		}
		shown := v.Topo.VPorts.At(i)
		if shown.GUID != info.PortGUID() && info.VPortState() != smp.PortDown || shown.State != info.VPortState() {
			b.Errorf("%v is shown as %v, %v; it is %v, %v", at, shown.GUID, shown.State, info.PortGUID(),
				info.VPortState())
		}
		if shown.State == smp.PortActive && !shown.Elsewhere {
			if found := v.Topo.FindVPort(shown.GUID); found != i {
				b.Errorf("%v is not found by its GUID %v", at, shown.GUID)
			}
			if lid, own := v.Topo.LIDOf(v.LIDs, i); lid != b.Fabric.VPortLID(at) || own != info.LIDRequired() {
				b.Errorf("%v is shown with LID %v, its own: %t; it has %v", at, lid, own, b.Fabric.VPortLID(at))
			}
			if held := b.Fabric.VPortPKeys(at); !slices.Equal(shown.PKeys.Keys(), held) {
				b.Errorf("%v is shown with P_Keys %v; it holds %v", at, shown.PKeys.Keys(), held)
			}
		}
	}
}

// Functions come up where virtualization is enabled, with the P_Keys of their GUIDs before they are ACTIVE, by shared
// LIDs or by LIDs of their own, which all switches forward.
func TestFunctionsComeUp(t *testing.T) {
	for _, own := range []bool{false, true} {
		t.Run(fmt.Sprintf("own LIDs %t", own), func(t *testing.T) {
			b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 5, OwnLIDs: own}, fabric.Config{})
			cfg := virtualConfig(vports.Enable)
			policy := &partitions.Policy{Partitions: []partitions.Partition{
				{Name: "Default", Key: partitions.DefaultKey, Members: []partitions.Member{
					{Who: partitions.All, Membership: partitions.Full}}},
				{Name: "one", Key: 1}}}
			for at := range b.functions() {
				if at.Index%2 == 1 {
					policy.Partitions[1].Members = append(policy.Partitions[1].Members, partitions.Member{
						Who: partitions.OnePort, Port: functionGUID(at), Membership: partitions.Full})
				}
			}
			b.keys = func(at fabric.VPort) []mad.PKey {
				if at.Index%2 == 1 {
					return []mad.PKey{0xffff, 0x8001}
				}
				return []mad.PKey{0xffff}
			}
			cfg.Sweep.Partitions = sweep.Partitions{Policy: policy}
			b.start(cfg)
			b.mustAllBe(smp.PortActive)
			b.mustShow()
			if len(b.early) > 0 {
				t.Errorf("ACTIVE before their P_Keys: %v", b.early)
			}
			for at := range b.functions() {
				if held := b.Fabric.VPortPKeys(at); !slices.Equal(held, b.keys(at)) {
					t.Errorf("%v holds %v, want %v", at, held, b.keys(at))
				}
			}
			b.mustReachFunctions()
			b.pass(time.Minute)
			quiet := b.sets()
			b.pass(time.Minute)
			if more := b.sets() - quiet; more != 0 {
				t.Errorf("%d Sets in a minute in which nothing happens", more)
			}
		})
	}
}

// mustReachFunctions fails the test unless packets arrive at all functions, by their LIDs and with a GRH.
func (b *functions) mustReachFunctions() {
	b.Helper()
	from := firstHost(b.net)
	for to := range b.functions() {
		if b.state(to) != smp.PortActive {
			continue
		}
		if _, end := b.Fabric.Probe(from, b.Fabric.VPortLID(to), 0xffff, 0, nil); end != fabric.Delivered &&
			to.At != from {
			b.Errorf("a packet to %v, LID %v, ends with %v", to, b.Fabric.VPortLID(to), end)
		}
	}
}

// asked counts the SMPs of vPorts' attributes that agents have received.
func (b *functions) asked() (gets, sets uint64) {
	for k, n := range b.Fabric.Stats().SMPs {
		switch {
		case k.Attr < smp.AttrVirtualizationInfo || k.Attr > smp.AttrVPortPKeyTable:
		case k.Method == mad.MethodSet:
			sets += n
		default:
			gets += n
		}
	}
	return gets, sets
}

// Without virt_enabled nobody is asked, functions stay Down, and nothing else is other than in a fabric without any.
// With virt_enabled 1 they go down.
func TestFunctionsIgnored(t *testing.T) {
	b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 3}, fabric.Config{})
	b.start(virtualConfig(vports.Ignore))
	b.mustAllBe(smp.PortDown)
	if gets, sets := b.asked(); gets+sets > 0 {
		t.Errorf("%d Gets and %d Sets of vPorts", gets, sets)
	}
	if b.m.View.Topo.VPorts != nil {
		t.Error("the view has vPorts")
	}
	b.Configure(b.m.Manager, virtualConfig(vports.Enable))
	b.pass(settling)
	b.mustAllBe(smp.PortActive)
	b.Configure(b.m.Manager, virtualConfig(vports.Ignore))
	b.pass(settling)
	b.mustAllBe(smp.PortActive)
	b.Configure(b.m.Manager, virtualConfig(vports.Disable))
	b.pass(settling)
	b.mustAllBe(smp.PortDown)
	for at := range b.Fabric.EndPorts() {
		if info := b.Fabric.VirtualizationInfo(at); info.VirtualizationEnable() {
			t.Errorf("%v is still enabled", at)
		}
	}
	b.mustBeWhole(b.m)
}

// Whatever adapters make of what is not known, no port is lost, and where the settings fit them functions come up.
func TestFunctionQuirks(t *testing.T) {
	for name, c := range map[string]struct {
		vports fabric.VPorts
		layout smp.VPortLayout
		up     bool
	}{
		"low":                         {fabric.VPorts{Layout: smp.VPortIndexLow}, smp.VPortIndexLow, true},
		"mixed":                       {fabric.VPorts{Layout: smp.VPortIndexMixed}, smp.VPortIndexMixed, true},
		"GeneralInfo alone":           {fabric.VPorts{NotInPortInfo: true}, 0, true},
		"PortInfo alone":              {fabric.VPorts{NotInGeneral: true}, 0, true},
		"cleared by one":              {fabric.VPorts{ClearedByOne: true}, 0, true},
		"vPort 0 has a state":         {fabric.VPorts{OwnVPort0: true}, 0, true},
		"off until enabled":           {fabric.VPorts{OffUntilEnabled: true}, 0, true},
		"top of those that are up":    {fabric.VPorts{TopOfUp: true}, 0, false},
		"remembers":                   {fabric.VPorts{Remembers: true, OwnLIDs: true}, 0, true},
		"states lag":                  {fabric.VPorts{Lag: 3 * time.Second}, 0, true},
		"states lag, own LIDs":        {fabric.VPorts{Lag: time.Second, OwnLIDs: true}, 0, true},
		"any modifier":                {fabric.VPorts{AnyModifier: true}, 0, true},
		"revision":                    {fabric.VPorts{Revision: 1}, 0, false},
		"another layout, low":         {fabric.VPorts{Layout: smp.VPortIndexLow}, 0, false},
		"another layout, mixed":       {fabric.VPorts{Layout: smp.VPortIndexMixed}, 0, false},
		"another layout, high":        {fabric.VPorts{}, smp.VPortIndexLow, false},
		"another layout, high, mixed": {fabric.VPorts{}, smp.VPortIndexMixed, false},
		"any modifier, low":           {fabric.VPorts{AnyModifier: true, Layout: smp.VPortIndexLow}, 0, false},
		"any modifier, mixed":         {fabric.VPorts{AnyModifier: true, Layout: smp.VPortIndexMixed}, 0, false},
		"any modifier, low, mixed": {fabric.VPorts{AnyModifier: true, Layout: smp.VPortIndexLow}, smp.VPortIndexMixed,
			false},
		"low for mixed": {fabric.VPorts{Layout: smp.VPortIndexLow}, smp.VPortIndexMixed, false},
		"mixed for low": {fabric.VPorts{Layout: smp.VPortIndexMixed}, smp.VPortIndexLow, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.vports.Functions = 4
			b := newFunctions(t, "fattree:k=4,levels=2", c.vports, fabric.Config{})
			before := map[net.End][]mad.PKey{}
			cfg := virtualConfig(vports.Enable)
			cfg.Sweep.Settings.VPorts.Layout = c.layout
			cfg.Sweep.Partitions = sweep.Partitions{Policy: &partitions.Policy{Partitions: []partitions.Partition{
				{Name: "Default", Key: partitions.DefaultKey, Members: []partitions.Member{
					{Who: partitions.All, Membership: partitions.Full}}},
				{Name: "one", Key: 1, Members: []partitions.Member{
					{Who: partitions.AllVCAs, Membership: partitions.Full}}}}}}
			b.start(cfg)
			if c.up {
				b.mustAllBe(smp.PortActive)
				b.mustShow()
			}
			b.mustBeWhole(b.m)
			for at := range b.Fabric.EndPorts() {
				before[at] = []mad.PKey{0xffff}
				if held := b.Fabric.PKeys(at); !slices.Equal(held, before[at]) {
					t.Errorf("port %v holds %v: what is of a function went to the port", at, held)
				}
				pi := b.Fabric.PortInfo(at)
				if pi.PortState() != smp.PortActive && b.Fabric.NodeType(at.Node) == mad.CA {
					t.Errorf("port %v is %v", at, pi.PortState())
				}
			}
			if !c.up && c.vports.TopOfUp == false && len(b.m.View.Findings) == 0 {
				t.Error("no finding says why functions are not up")
			}
			gets, sets := b.asked()
			b.pass(10 * time.Minute)
			moreGets, moreSets := b.asked()
			hosts := uint64(len(b.endPorts()))
			if gets, sets = moreGets-gets, moreSets-sets; gets > 30*hosts || sets > 0 {
				t.Errorf("%d Gets and %d Sets in ten minutes in which nothing happens", gets, sets)
			}
		})
	}
}
