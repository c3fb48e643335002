package main_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// qosGenerator writes partitions and policies, and asks for paths.
type qosGenerator struct {
	*rand.Rand
	hosts  int
	gids   []mad.GID // of all hosts
	hcas   []mad.GUID
	names  []string // of host ports, as port-name has them
	own    []mad.GID
	keys   []uint16 // of partitions but the default one
	levels []string
	groups []string
}

func newQoSGenerator(w *testSubnet, n *net.Net, seed uint64) *qosGenerator {
	g := &qosGenerator{Rand: rand.New(rand.NewPCG(seed, 0x905)), hosts: len(w.clients), own: w.clientGIDs()}
	w.server.Do(func(f *fabric.Fabric) {
		for at := range f.EndPorts() {
			if f.NodeType(at.Node) == mad.CA {
				g.hcas = append(g.hcas, f.PortGUID(at))
				g.gids = append(g.gids, mad.MakeGID(mad.DefaultPrefix, f.PortGUID(at)))
				g.names = append(g.names, fmt.Sprintf("\"%s/P%d\"", n.Nodes[at.Node].Desc, at.Port))
			}
		}
	})
	return g
}

func (g *qosGenerator) chance(percent int) bool { return g.IntN(100) < percent }

// partitions writes a partitions.conf.
func (g *qosGenerator) partitions() string {
	var b strings.Builder
	b.WriteString("Default=0x7fff, ipoib: ALL=full;\n")
	for i := range 2 + g.IntN(4) {
		key := uint16(1 + i + g.IntN(3)*16)
		g.keys = append(g.keys, key)
		fmt.Fprintf(&b, "part%d=%#x, sl=%d:", key, key, g.IntN(16))
		for _, guid := range g.hcas {
			if g.chance(60) {
				fmt.Fprintf(&b, " %v=%s,", guid, []string{"full", "full", "limited"}[g.IntN(3)])
			}
		}
		fmt.Fprintf(&b, " %v=full, %v=full;\n", g.hcas[0], g.hcas[1])
	}
	return b.String()
}

// number is a number as a file may have it.
func (g *qosGenerator) number(n uint64) string {
	return fmt.Sprintf([]string{"%d", "0x%x", "0x%04X"}[g.IntN(3)], n)
}

// ranges is a list of numbers around some.
func (g *qosGenerator) ranges(some []uint64) string {
	var list []string
	for range 1 + g.IntN(3) {
		n := some[g.IntN(len(some))]
		if to := n + uint64(g.IntN(6)); g.chance(40) {
			list = append(list, g.number(n)+[]string{"-", " - "}[g.IntN(2)]+g.number(to))
		} else {
			list = append(list, g.number(n))
		}
	}
	return strings.Join(list, []string{",", ", "}[g.IntN(2)])
}

var (
	qosClasses  = []uint64{0, 1, 5, 7, 100, 0xff0}
	qosServices = []uint64{0x10000, 0x1abcd, 0x1060000 + 0x48ca, 0x1060cbc, 0x6234, 1 << 56}
)

func (g *qosGenerator) pkeys() (keys []uint64) {
	for _, k := range g.keys {
		keys = append(keys, uint64(k), uint64(k)|0x8000)
	}
	return append(keys, 0x7fff-6)
}

func (g *qosGenerator) guids() (guids []uint64) {
	for _, guid := range g.hcas {
		guids = append(guids, uint64(guid))
	}
	return guids
}

// policy writes a qos-policy.conf.
func (g *qosGenerator) policy() string {
	var b strings.Builder
	section := func(name string, n int, block func(i int)) {
		fmt.Fprintf(&b, "%s\n", name)
		for i := range n {
			block(i)
		}
		fmt.Fprintf(&b, "end-%s\n\n", name)
	}
	sections := []func(){
		func() { section("port-groups", 1+g.IntN(4), func(i int) { g.group(&b, i) }) },
		func() { section("qos-levels", 1+g.IntN(4), func(i int) { g.level(&b, i) }) },
		func() { section("qos-ulps", 1+g.IntN(6), func(i int) { g.ulp(&b, i) }) },
	}
	for _, i := range g.Perm(len(sections)) {
		sections[i]()
	}
	section("qos-match-rules", g.IntN(6), func(int) { g.rule(&b) })
	return b.String()
}

