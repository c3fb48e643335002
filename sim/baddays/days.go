package baddays

import (
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/sim/hosts"
	"ibsm/topo/net"
)

// Day is a kind of bad day.
type Day struct {
	Name string // "flapping"
	What string // what happens
	plan func(c *Course) error
}

// Days are all kinds.
var Days = []Day{
	{"flapping", "all ports of a switch lose their links ten times a second", flapping},
	{"ports", "5,000 hosts, or all, lose their links and have them again within a second", ports},
	{"traps", "1,000 traps a second", traps},
	{"spine", "a spine answers every third SMP, while a cable is pulled and plugged", spine},
	{"loss", "a third of all SMPs is lost, while a cable is pulled and plugged", loss},
	{"power", "the hall is without power for a second; then all hosts boot", power},
	{"morning", "all hosts ask for groups, services and paths at once", morning},
	{"reboots", "the hosts of a rack reboot again and again", reboots},
}

// Find is the kind with a name.
func Find(name string) (Day, bool) {
	if i := slices.IndexFunc(Days, func(d Day) bool { return d.Name == name }); i >= 0 {
		return Days[i], true
	}
	return Day{}, false
}

// What happens how often.
const (
	flapPeriod   = 100 * time.Millisecond
	mostPorts    = 5000
	trapInterval = time.Millisecond
	trapSenders  = 50
	cableEvery   = 2 * time.Second // a cable is pulled, and plugged half of that later
	lossRate     = 1.0 / 3
	dark         = time.Second            // without power
	powerSpread  = 500 * time.Millisecond // within which all have power again
	downTime     = 300 * time.Millisecond // of a host that reboots
)

// askAtOnce is what all hosts do in a morning: first for groups of their own and services, and then for the rest.
var askAtOnce = []hosts.Boot{
	{Over: 200 * time.Millisecond, Own: true},
	{Over: 200 * time.Millisecond, Paths: 8, Every: 20 * time.Millisecond},
}

// flapping has each port of a switch with hosts lose its link for half of each period, at moments of its own.
func flapping(c *Course) error {
	sw := c.leaves[len(c.leaves)-1]
	for num := range c.f.NumPorts(sw) {
		at := net.End{Node: sw, Port: num + 1}
		for t := c.moment(flapPeriod); t+flapPeriod/2 <= c.lasts; t += flapPeriod {
			c.at(t, func() { c.f.LinkDown(at) })
			c.at(t+flapPeriod/2, func() { c.f.LinkUp(at) })
		}
	}
	return nil
}

// ports has hosts lose their links at any moment of half a second, for half a second.
func ports(c *Course) error {
	c.lasts = time.Second
	lost := c.hosts
	c.random.Shuffle(len(lost), func(i, j int) { lost[i], lost[j] = lost[j], lost[i] })
	for _, at := range lost[:min(len(lost), mostPorts)] {
		t := c.moment(c.lasts / 2)
		c.at(t, func() { c.f.LinkDown(at) })
		c.at(t+c.lasts/2, func() { c.f.LinkUp(at) })
	}
	return nil
}

// traps has hosts send traps about themselves: errors at their ports, wrong P_Keys, changed capabilities.
func traps(c *Course) error {
	senders := c.hosts[:min(len(c.hosts), trapSenders)]
	stations := make([]*fabric.Station, len(senders))
	for i, at := range senders {
		var err error
		if stations[i], err = c.f.Attach(at); err != nil {
			return err
		}
		stations[i].OnReceive(func(mad.Datagram) {})
	}
	sent := 0
	for t := time.Duration(0); t < c.lasts; t += trapInterval {
		c.at(t, func() {
			i := sent % len(senders)
			info := c.f.PortInfo(senders[i])
			d := mad.Datagram{Addr: mad.Addr{LID: info.MasterSMLID(), SL: info.MasterSMSL()}}
			c.writeTrap(&d.Packet, &info, sent)
			stations[i].Send([]mad.Datagram{d})
			sent++
		})
	}
	c.at(c.lasts, func() {
		for _, s := range stations {
			s.Detach()
		}
	})
	return nil
}

