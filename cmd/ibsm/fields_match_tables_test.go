package main_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// keysIn are the P_Keys of a table; 0 for an empty entry.
func keysIn(table string) (keys []mad.PKey) {
	for _, text := range strings.Fields(strings.Trim(table, "[]")) {
		k, _ := strconv.ParseUint(text, 0, 16)
		keys = append(keys, mad.PKey(k))
	}
	return keys
}

// keySet is the P_Keys without regard to their places.
func keySet(keys []mad.PKey) []mad.PKey {
	keys = slices.DeleteFunc(slices.Clone(keys), func(k mad.PKey) bool { return k == 0 })
	slices.Sort(keys)
	return slices.Compact(keys)
}

// full are P_Keys as full ones.
func full(keys []mad.PKey) (all []mad.PKey) {
	for _, k := range keys {
		if k != 0 {
			k |= mad.FullMember
		}
		all = append(all, k)
	}
	return all
}

// wantedKeys are the P_Keys of a host by the partition file, as full ones: those of the partitions that
// name it, and the default one.
func (c *fieldCase) wantedKeys(host net.End) []mad.PKey {
	keys := []mad.PKey{mad.DefaultPKey}
	if host.Node < 0 {
		return keys
	}
	n := c.net()
	guid := n.Nodes[host.Node].Ports[host.Port].GUID.String()
	for line := range strings.Lines(c.partitions) {
		head, members, _ := strings.Cut(line, " : ")
		_, key, _ := strings.Cut(head, "=")
		key, _, _ = strings.Cut(key, ",")
		if k, err := strconv.ParseUint(key, 0, 16); err == nil && strings.Contains(members, guid) {
			keys = append(keys, mad.PKey(k)|mad.FullMember)
		}
	}
	return keySet(keys)
}

// host is the port of a host or router that is on the other end of a switch's cable; net.NoEnd for
// none.
func (d *fieldDifference) host() net.End {
	at := d.ibsm.ports[d.at].cable
	if d.at.Port == 0 || !d.ibsm.isSwitch(d.at.Node) || at == net.NoEnd || d.ibsm.isSwitch(at.Node) {
		return net.NoEnd
	}
	return at
}

// heldKeys are the P_Keys that a port holds.
func (s *fieldState) heldKeys(at net.End) []mad.PKey {
	return keysIn(s.held[item{at, smp.AttrPKeyTable, "held"}])
}

// keyBlock is the first block of P_Keys that a port holds.
func (s *fieldState) keyBlock(at net.End) string {
	var held smp.PKeyTable
	for i, k := range s.heldKeys(at) {
		held.SetPKey(i, k)
	}
	return hex.EncodeToString(held[:])
}

// limited reports whether ibsm has the keys full at a switch's port that are limited ones of its
// host, as OpenSM has them there.
func (d *fieldDifference) limited() bool {
	host := d.host()
	if host == net.NoEnd || d.sent || d.partitions == "" {
		return false
	}
	theirs, ours := keysIn(d.theirs[0]), keysIn(d.ours[0])
	for _, k := range theirs {
		if k != 0 && k&mad.FullMember == 0 && !slices.Contains(d.openSM.heldKeys(host), k) {
			return false
		}
	}
	if d.keptIndexes() {
		theirs, ours = keySet(full(theirs)), keySet(ours)
	}
	return slices.Equal(full(theirs), ours)
}

// keptIndexes reports whether the port held P_Keys from before, and those that stay have the index that they had.
func (d *fieldDifference) keptIndexes() bool {
	if !d.kind("P_Keys of before") && !d.kind("P_Keys of before with the default last") &&
		!d.kind("P_Keys of before with the default limited") {
		return false
	}
	ours, before := keysIn(d.ours[0]), keysIn(d.first)
	for i, k := range before {
		at := slices.IndexFunc(ours, func(o mad.PKey) bool { return k != 0 && o != 0 && k.Base() == o.Base() })
		if at >= 0 && at != i && !(at == 0 && k.Base() == mad.DefaultPKey.Base()) { // which has to be the first one
			return false
		}
	}
	return true
}

