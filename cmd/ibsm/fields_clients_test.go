package main_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// fieldRequest is what a program on a host asks the SA for.
type fieldRequest struct {
	at     net.End
	method mad.Method
	write  func(from mad.GID, lid mad.LID, p *mad.Packet)
	group  mad.GID // that is joined
}

// testGroup is a group that programs make.
func testGroup(n int) mad.GID { return mad.GID{0: 0xff, 1: 0x12, 2: 0x7e, 3: 0x57, 15: byte(n)} }

// joins is a request to join, and make, a group, or to leave it.
func joins(at net.End, method mad.Method, group mad.GID, state uint8) fieldRequest {
	return fieldRequest{at, method, func(from mad.GID, _ mad.LID, p *mad.Packet) {
		p.SetHeader(mad.ClassSA, method, sarec.AttrMCMemberRecord, 0)
		rec := (*sarec.MCMemberRecord)(p.SAData()[:56])
		rec.SetMGID(group)
		rec.SetPortGID(from)
		rec.SetQKey(0x0b1b)
		rec.SetPKey(mad.DefaultPKey)
		rec.SetJoinState(state)
		rec.SetMTU(sarec.Exactly, mad.MTU256) // that all ports can do
		rec.SetRate(sarec.Exactly, 2)         // 2.5 Gb/s
		p.SetComponentMask(sarec.MCMemberMTUSelector | sarec.MCMemberMTU | sarec.MCMemberRateSelector |
			sarec.MCMemberRate |
			sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberQKey | sarec.MCMemberPKey |
			sarec.MCMemberTClass |
			sarec.MCMemberSL | sarec.MCMemberFlowLabel | sarec.MCMemberJoinState)
	}, group}
}

// takesGUID is a request for an alias GUID.
func takesGUID(at net.End, index int, guid mad.GUID) fieldRequest {
	return fieldRequest{at: at, method: mad.MethodSet, write: func(_ mad.GID, lid mad.LID, p *mad.Packet) {
		p.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrGUIDInfoRecord, 0)
		rec := (*sarec.GUIDInfoRecord)(p.SAData()[:72])
		rec.SetLID(lid)
		rec.SetBlockNum(uint8(index / smp.GUIDsPerBlock))
		rec.GUIDInfo().SetGUID(index%smp.GUIDsPerBlock, guid)
		p.SetComponentMask(sarec.GUIDInfoLID | sarec.GUIDInfoBlockNum | sarec.GUIDInfoGUID0<<(index%smp.GUIDsPerBlock))
	}}
}

// requests are joins of three groups and requests for alias GUIDs by hosts that OpenSM has
// brought up; and then some members leave.
func (c *fieldCase) requests(theirs *managed, r *rand.Rand) (join, leave []fieldRequest) {
	var hosts []net.End
	n := c.net()
	if strings.Contains(c.partitions, limitedMembers) || c.settings.chosen("sm_sl") {
		// With OpenSM limited members do not reach the SA where switches check P_Keys, nor hosts on
		// another SL than 0 where ports differ in VLs, since it leaves the tables of lanes as they are.
		return nil, nil
	}
	for i := range n.Nodes {
		node := &n.Nodes[i]
		peer := node.Ports[1].Peer.Node
		if node.Type != mad.CA || i == managersHost(n) || node.DeviceID == aggregationDevice || peer < 0 {
			continue
		}
		if strings.Contains(c.kinds[peer], oneKey) || strings.Contains(c.kinds[i], "room for 2 P_Keys") ||
			strings.Contains(c.kinds[i], "one GUID") {
			// OpenSM's P_Keys of the switch port cut such hosts off, and it gives out GUIDs that a port has no room for
			continue
		}
		hosts = append(hosts, net.End{Node: int32(i), Port: 1})
	}
	theirs.server.Do(func(f *fabric.Fabric) {
		hosts = slices.DeleteFunc(hosts, func(at net.End) bool {
			info := f.PortInfo(at)
			return info.MasterSMLID() == 0 // it has refused OpenSM's Set
		})
	})
	for g := range 3 {
		r.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
		for i, at := range hosts[:min(len(hosts), 1+r.IntN(4))] {
			state := uint8(1)
			if i > 1 && r.IntN(2) == 0 {
				state = 4
			}
			join = append(join, joins(at, mad.MethodSet, testGroup(g), state))
			if r.IntN(4) > 0 {
				continue
			}
			if q := joins(at, mad.MethodDelete, testGroup(g), state); state == 1 {
				leave = append(leave, q)
			} else {
				leave = append([]fieldRequest{q}, leave...) // the group goes with its last full member
			}
		}
	}
	for _, at := range hosts[:min(len(hosts), 2)] {
		index := 1 + r.IntN(7)
		join = append(join, takesGUID(at, index, mad.GUID(0x1500000000000000+uint64(at.Node))))
	}
	return join, leave
}

