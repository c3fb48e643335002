package plan

import (
	"slices"

	"ibsm/keys"
	"ibsm/mad"
	"ibsm/topo"
)

// MKeys are the M_Keys of a subnet's ports: those that they are to have, and others that they may have.
type MKeys struct {
	One mad.MKey // of all ports, unless PerPort
	// Ports are keys of which each port has its own, and may have that of the number before or after. The zero value is none.
	Ports    keys.Ports
	PerPort  bool // ports are to have theirs of Ports
	NoLookup bool // every request shows One, whatever the port's key is; not with PerPort
}

// Wanted is the M_Key that a port is to have, by the GUID of its agent's port.
func (k *MKeys) Wanted(port mad.GUID) mad.MKey {
	if k.PerPort && port != 0 {
		return mad.MKey(k.Ports.Of(uint64(port)))
	}
	return k.One
}

// For is the M_Key of a request to the agent of a port: the one it was read with, else the wanted one, which an agent without
// M_Key takes as any other.
func (k *MKeys) For(t *topo.Topo, p topo.PortIdx) mad.MKey {
	if k.NoLookup && !k.PerPort {
		return k.One
	}
	if held := t.MKey(p); held != 0 {
		return held
	}
	return k.Wanted(t.Agent(p))
}

// Try is the nth M_Key, from 0 on, to show to an agent whose M_Key is not proved; ok is false where there are no more. recorded is
// the one that it had last, if known. An agent at protection level 2 takes a wrong one for an attack, so there are few: after the
// recorded one that of the current number, of the number before, of all ports, and, for a manager whose store is old, of the next
// number.
func (k *MKeys) Try(port mad.GUID, recorded mad.MKey, known bool, n int) (key mad.MKey, ok bool) {
	if k.NoLookup && !k.PerPort {
		return k.One, n == 0
	}
	if known = known && (recorded != 0 || !k.PerPort); known && n == 0 { // an agent without M_Key takes any
		return recorded, true
	}
	list := make([]mad.MKey, 0, 5)
	add := func(key mad.MKey) {
		if !slices.Contains(list, key) {
			list = append(list, key)
		}
	}
	if known {
		add(recorded)
	}
	if !k.PerPort {
		add(k.One)
	}
	if number := k.Ports.Number(); number > 0 && port != 0 {
		add(mad.MKey(k.Ports.Of(uint64(port))))
		if number > 1 {
			add(mad.MKey(k.Ports.With(number-1, uint64(port))))
		}
		add(k.One)
		add(mad.MKey(k.Ports.With(number+1, uint64(port))))
	}
	if len(list) == 0 {
		add(k.One)
	}
	if n >= len(list) {
		return 0, false
	}
	return list[n], true
}
