package net

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"ibsm/mad"
)

// kinds are the topologies that can be generated.
var kinds = []kind{fatTree, pods, torus, mesh, hypercube, dragonfly, dragonflyPlus, hyperX, random, tree}

// Generate makes the fabric that a spec such as "fattree:k=8" describes. The
// error is a *SpecError.
func Generate(spec string) (*Net, error) {
	s, err := ParseSpec(spec)
	if err != nil {
		return nil, err
	}
	return s.Generate()
}

// Generate makes the fabric: switches first, in the order of their numbers, then
// hosts of one port each. The same Spec gives the same Net. The error is a
// *SpecError: the parameters contradict each other, or the subnet would need more
// LIDs than there are.
func (s *Spec) Generate() (*Net, error) {
	plan, err := s.kind.shape(s)
	if err != nil {
		return nil, err
	}
	profile, speed := s.values["devices"].profile, s.values["speed"].speed
	sharp := sharpState(s.values["sharp"].n)
	total := plan.switches + plan.hosts
	if sharp == sharpOn {
		total += plan.switches
	}
	if total > int(mad.MaxUnicastLID) {
		return nil, s.errorf("%d switches and %d hosts need more LIDs than a subnet has (%d)", plan.switches, plan.hosts,
			mad.MaxUnicastLID)
	}
	b := &builder{
		nodes:   make([]Node, 0, plan.switches+plan.hosts),
		next:    make([]int, plan.switches),
		hosts:   plan.hosts,
		speed:   speed,
		width:   s.values["width"].width,
		profile: profile,
		sharp:   sharp,
		rng:     rand.New(rand.NewPCG(s.values["seed"].seed, 0x1b5)),
	}
	plan.build(b)
	n := &Net{Nodes: b.nodes, Profile: profile, Functions: uint16(s.int("functions", 0))}
	if err := s.degrade(n, b.rng); err != nil {
		return nil, err
	}
	if sharp == sharpOn {
		n.addAggregationNodes(speed)
	}
	return n, nil
}

func (s *Spec) errorf(format string, args ...any) error {
	return &SpecError{Text: s.kind.name + ": " + fmt.Sprintf(format, args...)}
}

// maxSwitchPorts is the number of port numbers of a switch.
const maxSwitchPorts = 254

// fits refuses switches with more ports than port numbers.
func (s *Spec) fits(ports int) error {
	if ports > maxSwitchPorts {
		return s.errorf("switches would need %d ports, but have at most 254", ports)
	}
	return nil
}

// builder makes the nodes and cables of a fabric. All switches come before the
// first host.
type builder struct {
	nodes   []Node
	next    []int // by switch: the port that link and host take next, less 1
	hosts   int   // that there will be
	speed   mad.LinkSpeed
	width   mad.LinkWidth
	profile Profile
	sharp   sharpState
	rng     *rand.Rand
}

// GUIDs count from these, NVIDIA's prefix, in steps as a maker leaves between
// boards. An ideal host's port GUID is its node GUID plus one, as ibsim has it too.
const (
	switchGUIDs mad.GUID = 0xb83fd20300400000
	switchStep           = 0x40
	hostGUIDs   mad.GUID = 0xb83fd20300a00000
	hostStep             = 0x10
	nvidia               = 0x2c9
)

// devices are the device IDs of switch and adapter of each generation.
var devices = [mad.XDR + 1]struct{ sw, ca uint16 }{
	mad.SDR: {0xb924, 0x6282}, mad.DDR: {0xb924, 0x6282}, mad.QDR: {0xbd36, 0x673c},
	mad.FDR10: {0xc738, 0x1003}, mad.FDR: {0xc738, 0x1003}, mad.EDR: {0xcb20, 0x1013},
	mad.HDR: {0xd2f0, 0x101b}, mad.NDR: {0xd2f2, 0x1021}, mad.XDR: {0xd2f4, 0x1023},
}

// addSwitch adds a switch without cables, with that many ports for them.
func (b *builder) addSwitch(desc string, ports int) int {
	if b.sharpPort(ports) {
		ports++
	}
	guid := switchGUIDs + mad.GUID(len(b.nodes)*switchStep)
	n := Node{
		ID: fmt.Sprintf("S-%016x", uint64(guid)), Desc: desc, Type: mad.Switch, GUID: guid, SystemImageGUID: guid,
		VendorID: nvidia, DeviceID: devices[b.speed].sw, EnhancedPort0: true, Ports: bare(ports),
	}
	n.Ports[0].GUID = guid
	if b.profile == RealDevices {
		realSwitch(&n, len(b.nodes))
	}
	b.nodes = append(b.nodes, n)
	return len(b.nodes) - 1
}

// bare makes ports without cables.
func bare(num int) []Port {
	ports := make([]Port, num+1)
	for i := range ports {
		ports[i].Peer = NoEnd
	}
	return ports
}

// addHosts adds hosts on the next ports of a switch.
func (b *builder) addHosts(sw, count int) {
	for range count {
		i := len(b.nodes) - len(b.next)
		guid := hostGUIDs + mad.GUID(i*hostStep)
		n := Node{
			ID: fmt.Sprintf("H-%016x", uint64(guid)), Desc: "host-" + numbered(i, b.hosts) + " mlx5_0", Type: mad.CA,
			GUID: guid, SystemImageGUID: guid, VendorID: nvidia, DeviceID: devices[b.speed].ca, Ports: bare(1),
		}
		n.Ports[1].GUID = guid + 1
		if b.profile == RealDevices {
			realHost(&n, b.speed)
		}
		b.nodes = append(b.nodes, n)
		b.next[sw]++
		b.cable(sw, b.next[sw], len(b.nodes)-1, 1)
	}
}

// link cables the next ports of two switches.
func (b *builder) link(a, z int) {
	b.next[a]++
	b.next[z]++
	b.cable(a, b.next[a], z, b.next[z])
}

// cable cables two ports.
func (b *builder) cable(a, aPort, z, zPort int) {
	from, to := &b.nodes[a].Ports[aPort], &b.nodes[z].Ports[zPort]
	from.Peer, to.Peer = End{int32(z), uint8(zPort)}, End{int32(a), uint8(aPort)}
	from.Width, to.Width = b.width, b.width
	from.Speed, to.Speed = b.speed, b.speed
}

// numbered prints i+1 with as many digits as total needs, at least two; hosts and
// switches so sort by name as by number.
func numbered(i, total int) string {
	return fmt.Sprintf("%0*d", max(2, len(strconv.Itoa(total))), i+1)
}
