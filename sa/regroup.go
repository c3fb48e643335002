package sa

import (
	"bytes"
	"maps"
	"slices"

	"ibsm/mad"
	"ibsm/registry"
	"ibsm/topo"
)

// regrouped is the pending work for groups whose configured values have changed. A host keeps
// the values of the response to its join: MLID, Q_Key, MTU, rate and SL. It gets new ones when
// it is asked to register again (PortInfo.ClientReregister): Linux then joins all its groups
// anew, without leaving them. That waits for the next View, which has the P_Keys of the same
// configuration.
type regrouped struct {
	groups map[mad.GID]bool
	ports  map[mad.GUID]bool // of their members, and vPorts
}

func newRegrouped() regrouped {
	return regrouped{map[mad.GID]bool{}, map[mad.GUID]bool{}}
}

// sameTerms reports whether the response to a join would be the same, except for the MLID.
func sameTerms(a, b *registry.Group) bool {
	return a.PKey == b.PKey && a.QKey == b.QKey && a.MTU == b.MTU && a.Rate == b.Rate && a.SL == b.SL &&
		a.FlowLabel == b.FlowLabel && a.TClass == b.TClass && a.HopLimit == b.HopLimit
}

// regroup has the members of a group join again that is not any more what they know.
func (r *Registrar) regroup(old, now *registry.Group) {
	if old.MLID == now.MLID && sameTerms(old, now) {
		return
	}
	r.regrouped.groups[now.MGID] = true
	r.callBack(now.MGID)
}

// dropFollowers removes the groups of IP over InfiniBand that clients have made after a
// broadcast group which changes: hosts join them with the values of the broadcast group
// (RFC 4391, 5), and so could not while those groups are what they are.
func (r *Registrar) dropFollowers(old, now *registry.Group) {
	if sameTerms(old, now) || old.MGID != registry.BroadcastMGID(old.PKey, scopeOf(old.MGID)) {
		return
	}
	var followers []mad.GID
	for g := range r.reg.Groups() {
		sig := signatureOf(g.MGID)
		if (sig == signatureIPv4 || sig == signatureIPv6) && !g.WellKnown && scopeOf(g.MGID) == scopeOf(old.MGID) &&
			sameTerms(&g, old) {
			followers = append(followers, g.MGID)
		}
	}
	for _, mgid := range followers {
		r.callBack(mgid)
		r.apply(registry.DeleteGroup{MGID: mgid})
	}
}

// dropGroups removes all groups. A member learns of it when it joins again.
func (r *Registrar) dropGroups() {
	for _, g := range slices.Collect(r.reg.Groups()) {
		r.callBack(g.MGID)
		r.apply(registry.DeleteGroup{MGID: g.MGID})
	}
}

// callBack notes the ports and vPorts of a group's members.
func (r *Registrar) callBack(mgid mad.GID) {
	for m := range r.reg.Members(mgid) {
		if p := r.portOf(m.Port.GUID()); p != topo.None {
			r.regrouped.ports[r.view.Topo.EndGUID(p)] = true
		}
	}
}

// recall asks the ports to register again, and takes those out of the groups that would not
// be let in now: they would get, or hold up, what is not for them.
func (r *Registrar) recall() {
	for _, mgid := range slices.SortedFunc(maps.Keys(r.regrouped.groups), func(a, b mad.GID) int {
		return bytes.Compare(a[:], b[:])
	}) {
		g, _ := r.reg.Group(mgid)
		var out []registry.Member
		for m := range r.reg.Members(mgid) {
			if p := r.portOf(m.Port.GUID()); p != topo.None && !r.fits(p, &g) {
				out = append(out, m)
			}
		}
		for _, m := range out {
			r.apply(r.reg.Leave(mgid, m.Port, m.JoinState)...)
		}
	}
	if len(r.regrouped.ports) > 0 {
		r.effects.Reregister = slices.Sorted(maps.Keys(r.regrouped.ports))
	}
	r.regrouped = newRegrouped()
}
