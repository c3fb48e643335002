package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/partitions"
	"ibsm/registry"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/vports"
	"ibsm/topo/net"
	"ibsm/view"
)

// virtualSAConfig is virtualConfig with an SA.
func virtualSAConfig() manager.Config {
	cfg := virtualConfig(vports.Enable)
	cfg.Registrar = registrarConfig().Registrar
	cfg.VPorts = view.VPorts{HopLimit: 5}
	return cfg
}

// askAs has a function, or the port for index 0, ask the SA, and returns the response. One that shares a LID sends a
// GRH.
func (b *functions) askAs(at fabric.VPort, method mad.Method, attr mad.AttrID, comps mad.ComponentMask,
	fill func(data []byte)) *mad.Packet {
	b.Helper()
	st, err := b.Fabric.AttachVPort(at)
	if err != nil {
		b.Fatal(err)
	}
	defer st.Detach()
	info := b.Fabric.PortInfo(at.At)
	d := mad.Datagram{Addr: mad.Addr{LID: info.MasterSMLID(), QPN: 1}}
	if at.Index > 0 {
		if v := b.Fabric.VPortInfo(at); !v.LIDRequired() {
			d.GRH = mad.GRH{Present: true, GID: mad.MakeGID(mad.DefaultPrefix, 0x0200000000000002), HopLimit: 1}
		}
	}
	d.Packet.SetHeader(mad.ClassSA, method, attr, 0)
	d.Packet.SetComponentMask(comps)
	d.Packet.SetTID(mad.TID(b.Fabric.Now()))
	fill(d.Packet.SAData()[:])
	var got *mad.Packet
	st.OnReceive(func(r mad.Datagram) {
		if r.Packet.TID() == d.Packet.TID() {
			got = &r.Packet
		}
	})
	st.Send([]mad.Datagram{d})
	if !b.Run(b.Fabric.Now()+2*time.Second, func() bool { return got != nil }) && got == nil {
		b.Fatalf("%v: no answer", at)
	}
	return got
}

// pathAs is the path from a function to another one.
func (b *functions) pathAs(from, to fabric.VPort) (rec sarec.PathRecord, status mad.Status) {
	p := b.askAs(from, mad.MethodGet, sarec.AttrPathRecord, sarec.PathSGID|sarec.PathDGID, func(data []byte) {
		rec := (*sarec.PathRecord)(data[:64])
		rec.SetSGID(b.Fabric.VPortGID(from))
		rec.SetDGID(b.Fabric.VPortGID(to))
	})
	return *(*sarec.PathRecord)(p.SAData()[:64]), p.Status()
}

// joinAs has a function join a group.
func (b *functions) joinAs(at fabric.VPort, mgid mad.GID) {
	b.Helper()
	p := b.askAs(at, mad.MethodSet, sarec.AttrMCMemberRecord, sarec.MCMemberMGID|sarec.MCMemberPortGID|
		sarec.MCMemberJoinState|sarec.MCMemberQKey|sarec.MCMemberPKey|sarec.MCMemberTClass|sarec.MCMemberSL|
		sarec.MCMemberFlowLabel, func(data []byte) {
		rec := (*sarec.MCMemberRecord)(data[:56])
		rec.SetMGID(mgid)
		rec.SetPortGID(b.Fabric.VPortGID(at))
		rec.SetJoinState(uint8(registry.FullMember))
		rec.SetQKey(0x0b1b)
		rec.SetPKey(0xffff)
	})
	if p.Status() != mad.StatusOK {
		b.Fatalf("%v joins: status %v", at, p.Status())
	}
}