// ask has a program on a host ask the SA, and returns the answer.
func (m *managed) ask(q fieldRequest) mad.Packet {
	m.t.Helper()
	replies := make(chan mad.Packet, 16)
	var station *fabric.Station
	m.server.Do(func(f *fabric.Fabric) {
		var err error
		if station, err = f.Attach(q.at); err != nil {
			m.t.Error(err)
			return
		}
		station.OnReceive(func(d mad.Datagram) {
			if d.Packet.MgmtClass() == mad.ClassSA && d.Packet.IsResponse() && len(replies) < cap(replies) {
				replies <- d.Packet
			}
		})
	})
	defer m.server.Do(func(*fabric.Fabric) { station.Detach() })
	for tries := 0; tries < 50; tries++ {
		m.server.Do(func(f *fabric.Fabric) {
			info := f.PortInfo(q.at)
			d := mad.Datagram{Addr: mad.Addr{LID: info.MasterSMLID(), QPN: 1, SL: info.MasterSMSL()}}
			d.PKeyIndex = uint16(max(slices.Index(f.PKeys(q.at), mad.DefaultPKey), 0))
			q.write(mad.MakeGID(info.GidPrefix(), f.PortGUID(q.at)), info.LID(), &d.Packet)
			d.Packet.SetTID(mad.TID(tries) + 1)
			station.Send([]mad.Datagram{d})
		})
		select {
		case p := <-replies:
			return p
		case <-time.After(200 * time.Millisecond):
		}
	}
	m.t.Fatalf("seed %d: no answer of the SA to %v", m.seed, q)
	return mad.Packet{}
}

// serveBoth has programs ask both managers, which grant it.
func serveBoth(theirs, ours *managed, requests []fieldRequest) {
	for _, q := range requests {
		a, b := theirs.ask(q), ours.ask(q)
		if a.Status() != mad.StatusOK || b.Status() != mad.StatusOK {
			theirs.t.Errorf("seed %d: OpenSM answers %v by status %v, ibsm by %v", theirs.seed, q, a.Status(),
				b.Status())
		}
		theirs.fields.note(q, &a)
		ours.fields.note(q, &b)
	}
}

// String names a request in errors.
func (q fieldRequest) String() string { return fmt.Sprintf("%v of %v for %v", q.method, q.at, q.group) }

// member is a port of a multicast group.
type member struct {
	at    net.End
	group mad.GID
}

// joinedAs is how a port is a member.
type joinedAs struct {
	mlid     mad.LID
	receives bool
}

// note notes who is a member after an answer of the SA.
func (r *fieldRecord) note(q fieldRequest, answer *mad.Packet) {
	switch {
	case q.group == (mad.GID{}):
	case q.method == mad.MethodDelete:
		delete(r.members, member{q.at, q.group})
	default:
		rec := (*sarec.MCMemberRecord)(answer.SAData()[:56])
		r.members[member{q.at, q.group}] = joinedAs{rec.MLID(), rec.JoinState()&1 != 0}
	}
}

// rejoining are the requests of members, those of full members first: the others cannot make a
// group that has gone.
func (r *fieldRecord) rejoining(join []fieldRequest) (members []fieldRequest) {
	full := map[mad.GID]bool{}
	for who, as := range r.members {
		full[who.group] = full[who.group] || as.receives
	}
	for _, receives := range []bool{true, false} {
		for _, q := range join {
			if as, is := r.members[member{q.at, q.group}]; is && full[q.group] && as.receives == receives {
				members = append(members, q)
			}
		}
	}
	return members
}
