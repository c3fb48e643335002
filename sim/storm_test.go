package sim_test

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// asker is a program at a host that asks the manager for its SMInfo all the time.
type asker struct {
	harness *harness
	station *fabric.Station
	lid     mad.LID // the manager's
	tid     mad.TID
	sent    time.Duration
	waiting bool
	slowest time.Duration
	count   int
}

func (b *harness) asker(at net.End, m *watched) *asker {
	b.Helper()
	st, err := b.Fabric.Attach(at)
	if err != nil {
		b.Fatal(err)
	}
	return &asker{harness: b, station: st, lid: m.View.SMs[0].LID}
}

// turn takes an answer, and asks again.
func (a *asker) turn() {
	now := a.harness.Fabric.Now()
	buf := make([]mad.Datagram, 8)
	for n := a.station.Recv(buf); n > 0; n = a.station.Recv(buf) {
		for i := range buf[:n] {
			if a.waiting && buf[i].Packet.TID() == a.tid && buf[i].Packet.AttrID() == smp.AttrSMInfo {
				a.slowest = max(a.slowest, now-a.sent)
				a.waiting = false
				a.count++
			}
		}
	}
	if a.waiting {
		return
	}
	a.tid++
	var d mad.Datagram
	d.LID = a.lid
	d.Packet.SetHeader(mad.ClassLIDRouted, mad.MethodGet, smp.AttrSMInfo, 0)
	d.Packet.SetTID(a.tid)
	a.sent, a.waiting = now, true
	a.station.Send([]mad.Datagram{d})
}

// stepWatch measures how long the core computes for one event, in real time.
type stepWatch struct{ slowest time.Duration }

func (s *stepWatch) took(_ manager.Event, d time.Duration) { s.slowest = max(s.slowest, d) }

// storm lets the fabric run while strike does its worst every interval, with somebody
// asking for SMInfo throughout, and then waits for calm and judges.
func (b *harness) storm(m *watched, at net.End, length, interval time.Duration, strike func(i int), calm func()) {
	b.Helper()
	a := b.asker(at, m)
	var watch stepWatch
	b.StepTook = watch.took
	ups := len(m.ups)
	begin := b.Fabric.Now()
	for i := 0; b.Fabric.Now() < begin+length; i++ {
		strike(i)
		a.turn()
		b.Run(b.Fabric.Now()+interval, func() bool { a.turn(); return false })
	}
	calm()
	b.StepTook = nil
	b.pass(settling)
	sweeps := len(m.ups) - ups
	b.Logf("%d sweeps, %d SMInfo answers, slowest after %v; slowest step of the core %v", sweeps, a.count, a.slowest,
		watch.slowest)
	if a.slowest > 10*time.Millisecond || a.count < 100 {
		b.Errorf("SMInfo: %d answers, slowest after %v; want many, in 10ms", a.count, a.slowest)
	}
	if limit := int((length+settling)/(50*time.Millisecond)) / 2; sweeps > limit {
		b.Errorf("%d sweeps: they do not join", sweeps)
	}
	b.mustBeWhole(m)
}

// stormSpec is a fabric for storms: large in full size.
func stormSpec(small, large string) string {
	if os.Getenv("IBSM_PROOF") != "" {
		return large
	}
	return small
}

// trapOf is a trap about port 1 of the node with a LID, or about the node.
func trapOf(number smp.TrapNumber, lid mad.LID, tid int) mad.Datagram {
	return trapFrom(number, lid, tid, func(n *smp.Notice) {
		n.PortError().SetLID(lid)
		n.PortError().SetPortNum(1)
	})
}

// trapFrom is a trap of the node with a LID, with the details that fill writes.
func trapFrom(number smp.TrapNumber, lid mad.LID, tid int, fill func(*smp.Notice)) (d mad.Datagram) {
	d.LID = lid
	d.Packet.SetHeader(mad.ClassLIDRouted, mad.MethodTrap, smp.AttrNotice, 0)
	d.Packet.SetTID(mad.TID(tid))
	notice := (*smp.Notice)(d.Packet.Data())
	notice.SetIsGeneric(true)
	notice.SetTrapNumber(number)
	notice.SetIssuerLID(lid)
	fill(notice)
	return d
}

// A thousand traps a second from one port are repressed and joined.
func TestTrapStorm(t *testing.T) {
	n := nettest.Generate(t, stormSpec("fattree:k=4", "fattree:k=16"))
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	noisy := host(n, 3)
	lid := b.Fabric.PortInfo(noisy)
	numbers := []smp.TrapNumber{smp.TrapLinkIntegrity, smp.TrapBufferOverrun, smp.TrapLocalChange, smp.TrapBadPKey,
		smp.TrapLinkState}
	b.storm(m, host(n, 2), 10*time.Second, time.Millisecond, func(i int) {
		b.Deliver(m.Manager, trapOf(numbers[i%len(numbers)], lid.LID(), i+1))
	}, func() {})
}

// A switch whose ports flap ten times a second.
func TestFlappingSwitch(t *testing.T) {
	n := nettest.Generate(t, stormSpec("fattree:k=8", "fattree:k=40,levels=2"))
	b := newHarness(t, n, fabric.Config{Seed: 1, TrainTime: 20 * time.Millisecond})
	m := b.comeUp(minhopConfig())
	sw := b.Fabric.Peer(host(n, 40)).Node
	ports := n.Nodes[sw].NumPorts()
	b.storm(m, host(n, 2), 10*time.Second, 50*time.Millisecond, func(i int) {
		for num := 1; num <= ports; num++ {
			at := net.End{Node: sw, Port: uint8(num)}
			if i%2 == 0 {
				b.Fabric.LinkDown(at)
			} else {
				b.Fabric.LinkUp(at)
			}
		}
	}, func() {
		for num := 1; num <= ports; num++ {
			b.Fabric.LinkUp(net.End{Node: sw, Port: uint8(num)})
		}
	})
}

// Very many ports are lost within a second, and come back.
func TestManyPortsLost(t *testing.T) {
	n := nettest.Generate(t, stormSpec("fattree:k=8", "fattree:k=28"))
	b := newHarness(t, n, fabric.Config{Seed: 1, TrainTime: 20 * time.Millisecond})
	m := b.comeUp(minhopConfig())
	rng := rand.New(rand.NewPCG(7, 7))
	var lost []net.End
	for i := host(n, 3).Node; int(i) < len(n.Nodes); i++ {
		if n.Nodes[i].Type == mad.CA {
			lost = append(lost, net.End{Node: i, Port: 1})
		}
	}
	rng.Shuffle(len(lost), func(i, j int) { lost[i], lost[j] = lost[j], lost[i] })
	if len(lost) > 5000 {
		lost = lost[:5000]
	}
	const steps = 50
	b.storm(m, host(n, 2), 2*time.Second, time.Second/steps, func(i int) {
		for k := range lost {
			if k%steps != i%steps {
				continue
			}
			if i < steps {
				b.Fabric.LinkDown(lost[k])
			} else {
				b.Fabric.LinkUp(lost[k])
			}
		}
	}, func() {
		for _, at := range lost {
			b.Fabric.LinkUp(at)
		}
	})
}
