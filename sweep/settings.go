package sweep

import (
	"ibsm/keys"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing/lanes"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
	"ibsm/sweep/routes"
	"ibsm/sweep/vports"
	"ibsm/topo"
)

// Option is a setting that the operator may have set. One that is not set is taken from the
// fabric, or from the default if the fabric has no value yet.
type Option[T any] struct {
	Value T
	Given bool
}

// Given is an option that the operator set.
func Given[T any](v T) Option[T] { return Option[T]{v, true} }

// Settings are the operator's settings of the subnet. The zero value takes everything from the
// fabric and from OpenSM's defaults.
type Settings struct {
	SubnetPrefix   Option[mad.Prefix]
	LMC            Option[uint8] // 0..7, of CAs and routers
	LMCPort0       Option[bool]  // enhanced switch ports 0 have it too
	SubnetTimeOut  Option[uint8] // 4.096 us x 2^n
	PacketLifeTime Option[uint8] // SwitchInfo.LifeTimeValue, 4.096 us x 2^n
	MaxOpVLs       Option[uint8] // OperationalVLs code 1..5
	KindVLs        plan.KindVLs
	HOQLife        Option[uint8] // between switches
	LeafHOQLife    Option[uint8] // switch port towards a CA or router
	VLStallCount   Option[uint8]
	LeafVLStall    Option[uint8]
	PhyErrors      Option[uint8] // LocalPhyErrors threshold
	Overruns       Option[uint8] // OverrunErrors threshold
	MKey           Option[mad.MKey]
	MKeyLease      Option[uint16] // seconds
	MKeyProtect    Option[uint8]
	NoMKeyLookup   bool // every request uses MKey, not the port's known key
	// PortMKeys are the individual M_Keys of ports; the zero value if ports have never had such keys.
	PortMKeys   keys.Ports
	MKeyPerPort bool // ports get theirs of PortMKeys in place of MKey
	// Link widths and speeds that ports enable, as in plan.Values; 0 leaves them.
	LinkWidth    mad.LinkWidth
	LinkSpeed    uint8
	LinkSpeedExt uint8
	FDR10        plan.FDR10
	SMSL         uint8 // MasterSMSL of every end port
	QoS          bool  // the tables of lanes are written, by Lanes
	EngineSLs    bool  // a routing engine is chosen that may put paths on several SLs
	Lanes        lanes.Uses
	// SLtoVLSingly has each SLtoVLMappingTable set by itself, also at switches that take wildcards.
	SLtoVLSingly bool

	ReassignLIDs bool // assign all LIDs anew in the first sweep
	NoReregister bool // never ask clients to register again
	// DisableBabblers disables ports that never stop sending traps 129 to 131.
	DisableBabblers bool
	AR              routes.ARMode
	VPorts          vports.Settings
}

// routes are the settings of routes.
func (s *Settings) routes() routes.Settings {
	return routes.Settings{SMSL: s.SMSL, QoS: s.QoS, Uses: s.Lanes, AR: s.AR}
}

// OpenSM's defaults.
const (
	defaultSubnetTimeOut = 18
	defaultLifeTime      = 18
	defaultMaxOpVLs      = 5
	defaultHOQLife       = 18
	defaultLeafHOQLife   = 16
	defaultVLStallCount  = 7
	defaultErrors        = 8
)

