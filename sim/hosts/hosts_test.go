package hosts

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// harness is one switch, the SA at its first port, a crowd at the others.
type harness struct {
	t     *testing.T
	f     *fabric.Fabric
	sa    *fabric.Station
	crowd *Crowd
}

const numHosts = 3

// newHarness gives host i the LID 1+i and the switch the last, and has all links Active.
func newHarness(t *testing.T) *harness {
	n := &net.Net{
		Nodes: []net.Node{
			{ID: "switch", Type: mad.Switch, GUID: 0x100, Ports: []net.Port{{GUID: 0x100, Peer: net.NoEnd}}},
		},
	}
	for i := range 1 + numHosts {
		guid := mad.GUID(0x200 + 16*i)
		n.Nodes[0].Ports = append(n.Nodes[0].Ports, net.Port{Peer: net.End{Node: int32(1 + i), Port: 1}})
		n.Nodes = append(n.Nodes, net.Node{ID: string(rune('a' + i)), Type: mad.CA, GUID: guid,
			Ports: []net.Port{{Peer: net.NoEnd}, {GUID: guid + 1, Peer: net.End{Node: 0, Port: uint8(1 + i)}}}})
	}
	n.Profile = nettest.Profile(t)
	b := &harness{t: t, f: fabric.New(n, fabric.Config{Seed: 1})}
	var err error
	if b.sa, err = b.f.Attach(net.End{Node: 1, Port: 1}); err != nil {
		t.Fatal(err)
	}
	row := [mad.DataSize]byte{0: 0xff, 1: 1, 2: 2, 3: 3, 4: 4, 5: 0}
	b.change(smp.AttrSwitchInfo, 0, func(d *[64]byte) { (*smp.SwitchInfo)(d).SetLinearFDBTop(5) }, 1)
	b.change(smp.AttrLinearForwardingTable, 0, func(d *[64]byte) { *d = row }, 1)
	for _, state := range []smp.PortState{smp.PortArmed, smp.PortActive} {
		for i := range 1 + numHosts {
			path := []uint8{1, uint8(1 + i)}
			if i == 0 {
				path = nil
			}
			b.port(0, state, mad.LID(1+i), path...)
			b.port(uint8(1+i), state, 0, 1)
		}
	}
	if at, not := b.f.FirstNotActive(); not {
		t.Fatalf("not active: %v", at)
	}
	var ends []net.End
	for i := range numHosts {
		ends = append(ends, net.End{Node: int32(2 + i), Port: 1})
	}
	if b.crowd, err = New(b.f, 1, ends); err != nil {
		t.Fatal(err)
	}
	return b
}

// change gets an attribute and sets it, edited.
func (b *harness) change(attr mad.AttrID, mod uint32, edit func(*[64]byte), path ...uint8) {
	b.t.Helper()
	route := mad.MakeRoute(path...)
	d := []mad.Datagram{{Addr: mad.Addr{LID: mad.PermissiveLID}}}
	for _, method := range []mad.Method{mad.MethodGet, mad.MethodSet} {
		data := *d[0].Packet.Data()
		d[0].Packet = mad.Packet{}
		d[0].Packet.SetDirected(&route, method, attr, mod)
		if method == mad.MethodSet {
			edit(&data)
			*d[0].Packet.Data() = data
		}
		b.sa.Send(d)
		if b.sa.Recv(d) != 1 || d[0].Packet.Status() != mad.StatusOK {
			b.t.Fatalf("%v %s along %v: %v", method, smp.AttrName(attr), path, d[0].Packet.Status())
		}
	}
}

func (b *harness) port(num uint8, state smp.PortState, lid mad.LID, path ...uint8) {
	b.t.Helper()
	b.change(smp.AttrPortInfo, smp.PortInfoMod(num, true), func(d *[64]byte) {
		info := (*smp.PortInfo)(d)
		info.KeepStates()
		info.SetPortState(state)
		if lid != 0 {
			info.SetLID(lid)
			info.SetMasterSMLID(1)
		}
	}, path...)
}

// run lets time pass in steps; reply says what the SA makes of a request, false for
// nothing.
func (b *harness) run(d time.Duration, reply func(in, out *mad.Packet) bool) {
	buf := make([]mad.Datagram, 16)
	for end := b.f.Now() + d; b.f.Now() < end; {
		b.f.Advance(b.f.Now() + time.Millisecond)
		b.crowd.Step()
		for _, in := range buf[:b.sa.Recv(buf)] {
			out := in
			out.Packet.SetMethod(in.Packet.Method()&^mad.MethodSet | mad.MethodGetResp)
			if reply(&in.Packet, &out.Packet) {
				b.sa.Send([]mad.Datagram{out})
			}
		}
	}
}

func grant(_, _ *mad.Packet) bool { return true }

