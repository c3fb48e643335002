package mirror

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/registry"
)

// Registry is the registry that was read. Missing parts are taken from was. A service record
// has only the length of its lease: the lease begins when the service is first seen, and
// again before half of it is over. now is in seconds since 1970. Records that the registry
// refuses are left out, and set Incomplete.
func (x *Reading) Registry(was *registry.State, now int64) *registry.Registry {
	a := assembly{reg: registry.New()}
	if x.has[partGroups] && x.has[partMembers] {
		a.groups(x.rows[partGroups], x.rows[partMembers])
	} else {
		a.keepGroups(was)
	}
	if x.has[partServices] {
		a.services(x.rows[partServices], was, now)
	} else {
		for v := range was.Services() {
			a.apply(registry.PutService{Service: *v})
		}
	}
	if x.has[partGUIDs] {
		a.aliases(x.rows[partGUIDs])
	} else {
		for v := range was.Aliases() {
			a.apply(registry.PutAlias{Alias: v})
		}
	}
	for c := range was.Unlisted() {
		a.apply(c)
	}
	if a.refused != nil && x.Incomplete == "" {
		x.Incomplete = a.refused.Error()
	}
	return a.reg
}

// assembly is a Registry being made.
type assembly struct {
	reg     *registry.Registry
	refused error // the first
}

func (a *assembly) apply(c registry.Change) {
	if err := a.reg.Apply(c); err != nil && a.refused == nil {
		a.refused = err
	}
}

func (a *assembly) keepGroups(was *registry.State) {
	for g := range was.Groups() {
		a.apply(registry.PutGroup{Group: g})
		for m := range was.Members(g.MGID) {
			a.apply(registry.PutMember{Member: m})
		}
	}
}

// groups makes groups and their members. Groups without full members are the other manager's
// own: they become well-known ones, which depend on our configuration.
func (a *assembly) groups(groups, members [][]byte) {
	for _, rows := range [][][]byte{groups, members} {
		for _, row := range rows {
			if g := groupOf(row); !a.hasGroup(g.MGID) {
				a.apply(registry.PutGroup{Group: g})
			}
		}
	}
	for _, row := range members {
		rec := record(row)
		if a.hasGroup(rec.MGID()) {
			a.apply(registry.PutMember{Member: registry.Member{
				MGID: rec.MGID(), Port: rec.PortGID(), JoinState: registry.JoinState(rec.JoinState()),
				Proxy: rec.ProxyJoin(),
			}})
		}
	}
	var own []registry.Group
	for g := range a.reg.Groups() {
		if a.reg.FullMembers(g.MGID) == 0 {
			g.WellKnown = true
			own = append(own, g)
		}
	}
	for _, g := range own {
		a.apply(registry.PutGroup{Group: g})
	}
}

func (a *assembly) hasGroup(mgid mad.GID) bool {
	_, is := a.reg.Group(mgid)
	return is
}

// record is a row of an MCMemberRecord table, which may lack the padding.
func record(row []byte) (rec sarec.MCMemberRecord) {
	copy(rec[:], row)
	return rec
}

func groupOf(row []byte) registry.Group {
	rec := record(row)
	_, mtu := rec.MTU()
	_, rate := rec.Rate()
	_, life := rec.PacketLifeTime()
	return registry.Group{
		MGID: rec.MGID(), MLID: rec.MLID(), PKey: rec.PKey(), QKey: rec.QKey(), MTU: mtu, Rate: rate,
		PacketLifeTime: life,
		SL:             rec.SL(), FlowLabel: rec.FlowLabel(), TClass: rec.TClass(), HopLimit: rec.HopLimit(),
		Scope: rec.Scope(),
	}
}

func (a *assembly) services(rows [][]byte, was *registry.State, now int64) {
	for _, row := range rows {
		rec := (*sarec.ServiceRecord)(row)
		v := registry.Service{
			ServiceKey: registry.ServiceKey{ID: rec.ServiceID(), GID: rec.ServiceGID(), PKey: rec.ServicePKey()},
			Lease:      rec.ServiceLease(), Key: rec.ServiceKey(), Name: rec.ServiceName(), Data: rec.ServiceData(),
		}
		if v.Lease != registry.InfiniteLease {
			v.Expires = max(now+int64(v.Lease), 1)
			if old, is := was.Service(v.ServiceKey); is && old.Lease == v.Lease && old.Expires-now > int64(v.Lease)/2 {
				v.Expires = old.Expires
			}
		}
		a.apply(registry.PutService{Service: v})
	}
}

// aliases makes alias GUIDs of blocks of GUIDs. The first block of each port has its port
// GUID.
func (a *assembly) aliases(rows [][]byte) {
	ports := map[mad.LID]mad.GUID{}
	for _, row := range rows {
		if rec := (*sarec.GUIDInfoRecord)(row); rec.BlockNum() == 0 {
			ports[rec.LID()] = rec.GUIDInfo().GUID(0)
		}
	}
	for _, row := range rows {
		rec := (*sarec.GUIDInfoRecord)(row)
		for i := range smp.GUIDsPerBlock {
			at, guid := int(rec.BlockNum())*smp.GUIDsPerBlock+i, rec.GUIDInfo().GUID(i)
			if at > 0 && at < 256 && guid != 0 {
				a.apply(registry.PutAlias{
					Alias: registry.Alias{Slot: registry.Slot{Port: ports[rec.LID()], Index: uint8(at)}, GUID: guid},
				})
			}
		}
	}
}
