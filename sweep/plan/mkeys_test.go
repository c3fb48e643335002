package plan

import (
	"bytes"
	"slices"
	"testing"

	"ibsm/keys"
	"ibsm/mad"
)

// TestCandidate: what is shown to an agent whose M_Key is not proved, in order.
func TestCandidate(t *testing.T) {
	secret, _ := keys.New(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	p := secret.Ports(3)
	const port, one = 9, 0x77
	own := func(number uint32) mad.MKey { return mad.MKey(p.With(number, port)) }
	first := secret.Ports(1)
	for _, c := range []struct {
		name     string
		k        MKeys
		port     mad.GUID
		recorded Recorded
		want     []mad.MKey
	}{
		{"one for all", MKeys{One: one}, port, Recorded{}, []mad.MKey{one}},
		{"one for all, another recorded", MKeys{One: one}, port, Recorded{Key: 5, Known: true}, []mad.MKey{5, one}},
		{"one for all, none recorded", MKeys{One: one}, port, Recorded{Key: 0, Known: true}, []mad.MKey{0, one}},
		{"one for all, none recorded, another before", MKeys{One: one}, port, Recorded{Key: 0, Known: true, Before: 5},
			[]mad.MKey{0, one, 5}},
		{"one for all, the same before", MKeys{One: one}, port, Recorded{Key: 5, Known: true, Before: 5},
			[]mad.MKey{5, one}},
		{"for each port, somebody else's before", MKeys{One: one, Ports: p, PerPort: true}, port,
			Recorded{Key: own(3), Known: true, Before: 5}, []mad.MKey{own(3), own(2), one, own(4), 5}},
		{"no lookup", MKeys{One: one, NoLookup: true}, port, Recorded{Key: 5, Known: true}, []mad.MKey{one}},
		{"for each port", MKeys{One: one, Ports: p, PerPort: true}, port, Recorded{},
			[]mad.MKey{own(3), own(2), one, own(4)}},
		{"for each port, the former recorded", MKeys{One: one, Ports: p, PerPort: true}, port,
			Recorded{Key: own(2), Known: true}, []mad.MKey{own(2), own(3), one, own(4)}},
		{"for each port, none recorded", MKeys{One: one, Ports: p, PerPort: true}, port, Recorded{Key: 0, Known: true},
			[]mad.MKey{own(3), own(2), one, own(4)}},
		{"for each port, the first number", MKeys{One: one, Ports: first, PerPort: true}, port,
			Recorded{Key: 5, Known: true}, []mad.MKey{5, own(1), one, own(2)}},
		{"for each port, unknown", MKeys{One: one, Ports: p, PerPort: true}, 0, Recorded{},
			[]mad.MKey{mad.MKey(p.Knock()), one}},
		{"the way back", MKeys{One: one, Ports: p}, port, Recorded{Key: own(3), Known: true},
			[]mad.MKey{own(3), one, own(2), own(4)}},
		{"rotated since", MKeys{One: one, Ports: p, PerPort: true}, port, Recorded{own(2), true, true, 0},
			[]mad.MKey{own(3), own(2), one, own(4)}},
		{"given its own since", MKeys{One: one, Ports: p, PerPort: true}, port,
			Recorded{mad.MKey(secret.MKey()), true, true, 0},
			[]mad.MKey{own(3), mad.MKey(secret.MKey()), own(2), one, own(4)}},
		{"the store is older than the port", MKeys{One: one, Ports: p, PerPort: true}, port,
			Recorded{own(4), true, true, 0}, []mad.MKey{own(4), own(3), own(2), one}},
		{"somebody else's", MKeys{One: one, Ports: p, PerPort: true}, port, Recorded{5, true, true, 0},
			[]mad.MKey{5, own(3), own(2), one, own(4)}},
		{"gone back since", MKeys{One: one, Ports: p}, port, Recorded{own(3), true, true, 0},
			[]mad.MKey{one, own(3), own(2), own(4)}},
		{"the way back, unknown", MKeys{One: one, Ports: p}, 0, Recorded{}, []mad.MKey{one, mad.MKey(p.Knock())}},
	} {
		var got []mad.MKey
		for n := 0; ; n++ {
			key, ok := c.k.Candidate(c.port, c.recorded, n)
			if !ok {
				break
			}
			got = append(got, key)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestHiddenMKey: a port that hides its M_Key is not sent M_Key 0 with its other parameters.
func TestHiddenMKey(t *testing.T) {
	secret, _ := keys.New(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	s := newSubnet(t)
	s.in.Values.MKeys = MKeys{One: 5, Ports: secret.Ports(1), PerPort: true}
	s.in.Values.KeepMKey = false
	for _, i := range s.in.Topo.EndPorts {
		port := &s.in.Topo.Ports[i]
		port.Info.SetMKey(0)
		port.Info.SetMKeyProtectBits(1)
		p := Plan{in: s.in}
		if w := p.Wanted(i); w.MKey() != s.in.Values.MKeys.Wanted(port.GUID) || w.MKeyProtectBits() != 1 {
			t.Errorf("port %v: M_Key %v, protection %d", port.GUID, w.MKey(), w.MKeyProtectBits())
		}
		port.Info.SetMKey(0xbeef)
		if w := p.Wanted(i); w.MKey() != 0xbeef {
			t.Errorf("port %v: M_Key %v with its other parameters", port.GUID, w.MKey())
		}
	}
}

// TestMKeysWritten: a plan has no steps for M_Keys once all ports have theirs, and two for one that does not.
func TestMKeysWritten(t *testing.T) {
	secret, _ := keys.New(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	s := newSubnet(t)
	s.in.Values.MKeys = MKeys{One: 5, Ports: secret.Ports(1), PerPort: true}
	s.in.Values.KeepMKey = false
	p := Plan{in: s.in}
	for _, i := range s.in.Topo.EndPorts {
		p.setMKey(i, &s.in.Topo.Ports[i].Info)
	}
	if parts := p.mkeySteps(); len(parts) != 0 {
		t.Errorf("ports that have their M_Keys: %v", parts)
	}
	s.info(hostGUID, 1).SetMKey(0)
	if parts := p.mkeySteps(); len(parts) != 2 || len(parts[0]) != 1 || len(parts[1]) != 1 {
		t.Errorf("a port that has none: %v", parts)
	}
}

// TestClears: on the way back to no M_Key, ports lose those of the secret and those that the configuration has set, and
// keep others.
func TestClears(t *testing.T) {
	secret, _ := keys.New(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	p := secret.Ports(2)
	k := MKeys{Ports: p.Beside(0, 0x1234)}
	for key, keeps := range map[mad.MKey]bool{0: false, mad.MKey(p.Of(7)): false, mad.MKey(secret.MKey()): false,
		0x1234: false, 0x9999: true} {
		if k.clears(7, key) != keeps {
			t.Errorf("M_Key %v stays: %v, want %v", key, !keeps, keeps)
		}
	}
}
