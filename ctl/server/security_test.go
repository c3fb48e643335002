package server

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/finding"
	"ibsm/keys"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/topo"
	"ibsm/view"
)

// failing are the rules of a report that fail.
func failing(s *ctl.Security) (names []string) {
	for _, r := range s.Rules {
		if r.State == ctl.RuleFails {
			names = append(names, r.Rule)
		}
		if (r.State == ctl.RuleFails) != (r.Do != "") {
			names = append(names, r.Rule+" without advice, or with one that is not needed")
		}
	}
	return names
}

// TestSecurity: in a subnet where everything is set all rules hold; each thing that is taken away makes one rule
// fail, and rules about ports name them.
func TestSecurity(t *testing.T) {
	v := newView(t, "fattree:k=4")
	tp := v.Topo
	var hosts []topo.PortIdx
	self := tp.EndPort(tp.Self)
	secret, _ := keys.New(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	own := secret.Ports(2)
	for _, p := range tp.EndPorts {
		info := &tp.Ports[p].Info
		info.SetMKey(mad.MKey(own.Of(uint64(tp.Ports[p].GUID))))
		info.SetMKeyProtectBits(2)
		info.SetMKeyLeasePeriod(60)
		if tp.IsHost(p) {
			tp.Ports[p].PKeys = topo.NewPKeyTable([]mad.PKey{0x7fff, 0x8012})
			tp.Ports[tp.Ports[p].Peer].Info.SetPartitionEnforcementInbound(true)
			if p != self {
				hosts = append(hosts, p)
			}
		}
	}
	tp.Ports[self].PKeys = topo.NewPKeyTable([]mad.PKey{0xffff})
	v.Subnet.Trust = view.Trust{Enhanced: true, CheckSGID: true, Rate: 1000}
	all := Keys{SMKey: true, SAKey: true, MKey: true, AllowedSMs: true, Mirrored: true, Ports: own, PerPort: true}
	report := func(k Keys) *ctl.Security {
		s := newSubnet(v, nil)
		s.keys = func() Keys { return k }
		return s.Security()
	}
	if s := report(all); !s.Holds || failing(s) != nil || len(s.Rules) < 12 {
		t.Errorf("with everything set %v fail", failing(s))
	}
	host := &tp.Ports[hosts[3]]
	for rule, change := range map[string]func(k *Keys) (undo func()){
		"sm_key":           func(k *Keys) func() { k.SMKey = false; return func() {} },
		"sa_key":           func(k *Keys) func() { k.SAKey = false; return func() {} },
		"allowed_sm_guids": func(k *Keys) func() { k.AllowedSMs = false; return func() {} },
		"mirror":           func(k *Keys) func() { k.Mirrored = false; return func() {} },
		"m_key_lease_period": func(*Keys) func() {
			host.Info.SetMKeyLeasePeriod(0)
			return func() { host.Info.SetMKeyLeasePeriod(60) }
		},
		"m_key_protection_level": func(*Keys) func() {
			host.Info.SetMKeyProtectBits(1)
			return func() { host.Info.SetMKeyProtectBits(2) }
		},
		"m_key m_key_protection_level m_key_per_port": func(*Keys) func() {
			was := host.Info
			host.Info.SetMKey(0)
			host.Info.SetMKeyProtectBits(0)
			return func() { host.Info = was }
		},
		"m_key_per_port": func(*Keys) func() {
			was := host.Info
			host.Info.SetMKey(mad.MKey(own.With(1, uint64(host.GUID))))
			return func() { host.Info = was }
		},
		"default partition": func(*Keys) func() {
			was := host.PKeys
			host.PKeys = topo.NewPKeyTable([]mad.PKey{0x8012, 0xffff})
			return func() { host.PKeys = was }
		},
		"part_enforce": func(*Keys) func() {
			peer := &tp.Ports[host.Peer].Info
			peer.SetPartitionEnforcementInbound(false)
			return func() { peer.SetPartitionEnforcementInbound(true) }
		},
		"sa_enhanced_trust_model": func(*Keys) func() {
			v.Subnet.Trust.Enhanced = false
			return func() { v.Subnet.Trust.Enhanced = true }
		},
		"sa_check_sgid_spoofing": func(*Keys) func() {
			v.Subnet.Trust.CheckSGID = false
			return func() { v.Subnet.Trust.CheckSGID = true }
		},
		"sa_rate_threshold": func(*Keys) func() {
			v.Subnet.Trust.Rate = 0
			return func() { v.Subnet.Trust.Rate = 1000 }
		},
	} {
		k := all
		undo := change(&k)
		s := report(k)
		if names := failing(s); s.Holds || strings.Join(names, " ") != rule {
			t.Errorf("%s: %v fail", rule, names)
		}
		for _, r := range s.Rules {
			if r.State == ctl.RuleFails && r.Ports != nil &&
				(len(r.Ports) != 1 || r.Ports[0].Node != tp.Nodes[host.Node].GUID.String()) {
				t.Errorf("%s: at %+v", rule, r.Ports)
			}
		}
		undo()
	}
	for key, text := range map[mad.MKey]string{
		mad.MKey(own.With(1, uint64(host.GUID))): "1 of them have another number",
		9:                                        "1 of them have a key from another source",
		0:                                        "1 of 36 ports have an M_Key other than the individual one",
	} {
		was := host.Info
		host.Info.SetMKey(key)
		for _, r := range report(all).Rules {
			if r.Rule == "m_key_per_port" && !strings.Contains(r.Text, text) {
				t.Errorf("with M_Key %v: %s", key, r.Text)
			}
		}
		host.Info = was
	}
	explicit := all
	explicit.Ports = own.Beside(0x1234, 0x1233)
	for _, key := range []mad.MKey{0x1234, 0x1233} {
		was := host.Info
		host.Info.SetMKey(key)
		for _, r := range report(explicit).Rules {
			if r.Rule == "m_key_per_port" && (r.State != ctl.RuleFails || strings.Contains(r.Text, "somebody else")) {
				t.Errorf("with the M_Key %v of the configuration: %+v", key, r)
			}
		}
		host.Info = was
	}
	leaf := tp.Nodes[tp.Ports[host.Peer].Node].GUID
	v.Findings = []finding.Finding{{Kind: finding.Unresponsive, Node: leaf, Port: 3}}
	for _, r := range report(all).Rules {
		if r.Rule == "m_key_per_port" &&
			(r.State != ctl.RuleFails || !strings.Contains(r.Text, "behind 1 links nothing answers") ||
				len(r.Ports) != 1 || r.Ports[0].Node != leaf.String() || r.Ports[0].Port != 3) {
			t.Errorf("with an unresponsive node behind a port: %+v", r)
		}
	}
	v.Findings = nil
	one := all
	if one.PerPort = false; strings.Join(failing(report(one)), " ") != "m_key_per_port" {
		t.Errorf("with one M_Key for all %v fail", failing(report(one)))
	}
	if names := failing(newSubnet(v, nil).Security()); !slices.Contains(names, "sm_key") {
		t.Errorf("without a manager %v fail", names)
	}
}

// A rule that fails everywhere names a bounded number of ports.
func TestSecurityOfMany(t *testing.T) {
	v := newView(t, "fattree:k=8")
	for _, r := range newSubnet(v, nil).Security().Rules {
		if r.Rule == "m_key" && (len(r.Ports) != maxSecurityPorts || r.More != len(v.Topo.EndPorts)-maxSecurityPorts ||
			!strings.HasPrefix(r.Text, "208 of 208 ")) {
			t.Errorf("%d ports and %d more: %s", len(r.Ports), r.More, r.Text)
		}
	}
}

// TestAllowText: the advice for allowed_sm_guids has the managers that have authenticated themselves, in a line that
// can be copied.
func TestAllowText(t *testing.T) {
	if text := allowText(5, nil); text != "list the port GUIDs of all managers in allowed_sm_guids" {
		t.Errorf("without a standby: %s", text)
	}
	want := "set allowed_sm_guids 0x0000000000000005,0x0000000000000002,0x0000000000000009 on all managers"
	if text := allowText(5, []manager.Mirror{{Standby: 9}, {Standby: 2}, {Standby: 5}}); !strings.HasPrefix(text,
		want) {
		t.Errorf("%s, want %s", text, want)
	}
	v := newView(t, "fattree:k=4")
	for _, r := range newSubnet(v, nil).Security().Rules {
		if r.Rule == "allowed_sm_guids" && r.Do != allowText(1, nil) {
			t.Errorf("without a manager: %s", r.Do)
		}
	}
}