// sameKeys reports whether both have the same keys, at other places.
func (d *fieldDifference) sameKeys() bool {
	return !d.sent && d.keptIndexes() && slices.Equal(keySet(keysIn(d.theirs[0])), keySet(keysIn(d.ours[0])))
}

// noPolicy reports whether only OpenSM has written P_Keys without a partition file.
func (d *fieldDifference) noPolicy() bool {
	return d.partitions == "" && d.keeps() && (d.sent || d.they("[0xffff]"))
}

// cut reports whether the port of a switch has no room for the P_Keys of its host.
func (d *fieldDifference) cut() bool {
	return d.host() != net.NoEnd && d.kind(oneKey) && len(d.wantedKeys(d.host())) > 1
}

// cutKeys reports whether such a port holds one key of its host with ibsm.
func (d *fieldDifference) cutKeys() bool {
	if d.sent || !d.cut() {
		return false
	}
	ours := keysIn(d.ours[0])
	return len(ours) == 1 && slices.Contains(d.wantedKeys(d.host()), ours[0])
}

// crowded reports whether a switch's port has the keys that its host has no room for.
func (d *fieldDifference) crowded() bool {
	host := d.host()
	if d.sent || host == net.NoEnd || !d.nodeKind(host.Node, "room for 2 P_Keys") {
		return false
	}
	return slices.Equal(keySet(keysIn(d.ours[0])), d.wantedKeys(host)) &&
		slices.Equal(keysIn(d.theirs[0]), d.openSM.heldKeys(host))
}

// enforced is what the configuration says about whether ports check P_Keys; "" if the field is
// not about that.
func (d *fieldDifference) enforced() string {
	key := map[string]string{"PartitionEnforcementInbound": "in", "PartitionEnforcementOutbound": "out"}[d.part]
	if key == "" {
		return ""
	}
	if mode, given := d.settings["part_enforce"]; given && mode != "both" && mode != key {
		return "0"
	}
	return "1"
}

// unchecked reports whether ibsm alone turns off the check where not all keys fit.
func (d *fieldDifference) unchecked() bool {
	return d.enforced() == "1" && d.cut() && d.ibsm.held[d.item] == "0" && (d.they("1") || d.sent && d.keeps())
}

// cannotCheck reports whether OpenSM alone writes to a port that checks nothing.
func (d *fieldDifference) cannotCheck() bool {
	return d.enforced() != "" && (d.kind("no enforcement") || d.kind("no enforcement though it says 1")) && d.keeps() &&
		d.sent && d.they("0")
}

// checksWithoutPolicy reports whether only OpenSM changes the checks without a partition file: it turns them on at
// ports to hosts and routers, and off elsewhere.
func (d *fieldDifference) checksWithoutPolicy() bool {
	if d.enforced() == "" || d.partitions != "" || !d.keeps() {
		return false
	}
	if d.host() == net.NoEnd {
		return d.they("0")
	}
	return d.they(d.enforced())
}

// isTree reports whether the tables of switches forward a multicast LID along a tree: of each link
// between switches both ends are in it, and no links close a circle.
func (s *fieldState) isTree(mlid mad.LID) bool {
	links, switches := 0, map[int32]int32{}
	var root func(n int32) int32
	root = func(n int32) int32 {
		if up, there := switches[n]; there && up != n {
			return root(up)
		}
		return n
	}
	for node := range s.switches {
		switches[node] = node
	}
	for node := range s.switches {
		for _, at := range s.multicastPorts(node, mlid) {
			peer := s.ports[at].peer
			if _, there := s.ports[at]; !there || at.Port == 0 || peer == net.NoEnd || !s.isSwitch(peer.Node) {
				continue
			}
			if !slices.Contains(s.multicastPorts(peer.Node, mlid), peer) {
				return false
			}
			links++
			if a, z := root(node), root(peer.Node); a != z {
				switches[a] = z
			}
		}
	}
	parts := 0
	for node, up := range switches {
		if node == up {
			parts++
		}
	}
	return links/2 == len(switches)-parts
}