// offerAs has a function offer a service, and subscribe to a trap.
func (b *functions) offerAs(at fabric.VPort) {
	b.Helper()
	p := b.askAs(at, mad.MethodSet, sarec.AttrServiceRecord, sarec.ServiceServiceID|sarec.ServiceServiceGID|
		sarec.ServiceServicePKey|sarec.ServiceServiceName, func(data []byte) {
		rec := (*sarec.ServiceRecord)(data[:176])
		rec.SetServiceID(uint64(at.Index) | uint64(at.At.Node)<<16)
		rec.SetServiceGID(b.Fabric.VPortGID(at))
		rec.SetServicePKey(mad.DefaultPKey)
		rec.SetServiceLease(^uint32(0))
		rec.SetServiceName([64]byte{'a'})
	})
	if p.Status() != mad.StatusOK {
		b.Fatalf("%v offers a service: status %v", at, p.Status())
	}
	p = b.askAs(at, mad.MethodSet, sarec.AttrInformInfo, 0, func(data []byte) {
		info := (*sarec.InformInfo)(data[:36])
		info.SetLIDRangeBegin(registry.AnyLID)
		info.SetIsGeneric(1)
		info.SetType(registry.AnyType)
		info.SetTrapNumber(uint16(smp.TrapGIDInService))
		info.SetProducerType(registry.AnyProducer)
		info.SetSubscribe(1)
		info.SetQPN(1)
	})
	if p.Status() != mad.StatusOK {
		b.Fatalf("%v subscribes: status %v", at, p.Status())
	}
}

// registered are how many memberships, services and subscriptions a GUID has.
func (b *functions) registered(guid mad.GUID) (members, services, subscriptions int) {
	s, gid := b.m.Registrar().State(), mad.MakeGID(mad.DefaultPrefix, guid)
	for g := range s.Groups() {
		if _, is := s.Member(g.MGID, gid); is {
			members++
		}
	}
	for v := range s.Services() {
		if v.GID == gid {
			services++
		}
	}
	for range s.SubscriptionsOf(gid) {
		subscriptions++
	}
	return members, services, subscriptions
}

// mustBeRegistered fails the test unless functions have as many memberships, services and subscriptions.
func (b *functions) mustBeRegistered(when string, want map[mad.GUID][3]int) {
	b.Helper()
	for guid, n := range ordered(want) {
		if m, v, s := b.registered(guid); [3]int{m, v, s} != n {
			b.Errorf("%s: %v has %d memberships, %d services, %d subscriptions, want %v", when, guid, m, v, s, n)
		}
	}
}

// hears are the hosts that a packet for a group reaches.
func (b *functions) hears(from net.End, mgid mad.GID) []net.End {
	b.Helper()
	g, is := b.m.Registrar().State().Group(mgid)
	if !is {
		return nil
	}
	return b.Fabric.ProbeMulticast(from, g.MLID, 0xffff, 0).Delivered
}

// The HopLimit of the settings is in the answers about paths with a function at an end, so that hosts send a GRH, and
// another one is from when the settings are read again. Paths between ports have 0.
func TestFunctionPaths(t *testing.T) {
	for _, own := range []bool{false, true} {
		t.Run(fmt.Sprintf("own LIDs %t", own), func(t *testing.T) {
			b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 2, OwnLIDs: own}, fabric.Config{})
			cfg := virtualSAConfig()
			b.start(cfg)
			from, to := fabric.VPort{At: host(b.net, 2), Index: 1}, fabric.VPort{At: host(b.net, 5), Index: 2}
			for _, hops := range []uint8{5, 9} {
				if cfg.VPorts.HopLimit != hops {
					cfg.VPorts.HopLimit = hops
					b.World.Configure(b.m.Manager, cfg)
					b.pass(settling)
				}
				for name, c := range map[string]struct {
					from, to fabric.VPort
					hops     uint8
				}{
					"between functions":   {from, to, hops},
					"to its own neighbor": {from, fabric.VPort{At: from.At, Index: 2}, hops},
					"to a port":           {from, fabric.VPort{At: to.At}, hops},
					"from a port":         {fabric.VPort{At: from.At}, to, hops},
					"between ports":       {fabric.VPort{At: from.At}, fabric.VPort{At: to.At}, 0},
				} {
					rec, st := b.pathAs(c.from, c.to)
					if st != mad.StatusOK || rec.HopLimit() != c.hops || rec.DLID() != b.Fabric.VPortLID(c.to) ||
						rec.SLID() != b.Fabric.VPortLID(c.from) {
						t.Errorf("%s: status %v, HopLimit %d, LIDs %v to %v; want HopLimit %d, LIDs %v to %v", name, st,
							rec.HopLimit(), rec.SLID(), rec.DLID(), c.hops, b.Fabric.VPortLID(c.from),
							b.Fabric.VPortLID(c.to))
					}
				}
			}
		})
	}
}

