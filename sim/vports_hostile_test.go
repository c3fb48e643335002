package sim_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/sweep/vports"
	"ibsm/topo/net"
)

// liar has an adapter's agent answer requests about vPorts with what change makes of the truth, and counts them.
func (b *functions) liar(at net.End, change func(p *mad.Packet, status mad.Status) (mad.Status, bool)) (asked *int) {
	asked = new(int)
	b.Fabric.SetDefect(at.Node, func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
		if p.AttrID() < smp.AttrVirtualizationInfo || p.AttrID() > smp.AttrVPortPKeyTable {
			return obey(), true
		}
		*asked++
		return change(p, obey())
	})
	return asked
}

// mustBeUpBut fails the test unless all functions but those of one port are ACTIVE, and that port is as any other.
func (b *functions) mustBeUpBut(odd net.End) {
	b.Helper()
	wrong := 0
	for at := range b.functions() {
		if is := b.state(at); is != smp.PortActive && at.At != odd {
			if wrong++; wrong < 5 {
				b.Errorf("%v is %v", at, is)
			}
		}
	}
	info := b.Fabric.PortInfo(odd)
	if info.PortState() != smp.PortActive || !slices.Equal(b.Fabric.PKeys(odd), []mad.PKey{0xffff}) {
		b.Errorf("the port of the odd adapter is %v, with P_Keys %v", info.PortState(), b.Fabric.PKeys(odd))
	}
	b.mustBeWhole(b.m)
}

// mustName fails the test unless a finding of a kind is about an adapter.
func (b *functions) mustName(kind finding.Kind, odd net.End) {
	b.Helper()
	guid := b.net.Nodes[odd.Node].GUID
	about := func(f finding.Finding) bool { return f.Kind == kind && f.Node == guid }
	if !slices.ContainsFunc(b.m.View.Findings, about) {
		b.Errorf("no finding of kind %v is about %v: %v", kind, guid, b.m.View.Findings)
	}
}

// An adapter whose replies about vPorts are changed at random, some or all, in some bits or in all, costs a bounded
// number of requests. Its port works on, and so do the functions of all others.
func TestFunctionRepliesChanged(t *testing.T) {
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 59))
			b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 3, OwnLIDs: seed%2 == 0},
				fabric.Config{Seed: seed})
			odd, often, bits := host(b.net, 5), 1+rng.IntN(6), 1<<rng.IntN(10)
			asked := b.liar(odd, func(p *mad.Packet, status mad.Status) (mad.Status, bool) {
				if rng.IntN(often) > 0 {
					return status, true
				}
				for range bits {
					bit := rng.IntN(8 * mad.DataSize)
					p.Data()[bit/8] ^= 1 << (bit % 8)
				}
				if rng.IntN(8) == 0 {
					status = mad.Status(rng.IntN(0x20))
				}
				return status, rng.IntN(8) > 0
			})
			b.start(virtualConfig(vports.Enable))
			b.pass(9 * time.Minute)
			if *asked > 400 {
				t.Errorf("%d requests to the odd adapter in ten minutes", *asked)
			}
			b.mustBeUpBut(odd)
		})
	}
}

// An adapter that says that it has 65,535 vPorts is left alone and named. One that says that it has as many as are
// looked after, each up and with a GUID of its own, costs a bounded number of requests.
func TestFunctionsClaimed(t *testing.T) {
	for _, c := range []struct {
		top, most int
		named     bool
	}{{65534, 20, true}, {1023, 60_000, false}} {
		t.Run(fmt.Sprint(c.top), func(t *testing.T) {
			b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 3}, fabric.Config{})
			odd := host(b.net, 5)
			asked := b.liar(odd, func(p *mad.Packet, _ mad.Status) (mad.Status, bool) {
				switch p.AttrID() {
				case smp.AttrVirtualizationInfo:
					info := (*smp.VirtualizationInfo)(p.Data())
					binary.BigEndian.PutUint16(info[0:], 0xffff)
					binary.BigEndian.PutUint16(info[2:], uint16(c.top))
					info.SetVirtualizationEnable(true)
				case smp.AttrVPortState:
					for i := range p.Data() {
						p.Data()[i] = 0x22
					}
				case smp.AttrVPortInfo:
					info := (*smp.VPortInfo)(p.Data())
					*info = smp.VPortInfo{0x20}
					binary.BigEndian.PutUint64(info[12:], 0x03<<56|uint64(p.AttrMod()))
				case smp.AttrVNodeInfo:
					*p.Data() = [mad.DataSize]byte{0xff, 0xff, 1, 1}
				default:
					*p.Data() = [mad.DataSize]byte{}
				}
				return mad.StatusOK, true
			})
			b.start(virtualConfig(vports.Enable))
			b.pass(9 * time.Minute)
			if *asked > c.most {
				t.Errorf("%d requests to the odd adapter in ten minutes, want at most %d", *asked, c.most)
			}
			before := *asked
			b.pass(time.Hour)
			if n := *asked - before; n > 500 {
				t.Errorf("%d requests to the odd adapter in an hour after that", n)
			}
			t.Logf("%d requests, %d in another hour", before, *asked-before)
			if c.named {
				b.mustName(finding.VPortsLeft, odd)
			} else {
				b.mustName(finding.VPortLeft, odd)
			}
			b.mustBeUpBut(odd)
		})
	}
}