// resolve fills in the settings that are not set. In a subnet that is in use it takes the most
// common value of ACTIVE ports.
func resolve(s *Settings, t *topo.Topo) plan.Values {
	var prefix poll[mad.Prefix]
	var lmc, lmc0, timeOut, lifeTime, hoq, leafHOQ, stall, leafStall, phy, over poll[uint8]
	opVLs := uint8(0)
	cut := false // some link runs with fewer VLs than both ends can
	for i := range t.Ports {
		p := &t.Ports[i]
		if !p.Seen || p.Num != 0 && (p.Info.PortState() < smp.PortActive || p.Peer == topo.None) {
			continue // port 0 has no link, and a base one no state
		}
		node := &t.Nodes[p.Node]
		switch {
		case p.Num == 0:
			if up := device.PortsUp(t, p.Node); !up.Empty() {
				lifeTime.add(node.SwitchInfo.LifeTimeValue())
				if node.SwitchInfo.EnhancedPort0() {
					lmc0.add(p.Info.LMC())
				}
			}
		case node.Type == mad.Switch:
			if t.Nodes[t.Ports[p.Peer].Node].Type == mad.Switch {
				hoq.add(p.Info.HOQLife())
				stall.add(p.Info.VLStallCount())
			} else {
				leafHOQ.add(p.Info.HOQLife())
				leafStall.add(p.Info.VLStallCount())
			}
			opVLs = max(opVLs, p.Info.OperationalVLs())
			cut = cut || p.Info.OperationalVLs() < min(p.Info.VLCap(), t.Ports[p.Peer].Info.VLCap())
		default:
			prefix.add(p.Info.GidPrefix())
			lmc.add(p.Info.LMC())
			timeOut.add(p.Info.SubnetTimeOut())
			phy.add(p.Info.LocalPhyErrors())
			over.add(p.Info.OverrunErrors())
		}
	}
	v := plan.Values{
		Prefix:        choose(s.SubnetPrefix, prefix, mad.DefaultPrefix),
		LMC:           choose(s.LMC, lmc, 0),
		SubnetTimeOut: choose(s.SubnetTimeOut, timeOut, defaultSubnetTimeOut),
		LifeTimeValue: choose(s.PacketLifeTime, lifeTime, defaultLifeTime),
		HOQLife:       choose(s.HOQLife, hoq, defaultHOQLife),
		LeafHOQLife:   choose(s.LeafHOQLife, leafHOQ, defaultLeafHOQLife),
		VLStallCount:  choose(s.VLStallCount, stall, defaultVLStallCount),
		LeafVLStall:   choose(s.LeafVLStall, leafStall, defaultVLStallCount),
		PhyErrors:     choose(s.PhyErrors, phy, defaultErrors),
		Overruns:      choose(s.Overruns, over, defaultErrors),
		MKeys:         s.MKeys(),
		KeepMKey:      !s.MKey.Given && !s.MKeyPerPort, KeepMKeyLease: !s.MKey.Given && !s.MKeyLease.Given,
		KeepMKeyProtect: !s.MKey.Given && !s.MKeyProtect.Given,
		MKeyLease:       s.MKeyLease.Value,
		MKeyProtect:     s.MKeyProtect.Value,
		LinkWidth:       s.LinkWidth, LinkSpeed: s.LinkSpeed, LinkSpeedExt: s.LinkSpeedExt, FDR10: s.FDR10,
		SMSL:     s.SMSL,
		MaxOpVLs: defaultMaxOpVLs, KindVLs: s.KindVLs,
	}
	if s.LMCPort0.Value || !s.LMCPort0.Given && choose(Option[uint8]{}, lmc0, 0) > 0 {
		v.LMCPort0 = v.LMC
	}
	switch {
	case s.MaxOpVLs.Given:
		v.MaxOpVLs = s.MaxOpVLs.Value
	case cut:
		v.MaxOpVLs = opVLs // another manager limited them
	}
	return v
}

// poll counts values to find the most common one.
type poll[T comparable] struct{ votes map[T]int }

func (p *poll[T]) add(v T) {
	if p.votes == nil {
		p.votes = map[T]int{}
	}
	p.votes[v]++
}

// choose is the value that is set, else the most common in the fabric, else the default.
// Among equally common values it prefers the default, so that the result is deterministic.
func choose[T interface {
	comparable
	~uint8 | ~uint64
}](o Option[T], p poll[T], def T) T {
	if o.Given {
		return o.Value
	}
	best, count := def, p.votes[def]
	for v, n := range p.votes {
		if n > count || n == count && best != def && v < best {
			best, count = v, n
		}
	}
	return best
}