// Every host asks for everything once, with what the SA needs to know.
func TestBoot(t *testing.T) {
	b := newHarness(t)
	seen := map[mad.AttrID]int{}
	b.crowd.Begin(Boot{Over: 50 * time.Millisecond, Paths: 5, Every: time.Millisecond})
	answer := func(in, _ *mad.Packet) bool {
		seen[in.AttrID()]++
		if in.AttrID() == sarec.AttrPathRecord {
			rec := (*sarec.PathRecord)(in.SAData()[:64])
			if rec.SGID() == rec.DGID() || rec.SGID().GUID() == 0 {
				t.Errorf("path from %v to %v", rec.SGID(), rec.DGID())
			}
		}
		return true
	}
	b.run(200*time.Millisecond, answer)
	b.crowd.Begin(Boot{Own: true})
	b.run(200*time.Millisecond, answer)
	if seen[sarec.AttrMCMemberRecord] != 3*numHosts || seen[sarec.AttrServiceRecord] != numHosts ||
		seen[sarec.AttrInformInfo] != 4*numHosts || seen[sarec.AttrPathRecord] != 5*numHosts {
		t.Errorf("the SA was asked %v", seen)
	}
	r := b.crowd.Report()
	for kind, want := range [NumKinds]int{numHosts, numHosts, 4 * numHosts, 5 * numHosts, numHosts, numHosts} {
		if o := &r.Kinds[kind]; len(o.Took) != want || o.Asked != uint64(want) || o.Resent != 0 || o.GivenUp != 0 {
			t.Errorf("%v: %+v, want %d granted", Kind(kind), o, want)
		}
	}
	if b.crowd.Open() != 0 || !b.crowd.Begun() {
		t.Errorf("%d open, begun %v", b.crowd.Open(), b.crowd.Begun())
	}
}

// A join is tried eleven times, 300 ms apart, and given up then; an answer in between
// ends it, a status that is not 0 too.
func TestPatience(t *testing.T) {
	for _, tt := range []struct {
		name             string
		answerAt         int // which try is answered; 0 none
		status           mad.Status
		granted, refused int
		resent, givenUp  uint64
		took             time.Duration
	}{
		{"at once", 1, mad.StatusOK, numHosts, 0, 0, 0, 0},
		{"at the third try", 3, mad.StatusOK, numHosts, 0, 2 * numHosts, 0, 600 * time.Millisecond},
		{"refused", 1, mad.StatusNoResources, 0, numHosts, 0, 0, 0},
		{"never", 0, mad.StatusOK, 0, 0, 10 * numHosts, numHosts, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newHarness(t)
			tries := map[mad.TID]int{}
			b.crowd.Begin(Boot{})
			b.run(4*time.Second, func(in, out *mad.Packet) bool {
				if in.AttrID() != sarec.AttrMCMemberRecord || in.Method() != mad.MethodSet {
					return true
				}
				tries[in.TID()]++
				out.SetStatus(tt.status)
				return tries[in.TID()] == tt.answerAt
			})
			r := b.crowd.Report()
			o := &r.Kinds[Join]
			if len(o.Took) != tt.granted || o.Refused[tt.status] != uint64(tt.refused) || o.Resent != tt.resent ||
				o.GivenUp != tt.givenUp {
				t.Errorf("%+v", o)
			}
			if got := o.Quantile(1); got < tt.took || got > tt.took+10*time.Millisecond {
				t.Errorf("took %v, want %v", got, tt.took)
			}
			if b.crowd.Open() != 0 {
				t.Errorf("%d are open", b.crowd.Open())
			}
		})
	}
}

func TestKeepOpen(t *testing.T) {
	b := newHarness(t)
	b.crowd.KeepOpen(4)
	if b.crowd.Open() != 4 {
		t.Fatalf("%d are open", b.crowd.Open())
	}
	b.run(20*time.Millisecond, grant)
	b.crowd.KeepOpen(0)
	b.run(10*time.Millisecond, grant)
	r := b.crowd.Report()
	if o := &r.Kinds[Path]; o.Asked < 40 || len(o.Took) != int(o.Asked) || b.crowd.Open() != 0 {
		t.Errorf("%d asked, %d granted, %d open", o.Asked, len(o.Took), b.crowd.Open())
	}
}

// A Report is acknowledged.
func TestReport(t *testing.T) {
	b := newHarness(t)
	d := mad.Datagram{Addr: mad.Addr{LID: 2, QPN: 1}}
	d.Packet.SetHeader(mad.ClassSA, mad.MethodReport, 2, 0)
	d.Packet.SetTID(9)
	acks := 0
	b.sa.Send([]mad.Datagram{d})
	b.run(5*time.Millisecond, func(in, _ *mad.Packet) bool {
		if in.Method() == mad.MethodReportResp && in.TID() == 9 {
			acks++
		}
		return false
	})
	if r := b.crowd.Report(); acks != 1 || r.Reports != 1 {
		t.Errorf("%d acknowledged, %d reports", acks, r.Reports)
	}
}