func (g *qosGenerator) group(b *strings.Builder, i int) {
	name := fmt.Sprintf("group %d", i)
	g.groups = append(g.groups, name)
	fmt.Fprintf(b, "  port-group # %d\n    name: %s\n    use: some, of: them\n", i, name)
	for range g.IntN(3) {
		switch g.IntN(5) {
		case 0:
			fmt.Fprintf(b, "    port-guid: %s\n", g.ranges(g.guids()))
		case 1:
			fmt.Fprintf(b, "    port-name: %s, %s\n", g.names[g.IntN(len(g.names))], g.names[g.IntN(len(g.names))])
		case 2:
			fmt.Fprintf(b, "    pkey: %s\n", g.ranges(g.pkeys()))
		case 3:
			fmt.Fprintf(b, "    partition: part%d\n", g.keys[g.IntN(len(g.keys))])
		case 4:
			fmt.Fprintf(b, "    node-type: %s\n",
				[]string{"CA", "SWITCH", "ROUTER", "ALL", "SELF", "switch,self"}[g.IntN(6)])
		}
	}
	b.WriteString("  end-port-group\n")
}

func (g *qosGenerator) level(b *strings.Builder, i int) {
	name := fmt.Sprintf("Level %d", i)
	if i == 0 {
		name = "DEFAULT"
	}
	g.levels = append(g.levels, name)
	fmt.Fprintf(b, "  qos-level\n    name: %s\n    sl: %d\n", name, g.IntN(15))
	if g.chance(40) {
		fmt.Fprintf(b, "    mtu-limit: %d\n", 1+g.IntN(5))
	}
	if g.chance(40) {
		fmt.Fprintf(b, "    rate-limit: %d\n", 2+g.IntN(9))
	}
	if g.chance(40) {
		fmt.Fprintf(b, "    packet-life: %d\n", g.IntN(30))
	}
	if g.chance(20) {
		fmt.Fprintf(b, "    path-bits: 0-7\n")
	}
	if g.chance(30) {
		fmt.Fprintf(b, "    pkey: %s\n", g.ranges(g.pkeys()))
	}
	b.WriteString("  end-qos-level\n")
}

func (g *qosGenerator) rule(b *strings.Builder) {
	b.WriteString("  qos-match-rule\n    use: a rule\n")
	for _, line := range []func(){
		func() { fmt.Fprintf(b, "    source: %s\n", g.groups[g.IntN(len(g.groups))]) },
		func() {
			fmt.Fprintf(b, "    destination: %s, %s\n", g.groups[g.IntN(len(g.groups))],
				g.groups[g.IntN(len(g.groups))])
		},
		func() { fmt.Fprintf(b, "    qos-class: %s\n", g.ranges(qosClasses)) },
		func() { fmt.Fprintf(b, "    service-id: %s\n", g.ranges(qosServices)) },
		func() { fmt.Fprintf(b, "    pkey: %s\n", g.ranges(g.pkeys())) },
	} {
		if g.chance(35) {
			line()
		}
	}
	fmt.Fprintf(b, "    qos-level-name: %s\n  end-qos-match-rule\n", strings.ToLower(g.levels[g.IntN(len(g.levels))]))
}

func (g *qosGenerator) ulp(b *strings.Builder, i int) {
	if i == 0 {
		fmt.Fprintf(b, "  default : %d\n", g.IntN(15))
		return
	}
	line := []func() string{
		func() string { return "sdp" },
		func() string { return "sdp, port-num " + g.ranges([]uint64{0xabcd, 0}) },
		func() string { return "rds" },
		func() string { return "iser, port-num " + g.ranges([]uint64{0xcb0}) },
		func() string { return "iser" },
		func() string { return "srp, target-port-guid " + g.ranges(g.guids()) },
		func() string { return "ipoib" },
		func() string { return fmt.Sprintf("IPoIB, pkey %#x", g.keys[g.IntN(len(g.keys))]) },
		func() string { return "any, service-id " + g.ranges(qosServices) },
		func() string { return "any, pkey " + g.ranges(g.pkeys()) },
		func() string { return "any, source-port-guid " + g.ranges(g.guids()) },
		func() string { return "any, source-target-port-guid " + g.ranges(g.guids()) },
	}[g.IntN(12)]()
	fmt.Fprintf(b, "  %s : %d\n", line, g.IntN(15))
}

