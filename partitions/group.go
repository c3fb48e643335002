package partitions

import (
	"encoding/binary"
	"net/netip"

	"ibsm/mad"
	"ibsm/registry"
)

// Signatures of MGIDs, their third and fourth byte.
const (
	ipv4Signature = 0x401b
	ipv6Signature = 0x601b
	// saSignature is of MGIDs that an SA makes, within one subnet by itself.
	saSignature = 0xa01b
)

// broadcast makes the IPv4 broadcast groups of a definition with ipoib: that of link-local
// scope, where hosts look for it, and those of the scopes that are given.
func (r *resolver) broadcast(p *Partition, d *Definition, f *flags) {
	g := f.group.Group
	g.Position = r.at(d.Head.Name)
	if g.QKey == 0 {
		g.QKey = IPoIBQKey
	}
	if g.MTU == 0 || g.Rate == 0 {
		r.warn(d.Head.Name, "no broadcast group for %s: its rate or MTU is not valid", shown(p.Name))
		return
	}
	for scope := range uint8(16) {
		if scope != linkLocal && f.group.scopes&(1<<scope) == 0 {
			continue
		}
		if scope != linkLocal {
			r.warn(d.Head.Name, "OpenSM creates no broadcast group of scope %d", scope)
		}
		g.MGID = registry.BroadcastMGID(p.Key, scope)
		r.add(p, g, d.Head.Name)
	}
}

// add makes a group exist unless it does.
func (r *resolver) add(p *Partition, g Group, w Word) {
	if old, exists := r.groups[g.MGID]; exists {
		if old.of != p.Key || !old.sameButPlace(g) {
			r.warn(w, "line %[2]d already defines group %[1]s; different settings here are ignored", g.MGID,
				old.Position.Line)
		}
		return
	}
	r.groups[g.MGID] = existing{g, p.Key}
	p.Groups = append(p.Groups, g)
}

func (g Group) sameButPlace(o Group) bool {
	g.Position, g.AnyMTU, g.AnyRate = o.Position, o.AnyMTU, o.AnyRate
	return g == o
}

// groupAddress reads the address of a group.
func groupAddress(text string) (mgid mad.GID, ok bool) {
	addr, err := netip.ParseAddr(text)
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return mgid, false
	}
	mgid = addr.As16()
	return mgid, mgid.IsMulticast()
}

// group makes what an item with mgid says.
func (r *resolver) group(p *Partition, item *Item, f *flags) {
	mgid, ok := groupAddress(item.Value.Text)
	if !ok {
		r.warn(item.Value, "%s: no group is created; expected an IPv6 address that begins with ff",
			shown(item.Value.Text))
		return
	}
	own := f.group
	own.TClass = 0
	for i := range item.Flags {
		a := &item.Flags[i]
		if a.Name.Text == "" && !a.Assigned {
			continue
		}
		w := whole(a.Name.Text, groupFlagWords)
		if w == "" {
			r.warn(a.Name, "unknown flag %s of a group is ignored%s", shown(a.Name.Text),
				meant(a.Name.Text, groupFlagWords))
			continue
		}
		r.groupFlag(&own, w, a)
	}
	g := own.Group
	g.MGID, g.Position = mgid, r.at(item.Name)
	if own.scopes == 0 {
		own.scopes = 1 << linkLocal
		if scope := g.MGID[1] & 15; scope != linkLocal {
			r.warn(item.Value, "the group gets scope %d, not %d: scopes are given with scope=", linkLocal, scope)
		}
	}
	if isIP(g.MGID) && !r.fitIP(p, item, &g, f) {
		return
	}
	_, written := r.groups[g.MGID]
	for scope := range uint8(16) {
		if own.scopes&(1<<scope) != 0 {
			r.addScoped(p, g, scope, item, written)
		}
	}
}

func signature(mgid mad.GID) uint16 { return binary.BigEndian.Uint16(mgid[2:]) }

// isIP reports whether a group is an IPoIB group.
func isIP(mgid mad.GID) bool {
	return signature(mgid) == ipv4Signature || signature(mgid) == ipv6Signature
}

// fitIP completes a group of IP, if it fits its partition.
func (r *resolver) fitIP(p *Partition, item *Item, g *Group, f *flags) bool {
	key := p.Key | mad.FullMember
	switch given := mad.PKey(binary.BigEndian.Uint16(g.MGID[4:])); {
	case given != 0 && given != key:
		r.warn(item.Value, "no group %s: its P_Key %s differs from the partition's, %s", item.Value.Text, given, key)
		return false
	case g.Rate != f.group.Rate || g.MTU != f.group.MTU:
		r.warn(item.Value, "no group %s: groups of IP have the rate and the MTU of their definition", item.Value.Text)
		return false
	}
	binary.BigEndian.PutUint16(g.MGID[4:], uint16(key))
	if g.QKey == 0 {
		g.QKey = IPoIBQKey
	}
	return true
}

// addScoped makes a group of a scope exist where the architecture allows it. written says
// whether there is one already of the very address in the file, which is all that OpenSM
// asks.
func (r *resolver) addScoped(p *Partition, g Group, scope uint8, item *Item, written bool) {
	text := item.Value.Text
	g.MGID[1] = g.MGID[1]&0xf0 | scope
	switch at, exists := r.groups[g.MGID]; {
	case written && !exists:
		r.warn(item.Value, "OpenSM makes no group of scope %d, because %s exists", scope, text)
	case !written && exists:
		r.warn(item.Value, "OpenSM may crash here, because line %[2]d already defines the group of scope %[1]d", scope, at.Position.Line)
	}
	switch {
	case g.MTU == 0 || g.Rate == 0:
		r.warn(item.Value, "no group %s: its rate or MTU is not valid", text)
		return
	case g.MGID[1]&0xe0 != 0:
		r.warn(item.Value, "no group %s: of the flag bits after ff only the lowest may be set, as in ff1", text)
		return
	case signature(g.MGID) == saSignature && scope == linkLocal:
		r.warn(item.Value, "no group %s: only the SA assigns such addresses of scope %d", text, linkLocal)
		return
	}
	if broadcast := registry.BroadcastMGID(p.Key, scope); isIP(g.MGID) && g.MGID != broadcast {
		if _, exists := r.groups[broadcast]; !exists {
			r.warn(item.Value,
				"no group %s: the partition has no broadcast group of scope %d; write ipoib before the colon", text,
				scope)
			return
		}
	}
	r.add(p, g, item.Value)
}