// A function that restarts loses what its clients registered, and is asked to register again; its neighbors and its
// port are not, and keep theirs. The port leaves the tree of a group when its last function has.
func TestFunctionRestartDropsItsRegistrations(t *testing.T) {
	for _, own := range []bool{false, true} {
		t.Run(fmt.Sprintf("own LIDs %t", own), func(t *testing.T) {
			b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 3, OwnLIDs: own}, fabric.Config{})
			b.start(virtualSAConfig())
			at := host(b.net, 5)
			one, other := fabric.VPort{At: at, Index: 1}, fabric.VPort{At: at, Index: 2}
			third := fabric.VPort{At: at, Index: 3}
			elsewhere, group := fabric.VPort{At: host(b.net, 3), Index: 1}, clientGroup(0)
			all := []fabric.VPort{one, other, elsewhere}
			want := map[mad.GUID][3]int{}
			for _, v := range all {
				b.joinAs(v, group)
				b.offerAs(v)
				want[functionGUID(v)] = [3]int{1, 1, 1}
			}
			b.pass(time.Second)
			b.mustBeRegistered("before", want)
			asked := map[fabric.VPort]*fabric.Station{}
			for _, v := range append(all, third, fabric.VPort{At: at}) {
				st, err := b.Fabric.AttachVPort(v)
				if err != nil {
					t.Fatal(err)
				}
				asked[v] = st
				st.TakeReregister()
			}
			hears := func(when string, want ...net.End) {
				t.Helper()
				if got := b.hears(host(b.net, 3), group); !slices.Equal(got, want) {
					t.Errorf("%s: a packet for the group reaches %v, want %v", when, got, want)
				}
			}
			hears("before", at)
			for i, v := range []fabric.VPort{one, other} {
				b.Fabric.RebootFunction(v)
				b.pass(3 * time.Second)
				if b.state(v) != smp.PortActive {
					t.Fatalf("%v is %v after it restarted", v, b.state(v))
				}
				want[functionGUID(v)] = [3]int{}
				b.mustBeRegistered(fmt.Sprintf("after the restart of %v", v), want)
				for of, st := range asked {
					if is := st.TakeReregister(); is != (of == v) {
						t.Errorf("after the restart of %v: clients at %v were asked to register again: %t", v, of, is)
					}
				}
				if i == 0 {
					hears("after the restart of one of two", at)
				} else {
					hears("after the restart of the last one")
				}
			}
		})
	}
}

// A function that goes down is out of its groups' trees at once, and keeps what it registered for a while: it may be on
// its way to another host, where it has it still. Its port and its neighbors keep theirs in any case.
func TestFunctionRegistrationsMove(t *testing.T) {
	b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 3}, fabric.Config{})
	b.start(virtualSAConfig())
	from, to := fabric.VPort{At: host(b.net, 5), Index: 1}, fabric.VPort{At: host(b.net, 6), Index: 2}
	stays, group := fabric.VPort{At: host(b.net, 4), Index: 1}, clientGroup(0)
	guid, sender := functionGUID(from), host(b.net, 4)
	want := map[mad.GUID][3]int{guid: {1, 1, 1}, functionGUID(stays): {1, 1, 1}}
	for _, v := range []fabric.VPort{from, stays} {
		b.joinAs(v, group)
		b.offerAs(v)
	}
	b.pass(time.Second)
	b.Fabric.SetFunctionGUID(to, 0, 0)
	b.Fabric.SetFunctionGUID(from, 0, 0)
	b.pass(2 * time.Minute)
	if got := b.hears(sender, group); len(got) != 0 {
		t.Errorf("the function is down: a packet for the group reaches %v", got)
	}
	b.mustBeRegistered("while it is down", want)
	b.Fabric.SetFunctionGUID(to, guid, guid|1<<48)
	b.pass(10 * time.Minute)
	b.mustBeRegistered("after it has come", want)
	if got := b.hears(sender, group); !slices.Equal(got, []net.End{to.At}) {
		t.Errorf("after it has come: a packet for the group reaches %v, want %v", got, to.At)
	}
	b.Fabric.SetFunctionPolicy(to, true)
	b.pass(4 * time.Minute)
	b.mustBeRegistered("4 minutes after it went down for good", want)
	b.pass(2 * time.Minute)
	want[guid] = [3]int{}
	b.mustBeRegistered("6 minutes after it went down for good", want)
}