// question is a request for paths, of either kind.
func (g *qosGenerator) question() question {
	from := g.IntN(g.hosts)
	src, dst := g.own[from], g.gids[g.IntN(len(g.gids))]
	if g.chance(10) {
		src = g.gids[g.IntN(len(g.gids))]
	}
	var rec sarec.PathRecord
	comps := sarec.PathSGID | sarec.PathDGID
	rec.SetSGID(src)
	rec.SetDGID(dst)
	for _, ask := range []func(){
		func() {
			rec.SetServiceID(qosServices[g.IntN(len(qosServices))] + uint64(g.IntN(4)))
			comps |= sarec.PathServiceIDHigh | sarec.PathServiceIDLow
		},
		func() {
			rec.SetQoSClass(uint16(qosClasses[g.IntN(len(qosClasses))] + uint64(g.IntN(4))))
			comps |= sarec.PathQoSClass
		},
		func() {
			keys := append(g.pkeys(), 0xffff, 0x7fff)
			rec.SetPKey(mad.PKey(keys[g.IntN(len(keys))]))
			comps |= sarec.PathPKey
		},
		func() { rec.SetSL(uint8(g.IntN(16))); comps |= sarec.PathSL },
		func() {
			rec.SetMTU(sarec.Selector(g.IntN(4)), mad.MTU(1+g.IntN(5)))
			comps |= sarec.PathMTU | sarec.PathMTUSelector
		},
		func() {
			rec.SetRate(sarec.Selector(g.IntN(4)), mad.Rate(2+g.IntN(9)))
			comps |= sarec.PathRate | sarec.PathRateSelector
		},
		func() {
			rec.SetPacketLifeTime(sarec.Selector(g.IntN(4)), uint8(2+g.IntN(25)))
			comps |= sarec.PathPacketLifeTime | sarec.PathPacketLifeTimeSelector
		},
		func() { rec.SetReversible(true); comps |= sarec.PathReversible },
		func() { rec.SetRawTraffic(true); comps |= sarec.PathRawTraffic },
	} {
		if g.chance(25) && (comps&sarec.PathServiceIDLow != 0 || g.chance(70)) {
			ask()
		}
	}
	if g.chance(25) {
		return question{from, g.multi(&rec, comps)}
	}
	p := request(mad.MethodGet, sarec.AttrPathRecord, comps)
	copy(p.SAData()[:], rec[:])
	return question{from, p}
}

// multi asks the same of the paths to one or two destinations, by RMPP.
func (g *qosGenerator) multi(rec *sarec.PathRecord, from mad.ComponentMask) mad.Packet {
	var m sarec.MultiPathRecord
	gids := []mad.GID{rec.SGID(), rec.DGID()}
	if g.chance(40) {
		gids = append(gids, g.gids[g.IntN(len(g.gids))])
	}
	m.SetSGIDCount(1)
	// The fields that both records have: from octet 44 on, there as here.
	binary.BigEndian.PutUint32(m[0:], binary.BigEndian.Uint32(rec[44:])) // RawTraffic
	m[5] = rec[49]&0x80 | 3                                              // Reversible, NumbPath
	copy(m[6:8], rec[50:52])
	copy(m[8:10], rec[52:54])
	m[10], m[11], m[12] = rec[54], rec[55], rec[56]
	m[13] = rec[0]
	copy(m[17:24], rec[1:8])
	m[16] = uint8(len(gids) - 1)
	for i, gid := range gids {
		m.SetGID(i, gid)
	}
	comps := sarec.MultiPathSGIDCount | sarec.MultiPathDGIDCount | sarec.MultiPathNumbPath
	for _, c := range []struct{ path, multi mad.ComponentMask }{
		{sarec.PathServiceIDHigh, sarec.MultiPathServiceIDHigh | sarec.MultiPathServiceIDLow},
		{sarec.PathQoSClass, sarec.MultiPathQoSClass},
		{sarec.PathPKey, sarec.MultiPathPKey}, {sarec.PathSL, sarec.MultiPathSL},
		{sarec.PathMTU, sarec.MultiPathMTU | sarec.MultiPathMTUSelector},
		{sarec.PathRate, sarec.MultiPathRate | sarec.MultiPathRateSelector},
		{sarec.PathPacketLifeTime, sarec.MultiPathPacketLifeTime | sarec.MultiPathPacketLifeTimeSelector},
		{sarec.PathReversible, sarec.MultiPathReversible}, {sarec.PathRawTraffic, sarec.MultiPathRawTraffic},
	} {
		if from.Has(c.path) {
			comps |= c.multi
		}
	}
	p := request(mad.MethodGetMulti, sarec.AttrMultiPathRecord, comps)
	copy(p.SAData()[:], m[:24+16*len(gids)])
	setRMPP(&p, 1, 0x07, 1, uint32(20+24+16*len(gids)))
	return p
}

// setRMPP makes of a packet one of an RMPP transfer (IBA 13.6.2.1).
func setRMPP(p *mad.Packet, kind, flags byte, segment, length uint32) {
	p[24], p[25], p[26], p[27] = 1, kind, flags, 0
	binary.BigEndian.PutUint32(p[28:], segment)
	binary.BigEndian.PutUint32(p[32:], length)
}