// A function that comes and goes 100 times a second is named, and its adapter is asked seldom then. Another host's
// functions are up within a second meanwhile, and it is, too, when it has come to rest.
func TestFunctionFlaps(t *testing.T) {
	b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 3}, fabric.Config{})
	odd, other := fabric.VPort{At: host(b.net, 5), Index: 2}, fabric.VPort{At: host(b.net, 6), Index: 1}
	asked := b.liar(odd.At, func(_ *mad.Packet, status mad.Status) (mad.Status, bool) { return status, true })
	b.start(virtualConfig(vports.Enable))
	b.mustAllBe(smp.PortActive)
	flap := func(d time.Duration) {
		for end := b.Fabric.Now() + d; b.Fabric.Now() < end; {
			b.Fabric.RebootFunction(odd)
			b.pass(10 * time.Millisecond)
		}
	}
	flap(time.Minute)
	b.mustName(finding.VPortsStorm, odd.At)
	before := *asked
	b.Fabric.RebootFunction(other)
	flap(time.Second)
	if is := b.state(other); is != smp.PortActive {
		t.Errorf("the function of another host is %v a second after it began", is)
	}
	flap(time.Minute)
	if n := *asked - before; n > 600 { // six visits, and what a function that restarts meanwhile does not take
		t.Errorf("the odd adapter is asked %d times in a minute", n)
	}
	t.Logf("%d requests in the first minute, %d in the second", before, *asked-before)
	b.pass(30 * time.Second)
	b.mustAllBe(smp.PortActive)
	b.pass(time.Minute)
	for _, f := range b.m.View.Findings {
		t.Errorf("a finding: %v", f.String())
	}
	b.mustBeWhole(b.m)
}

// A host that sends all traps about vPorts in the names of others, and with any content, has nobody else asked. What it
// sends in its own name costs what a function that flaps does.
func TestFunctionTrapsForged(t *testing.T) {
	for _, own := range []bool{false, true} {
		t.Run(fmt.Sprintf("in its own name %t", own), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 60))
			b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 3}, fabric.Config{})
			b.start(virtualConfig(vports.Enable))
			b.mustAllBe(smp.PortActive)
			odd := host(b.net, 5)
			i := b.intrude(odd)
			mine, sm := b.Fabric.PortInfo(odd), b.Fabric.PortInfo(firstHost(b.net))
			gets, sets := b.asked()
			began := b.Fabric.Now()
			for n := range 10_000 {
				var d mad.Datagram
				d.LID = sm.LID()
				p := &d.Packet
				p.SetHeader(mad.ClassLIDRouted, mad.MethodTrap, smp.AttrNotice, 0)
				p.SetTID(mad.TID(n + 1))
				for k := range p.Data() {
					p.Data()[k] = uint8(rng.Uint32())
				}
				notice := (*smp.Notice)(p.Data())
				lid := mad.LID(1 + rng.IntN(14))
				if own {
					lid = mine.LID()
				}
				notice.SetIsGeneric(false)
				notice.SetType(1)
				notice.SetVendorID(0x0002c9)
				notice.SetTrapNumber([]smp.TrapNumber{1144, 1146, 1257, 1258}[rng.IntN(4)])
				notice.SetIssuerLID(lid)
				for _, at := range []int{2, 4} {
					binary.BigEndian.PutUint16(notice[10+at:], uint16(lid))
				}
				i.station.Send([]mad.Datagram{d})
				b.pass(time.Millisecond)
			}
			took := b.Fabric.Now() - began
			moreGets, moreSets := b.asked()
			t.Logf("%d Gets and %d Sets in %v", moreGets-gets, moreSets-sets, took)
			if moreSets != sets || moreGets-gets > 300 {
				t.Errorf("%d Gets and %d Sets because of traps", moreGets-gets, moreSets-sets)
			}
			b.pass(30 * time.Second)
			b.mustAllBe(smp.PortActive)
			b.mustBeWhole(b.m)
		})
	}
}