// A function with the GUID of a port takes nothing from it: what the port's clients registered stays, and packets for
// it go to the port.
func TestFunctionWithGUIDOfPort(t *testing.T) {
	b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 2}, fabric.Config{})
	b.start(virtualSAConfig())
	port, thief := fabric.VPort{At: host(b.net, 5)}, fabric.VPort{At: host(b.net, 6), Index: 1}
	guid := b.Fabric.PortGUID(port.At)
	b.joinAs(port, clientGroup(0))
	b.offerAs(port)
	b.pass(time.Second)
	b.Fabric.SetFunctionGUID(thief, guid, guid|1<<48)
	b.pass(settling)
	b.mustBeRegistered("with a function that has its GUID", map[mad.GUID][3]int{guid: {1, 1, 1}})
	rec, st := b.pathAs(fabric.VPort{At: host(b.net, 2)}, port)
	if info := b.Fabric.PortInfo(port.At); st != mad.StatusOK || rec.DLID() != info.LID() || rec.HopLimit() != 0 {
		t.Errorf("a path to the port: status %v, LID %v, HopLimit %d", st, rec.DLID(), rec.HopLimit())
	}
}

// Members of a group whose values change are asked to join again: of functions those that are members, each by its own
// VPortInfo, and nobody else at their ports.
func TestFunctionsJoinAgain(t *testing.T) {
	b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 3}, fabric.Config{})
	cfg := virtualSAConfig()
	b.start(cfg)
	members := []fabric.VPort{{At: host(b.net, 5), Index: 1}, {At: host(b.net, 6), Index: 3}, {At: host(b.net, 2)}}
	for _, v := range members {
		b.joinAs(v, clientGroup(0))
	}
	b.pass(time.Second)
	asked := map[fabric.VPort]*fabric.Station{}
	for at := range b.functions() {
		for _, v := range []fabric.VPort{at, {At: at.At}} {
			if st, err := b.Fabric.AttachVPort(v); err == nil {
				asked[v] = st
				st.TakeReregister()
			}
		}
	}
	groups := slices.Clone(cfg.Registrar.Groups)
	for i := range groups {
		groups[i].QKey = 0x1234
	}
	cfg.Registrar.Groups = groups
	b.World.Configure(b.m.Manager, cfg)
	b.pass(settling)
	for of, st := range asked {
		if is, want := st.TakeReregister(), slices.Contains(members, of); is != want {
			t.Errorf("clients at %v were asked to register again: %t, want %t", of, is, want)
		}
	}
}