// otherTree reports whether ibsm's entry is one of another tree of a group that has members, and leads to those at
// the switch.
func (d *fieldDifference) otherTree() bool {
	if d.sent {
		return d.multicastSent()
	}
	var mlid uint16
	if _, err := fmt.Sscanf(d.part, "MLID 0x%x", &mlid); err != nil {
		return false
	}
	used := false
	for who, as := range d.ibsm.members {
		if as.mlid != mad.LID(mlid) {
			continue
		}
		used = true
		leaf := d.ibsm.ports[who.at].peer
		if as.receives && leaf.Node == d.at.Node && d.ibsm.ports[leaf].sendsData &&
			!slices.Contains(d.ibsm.multicastPorts(leaf.Node, as.mlid), leaf) {
			return false
		}
	}
	for _, at := range d.ibsm.multicastPorts(d.at.Node, mad.LID(mlid)) {
		if at.Port != 0 && d.ibsm.ports[at].peer == net.NoEnd || d.ibsm.ports[at].place == "" {
			return false
		}
	}
	return (used || d.ours[0] == "") && d.ibsm.isTree(mad.LID(mlid))
}

// multicastSent reports whether ibsm has sent the block that the switch holds, and whether no block that it has sent
// leads to a port without a cable, or is for a group that nobody has joined.
func (d *fieldDifference) multicastSent() bool {
	var held, may [mad.DataSize]byte
	var block uint32
	if _, err := fmt.Sscanf(d.part, "block 0x%x", &block); err != nil || block<<4 != 0 {
		return false
	}
	set := func(b *[mad.DataSize]byte, mlid mad.LID, port uint8) {
		if uint32(port/16) == block>>28 {
			b[2*(mlid-mad.MinMulticastLID)+1-mad.LID(port%16/8)] |= 1 << (port % 8)
		}
	}
	for mlid := mad.MinMulticastLID; mlid < mad.MinMulticastLID+32; mlid++ {
		for _, at := range d.ibsm.multicastPorts(d.at.Node, mlid) {
			set(&held, mlid, at.Port)
		}
	}
	for _, as := range d.joined {
		for at, p := range d.ibsm.ports {
			if at.Node == d.at.Node && (at.Port == 0 || p.cable != net.NoEnd) {
				set(&may, as, at.Port)
			}
		}
	}
	for _, v := range d.ours {
		data, _ := hex.DecodeString(v)
		for i, b := range data {
			if b&^may[i] != 0 {
				return false
			}
		}
	}
	return len(d.ours) == 0 || slices.Contains(d.ours, hex.EncodeToString(held[:]))
}

// aroundSwitch reports whether ibsm's tree reaches members that OpenSM's, led through a switch
// without multicast, does not.
func (d *fieldDifference) aroundSwitch() bool {
	if !strings.HasPrefix(d.part, reachedMembers) || !slices.ContainsFunc(d.kinds, func(k string) bool {
		return strings.Contains(k, "no multicast")
	}) {
		return false
	}
	theirs, ours := reachedPorts(d.theirs[0]), reachedPorts(d.ours[0])
	for _, at := range theirs {
		if !slices.Contains(ours, at) {
			return false
		}
	}
	return len(ours) > len(theirs)
}

// reachedPorts are the ports of a part of reachedMembers or reachedOthers.
func reachedPorts(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ", "), func(at string) bool { return at == "" })
}