// writeTrap writes trap number n of a port.
func (c *Course) writeTrap(p *mad.Packet, info *smp.PortInfo, n int) {
	numbers := [...]smp.TrapNumber{smp.TrapLinkIntegrity, smp.TrapBufferOverrun, smp.TrapFlowControl,
		smp.TrapLocalChange, smp.TrapBadPKey}
	p.SetHeader(mad.ClassLIDRouted, mad.MethodTrap, smp.AttrNotice, 0)
	p.SetTID(mad.TID(n + 1))
	notice := (*smp.Notice)(p.Data())
	notice.SetIsGeneric(true)
	notice.SetProducerType(smp.ProducerType(mad.CA))
	notice.SetIssuerLID(info.LID())
	number := numbers[c.random.IntN(len(numbers))]
	notice.SetTrapNumber(number)
	switch number {
	case smp.TrapLocalChange:
		notice.LocalChange().SetLID(info.LID())
		notice.LocalChange().SetCapabilityMask(info.CapabilityMask())
	case smp.TrapBadPKey:
		notice.BadKey().SetLID1(info.LID())
		notice.BadKey().SetLID2(info.LID())
		notice.BadKey().SetKey(c.random.Uint32() & 0xffff)
	default:
		notice.PortError().SetLID(info.LID())
		notice.PortError().SetPortNum(info.LocalPortNum())
	}
}

// spine has a switch without hosts answer every third request.
func spine(c *Course) error {
	asked := 0
	c.at(0, func() {
		c.f.SetDefect(c.spine, func(_ *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
			if asked++; asked%3 != 0 {
				return 0, false
			}
			return obey(), true
		})
	})
	c.at(c.lasts, func() { c.f.SetDefect(c.spine, nil) })
	c.pullCable()
	return nil
}

func loss(c *Course) error {
	before, _ := c.f.Faults()
	c.at(0, func() { c.f.SetFaults(fabric.Faults{SMPLoss: lossRate}) })
	c.at(c.lasts, func() { c.f.SetFaults(before) })
	c.pullCable()
	return nil
}

// pullCable pulls a cable of the spine, and plugs it, again and again.
func (c *Course) pullCable() {
	at := net.End{Node: c.spine, Port: c.f.NumPorts(c.spine)}
	for ; c.f.Peer(at) == net.NoEnd; at.Port-- {
	}
	for t := cableEvery / 4; t+cableEvery/2 < c.lasts; t += cableEvery {
		c.at(t, func() { c.f.LinkDown(at) })
		c.at(t+cableEvery/2, func() { c.f.LinkUp(at) })
	}
}

// power takes the power of all but the managers' place away.
func power(c *Course) error {
	c.lasts = dark + powerSpread
	for node := range int32(c.f.NumNodes()) {
		if !c.spared[node] {
			c.at(0, func() { c.f.NodeDown(node) })
			c.at(dark+c.moment(powerSpread), func() { c.f.NodeUp(node) })
		}
	}
	return c.ask(c.lasts, c.hosts, askAtOnce...)
}

func morning(c *Course) error {
	c.lasts = time.Second
	return c.ask(0, c.hosts, askAtOnce...)
}

// reboots has each host of a leaf reboot once a second.
func reboots(c *Course) error {
	var rack []net.End
	sw := c.leaves[len(c.leaves)-1]
	for num := range c.f.NumPorts(sw) {
		if peer := c.f.Peer(net.End{Node: sw, Port: num + 1}); peer.Node >= 0 && c.f.NodeType(peer.Node) != mad.Switch {
			rack = append(rack, peer)
		}
	}
	for t := time.Duration(0); t < c.lasts; t += time.Second {
		for _, at := range rack {
			down := t + c.moment(time.Second-downTime)
			c.at(down, func() { c.f.NodeDown(at.Node) })
			c.at(down+downTime, func() { c.f.NodeUp(at.Node) })
		}
	}
	return c.ask(downTime, rack, hosts.Boot{Over: c.lasts, Paths: 8, Every: 20 * time.Millisecond})
}