// With FirstKeeps, as security tenants has it, a function with the GUID of another one takes neither its paths nor its
// P_Keys nor what it registered, also while that one restarts. It gets the GUID when the other one is gone.
func TestFirstFunctionKeepsItsGUID(t *testing.T) {
	gone := map[string]func(b *functions, first fabric.VPort){
		"it gets another GUID": func(b *functions, first fabric.VPort) {
			b.Fabric.SetFunctionGUID(first, 0x0300000000000001, 0x0300000000000002)
			b.pass(5 * time.Second)
		},
		"its adapter leaves": func(b *functions, first fabric.VPort) {
			b.Fabric.NodeDown(first.At.Node)
			b.pass(settling)
		},
		"it is down for long": func(b *functions, first fabric.VPort) {
			b.Fabric.SetFunctionPolicy(first, true)
			b.pass(50 * time.Second)
			if second := (fabric.VPort{At: host(b.net, 6), Index: 2}); b.state(second) != smp.PortInit {
				b.Errorf("after 50 s the other one is %v", b.state(second))
			}
			b.pass(20 * time.Second)
		},
	}
	for name, leave := range gone {
		t.Run(name, func(t *testing.T) {
			b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 2}, fabric.Config{})
			first, second := fabric.VPort{At: host(b.net, 3), Index: 1}, fabric.VPort{At: host(b.net, 6), Index: 2}
			guid, asks := functionGUID(first), fabric.VPort{At: host(b.net, 2), Index: 1}
			cfg := virtualSAConfig()
			cfg.Sweep.Settings.VPorts.FirstKeeps = true
			policy := b.tenantsByFunction()
			cfg.Sweep.Partitions = sweep.Partitions{Policy: policy}
			b.start(cfg)
			b.joinAs(first, clientGroup(0))
			b.offerAs(first)
			mustKeep := func(when string) {
				t.Helper()
				if b.state(first) != smp.PortActive || b.state(second) != smp.PortInit {
					t.Errorf("%s: the first is %v, the other %v", when, b.state(first), b.state(second))
				}
				if held := b.Fabric.VPortPKeys(second); slices.Contains(held, 0x8001) {
					t.Errorf("%s: the other one holds %v", when, held)
				}
				if rec, st := b.pathAs(asks, first); st != mad.StatusOK || rec.DLID() != b.Fabric.VPortLID(first) {
					t.Errorf("%s: the path to the GUID: status %v, LID %v", when, st, rec.DLID())
				}
			}
			b.Fabric.SetFunctionGUID(second, guid, 7)
			b.pass(3 * time.Minute)
			mustKeep("with another one")
			b.mustBeRegistered("with another one", map[mad.GUID][3]int{guid: {1, 1, 1}})
			count := 0
			for _, f := range b.m.View.Findings {
				if f.Kind == finding.DuplicateVPort {
					count++
				}
			}
			if count != 1 {
				t.Errorf("%d findings of duplicates: %v", count, b.m.View.Findings)
			}
			b.Fabric.RebootFunction(first)
			b.pass(5 * time.Second)
			mustKeep("after the first has restarted")
			leave(b, first)
			if b.state(second) != smp.PortActive || !slices.Contains(b.Fabric.VPortPKeys(second), 0x8001) {
				t.Errorf("the first is gone: the other is %v, holds %v", b.state(second), b.Fabric.VPortPKeys(second))
			}
			if rec, st := b.pathAs(asks, second); st != mad.StatusOK || rec.DLID() != b.Fabric.VPortLID(second) {
				t.Errorf("the first is gone: the path to the GUID: status %v, LID %v", st, rec.DLID())
			}
		})
	}
}

// A plan by another policy has the P_Keys that functions would get.
func TestPlanOfFunctions(t *testing.T) {
	b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 1}, fabric.Config{})
	cfg := virtualSAConfig()
	cfg.Sweep.Partitions = sweep.Partitions{Policy: b.tenantsByFunction()}
	b.start(cfg)
	other := *cfg.Sweep.Partitions.Policy
	other.Partitions = slices.Clone(other.Partitions)
	at := fabric.VPort{At: host(b.net, 3), Index: 1}
	part := &other.Partitions[1]
	part.Members = slices.Clone(part.Members)
	for i := range part.Members {
		if part.Members[i].Port == functionGUID(at) {
			part.Members[i].Membership = partitions.Limited
		}
	}
	plan := func(p *sweep.Policy) (steps []string) {
		t.Helper()
		computed, err := b.m.planOf(manager.SweepRequested{Sweep: manager.Plan, Preview: manager.Preview{Policy: p}})
		if err != nil {
			t.Fatal(err)
		}
		for step := range computed.Steps {
			if strings.Contains(step, "vPort") {
				steps = append(steps, step)
			}
		}
		return steps
	}
	if steps := plan(nil); len(steps) != 0 {
		t.Errorf("a plan of what is there: %q", steps)
	}
	steps := plan(&sweep.Policy{Settings: cfg.Sweep.Settings, Partitions: sweep.Partitions{Policy: &other}})
	want := fmt.Sprintf(`"host-04 mlx5_0" port 1 vPort 1, %v: P_Keys: index 1 0x8001 -> 0x0001`, functionGUID(at))
	if len(steps) != 1 || !strings.HasSuffix(steps[0], want) {
		t.Errorf("a plan by another policy: %q, want %q", steps, want)
	}
}
