package plan

import (
	"slices"
	"testing"

	"ibsm/keys"
	"ibsm/mad"
)

// TestTry: what is shown to an agent whose M_Key is not proved, in order.
func TestTry(t *testing.T) {
	secret := keys.FromMKey(7)
	p := secret.Ports(3)
	const port, one = 9, 0x77
	own := func(number uint32) mad.MKey { return mad.MKey(p.With(number, port)) }
	first := secret.Ports(1)
	for _, c := range []struct {
		name     string
		k        MKeys
		port     mad.GUID
		recorded mad.MKey
		known    bool
		want     []mad.MKey
	}{
		{"one for all", MKeys{One: one}, port, 0, false, []mad.MKey{one}},
		{"one for all, another recorded", MKeys{One: one}, port, 5, true, []mad.MKey{5, one}},
		{"one for all, none recorded", MKeys{One: one}, port, 0, true, []mad.MKey{0, one}},
		{"no lookup", MKeys{One: one, NoLookup: true}, port, 5, true, []mad.MKey{one}},
		{"for each port", MKeys{One: one, Ports: p, PerPort: true}, port, 0, false, []mad.MKey{own(3), own(2), one, own(4)}},
		{"for each port, the former recorded", MKeys{One: one, Ports: p, PerPort: true}, port, own(2), true, []mad.MKey{own(2), own(3), one, own(4)}},
		{"for each port, none recorded", MKeys{One: one, Ports: p, PerPort: true}, port, 0, true, []mad.MKey{own(3), own(2), one, own(4)}},
		{"for each port, the first number", MKeys{One: one, Ports: first, PerPort: true}, port, 5, true, []mad.MKey{5, own(1), one, own(2)}},
		{"for each port, unknown", MKeys{One: one, Ports: p, PerPort: true}, 0, 0, false, []mad.MKey{mad.MKey(p.Knock()), one}},
		{"the way back", MKeys{One: one, Ports: p}, port, own(3), true, []mad.MKey{own(3), one, own(2), own(4)}},
		{"the way back, unknown", MKeys{One: one, Ports: p}, 0, 0, false, []mad.MKey{one, mad.MKey(p.Knock())}},
	} {
		var got []mad.MKey
		for n := 0; ; n++ {
			key, ok := c.k.Try(c.port, c.recorded, c.known, n)
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
	secret := keys.FromMKey(7)
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