// onlySend reports whether ibsm's tree leads to none that have joined only to send, where OpenSM's does.
func (d *fieldDifference) onlySend() bool {
	if !strings.HasPrefix(d.part, reachedOthers) || d.ours[0] != "" {
		return false
	}
	senders := map[string]bool{}
	for who, as := range d.openSM.members {
		if strings.HasSuffix(d.part, who.group.String()) && !as.receives {
			senders[fmt.Sprint(who.at)] = true
		}
	}
	return !slices.ContainsFunc(reachedPorts(d.theirs[0]), func(at string) bool { return !senders[at] })
}

// entry is the LID of an entry of a LinearForwardingTable; ok is false for another part.
func (d *fieldDifference) entry() (lid mad.LID, ok bool) {
	var v uint16
	_, err := fmt.Sscanf(d.part, "LID %d", &v)
	return mad.LID(v), err == nil
}

// routesSent reports whether the entries that ibsm has sent are those that the switch now has.
func (d *fieldDifference) routesSent() bool {
	var block int
	if _, err := fmt.Sscanf(d.part, "block 0x%x", &block); err != nil || !d.sent || len(d.ours) > 1 {
		return false
	}
	for _, v := range d.ours {
		data, _ := hex.DecodeString(v)
		for i, port := range data {
			lid := mad.LID(block*mad.DataSize + i)
			held := d.ibsm.held[item{net.End{Node: d.at.Node}, d.attr, lidPart(lid)}]
			if port == 255 {
				held, port = held+"255", 255
			}
			if held != fmt.Sprint(port) && lid <= d.ibsm.highestLID() {
				return false
			}
		}
	}
	return true
}

// away reports whether something has happened for which OpenSM computes all routes anew.
func (d *fieldDifference) away() bool {
	return d.stage == reboot || d.stage == lostLink || d.stage == reloaded
}

// stays reports whether ibsm's entry is what it was, or what it was leads nowhere any more or by more links.
func (d *fieldDifference) stays() bool {
	lid, ok := d.entry()
	if !d.away() || d.sent {
		return d.away() && d.routesSent()
	}
	if !ok {
		return false
	}
	if d.keeps() {
		return true
	}
	if d.stage == reloaded {
		return false
	}
	hops := lengthPart(lid)
	now, _ := strconv.Atoi(d.ibsm.led[item{d.at, d.attr, hops}])
	before := d.ibsm.out(d.ibsm.first, d.at.Node, lid)
	next := d.ibsm.ports[before].peer
	if before == net.NoEnd || next == net.NoEnd || !d.ibsm.isSwitch(next.Node) {
		return true
	}
	then, err := strconv.Atoi(d.ibsm.led[item{net.End{Node: next.Node}, d.attr, hops}])
	return err != nil || then+1 > now
}

// balance reports whether the balance decides, in which routes to aggregation nodes count with OpenSM alone. What
// follows from the entries before is checked for the first LID of each port; a port's other LIDs avoid what its first
// ones use.
func (d *fieldDifference) balance() bool {
	if !d.aggregation || d.away() {
		return false
	}
	if d.sent {
		return d.routesSent()
	}
	lid, ok := d.entry()
	n := d.net()
	if to, first := d.ibsm.hasLID(lid); ok && first {
		return d.they(fmt.Sprint(d.openSM.balanced(n, d.at.Node, to, func(int32) bool { return true }))) &&
			d.we(fmt.Sprint(d.ibsm.balanced(n, d.at.Node, to, func(node int32) bool {
				return n.Nodes[node].DeviceID != aggregationDevice
			})))
	}
	return ok
}

// hasLID is the port with a LID, and whether that is its first one.
func (s *fieldState) hasLID(lid mad.LID) (at net.End, first bool) {
	for at, p := range s.ports {
		if (at.Port == 0 || !s.isSwitch(at.Node)) && p.info.LID() <= lid && lid < p.info.LID()+1<<p.info.LMC() {
			return at, p.info.LID() == lid
		}
	}
	return net.NoEnd, false
}
