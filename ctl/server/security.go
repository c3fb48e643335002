package server

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"ibsm/ctl"
	"ibsm/finding"
	"ibsm/keys"
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/plural"
	"ibsm/topo"
)

// Keys is what the configuration in force says of keys, without showing any. It is immutable.
type Keys struct {
	SMKey, SAKey, MKey bool       // it is set, to another value than OpenSM's default
	AllowedSMs         bool       // only managers of a list are believed
	Mirrored           bool       // registrations are mirrored to standbys
	Ports              keys.Ports // M_Keys of ports
	PerPort            bool       // ports get them
}

// maxSecurityPorts is how many ports a rule names.
const maxSecurityPorts = 64

// Security is how well the subnet is protected, rule by rule.
func (s *subnet) Security() *ctl.Security {
	out := &ctl.Security{Holds: true}
	trust := s.view.Subnet.Trust
	keys := s.keysInForce()
	setting := func(name string, holds bool, text, not, do string) ctl.SecurityRule {
		if holds {
			return ctl.SecurityRule{Rule: name, State: ctl.RuleHolds, Text: text}
		}
		return ctl.SecurityRule{Rule: name, State: ctl.RuleFails, Text: not, Do: do}
	}
	rules := []ctl.SecurityRule{
		s.atPorts("m_key", "agents demand an M_Key for Sets", "accept Sets from any host",
			"set a secret m_key, the same for all managers", s.lacksMKey),
		s.atPorts("m_key_protection_level", "agents answer Gets only with the M_Key", "answer Gets of any host",
			"set m_key_protection_level 2", s.lacksProtection),
		s.portMKeys(&keys),
		s.atPorts("m_key_lease_period", "agents drop the M_Key after the last manager is gone",
			"keep their M_Key for ever: if it is lost, these ports cannot be managed", "set m_key_lease_period 60",
			s.lacksLease),
		setting("sm_key", keys.SMKey, "other managers must know the sm_key",
			"any host that runs a manager with a higher priority takes over the subnet",
			"set a secret sm_key, the same for all managers"),
		setting("allowed_sm_guids", keys.AllowedSMs, "only managers in the list are accepted",
			"a manager at any port is queried for SMInfo with the M_Key", s.listManagers(&keys)),
		setting("mirror", keys.Mirrored, "managers authenticate each other",
			"managers cannot authenticate each other, because keys are missing or public: registrations are not mirrored, or not securely", "set a secret sm_key and m_key"),
		setting("sa_key", keys.SAKey, "trusted clients must know the sa_key",
			"any host is a trusted client of the SA with the key 1", "set a secret sa_key"),
		setting("sa_enhanced_trust_model", trust.Enhanced,
			"the SA gives other clients only records that concern the requesting host",
			"any host can list the nodes, ports and groups of its partitions", "set sa_enhanced_trust_model TRUE"),
		setting("sa_check_sgid_spoofing", trust.CheckSGID, "requests with the GID of another port are dropped",
			"requests may carry the GID of another port", "set sa_check_sgid_spoofing TRUE"),
		setting("sa_rate_threshold", trust.Rate > 0,
			fmt.Sprintf("at most %d requests per second are accepted from a port", trust.Rate),
			"one host can overload the SA", "set sa_rate_threshold 1000"),
		s.atPorts("default partition", "hosts are limited members of the default partition",
			"are full members of the default partition and reach every port",
			"write Default=0x7fff: ALL=limited, SELF=full; in the partition file", s.isFullMember),
		s.atPorts("part_enforce", "switches check the P_Keys of hosts", "accept packets of any partition",
			"set part_enforce both", s.lacksEnforcement),
	}
	for _, name := range []string{"vendor-specific", "congestion control", "node-to-node", "aggregation"} {
		rules = append(rules,
			ctl.SecurityRule{Rule: name + " keys", State: ctl.RuleLeft,
				Text: "this manager neither sets nor clears them"})
	}
	for _, r := range rules {
		out.Holds = out.Holds && r.State != ctl.RuleFails
	}
	out.Rules = rules
	return out
}

// atPorts makes a rule that holds where no end port fails.
func (s *subnet) atPorts(name, text, not, do string, fails func(topo.PortIdx) (failing, counts bool)) ctl.SecurityRule {
	r, t, failed, all := ctl.SecurityRule{Rule: name, State: ctl.RuleHolds}, s.view.Topo, 0, 0
	for _, p := range t.EndPorts {
		failing, counts := fails(p)
		if !counts {
			continue
		}
		if all++; !failing {
			continue
		}
		if failed++; failed <= maxSecurityPorts {
			n := &t.Nodes[t.Ports[p].Node]
			r.Ports = append(r.Ports, ctl.SecurityPort{Node: n.GUID.String(), Desc: n.Desc.String(),
				Port: t.Ports[p].Num})
		}
	}
	r.Text = fmt.Sprintf("%s (%s)", text, plural.Of(all, "port"))
	if failed > 0 {
		r.State, r.Do, r.Text, r.More = ctl.RuleFails, do, fmt.Sprintf("%d of %d ports %s", failed, all, not),
			failed-len(r.Ports)
	}
	return r
}

// keysInForce are the zero value where the configuration says nothing.
func (s *subnet) keysInForce() (k Keys) {
	if s.keys != nil {
		k = s.keys()
	}
	return k
}

// listManagers says how to set allowed_sm_guids, with the port GUIDs of this manager and of those that have
// authenticated themselves: they get what this one mirrors, by keys that are secret. Where there is a list it says
// nothing: metrics ask for the rules again and again.
func (s *subnet) listManagers(k *Keys) string {
	if k.AllowedSMs {
		return ""
	}
	var mirrors []manager.Mirror
	if s.shell != nil && k.Mirrored && k.SMKey && k.MKey {
		mirrors = s.shell.Mirrors()
	}
	return allowText(s.view.Topo.Ports[s.view.Topo.EndPort(s.view.Topo.Self)].GUID, mirrors)
}

// allowText is the text of listManagers.
func allowText(self mad.GUID, mirrors []manager.Mirror) string {
	list := []string{self.String()}
	for _, m := range mirrors {
		if guid := m.Standby.String(); !slices.Contains(list, guid) {
			list = append(list, guid)
		}
	}
	if len(list) == 1 {
		return "list the port GUIDs of all managers in allowed_sm_guids"
	}
	slices.Sort(list[1:])
	return "set allowed_sm_guids " + strings.Join(list, ",") +
		" on all managers: the list contains this one and its authenticated standbys"
}

// mkeyRule is what portMKeys has found by keys. Metrics ask for it again and again.
type mkeyRule struct {
	by   Keys
	rule ctl.SecurityRule
}

// portMKeys is the rule about an M_Key for each port. While M_Keys are changed it says how far that has come.
func (s *subnet) portMKeys(k *Keys) ctl.SecurityRule {
	if last := s.mkeyRule.Load(); last != nil && last.by == *k {
		return last.rule
	}
	found := &mkeyRule{*k, s.judgePortMKeys(k)}
	s.mkeyRule.Store(found)
	return found.rule
}

func (s *subnet) judgePortMKeys(k *Keys) ctl.SecurityRule {
	if !k.PerPort {
		return ctl.SecurityRule{Rule: "m_key_per_port", State: ctl.RuleFails,
			Text: "all ports have the same M_Key: a host that learns it can configure all ports",
			Do:   "set m_key_per_port TRUE, with a keys_file"}
	}
	former, others := 0, 0
	text := fmt.Sprintf("ports have individual M_Keys, number %d", k.Ports.Number())
	r := s.atPorts("m_key_per_port", text, "have an M_Key other than the individual one",
		"see ibsmctl why for the port. New ports get their M_Keys in the next sweep",
		func(p topo.PortIdx) (bool, bool) {
			t := s.view.Topo
			held := t.MKey(p)
			if held == 0 {
				return true, true
			}
			if held == mad.MKey(k.Ports.Of(uint64(t.Ports[p].GUID))) {
				return false, true
			}
			if number, ours := k.Ports.Made(uint64(t.Ports[p].GUID), uint64(held)); ours && number > 0 {
				former++
			} else if !ours {
				others++
			}
			return true, true
		})
	unresponsive := 0
	for i := range s.view.Findings {
		if f := &s.view.Findings[i]; f.Kind == finding.Unresponsive {
			if unresponsive++; len(r.Ports) < maxSecurityPorts {
				at := ctl.SecurityPort{Node: f.Node.String(), Port: f.Port}
				if n := s.view.Topo.FindNode(f.Node); n != topo.None {
					at.Desc = s.view.Topo.Nodes[n].Desc.String()
				}
				r.Ports = append(r.Ports, at)
			}
		}
	}
	if unresponsive > 0 {
		r.State, r.Do = ctl.RuleFails,
			"see ibsmctl why for the port that leads to the node: if its M_Key is unknown, it answers after its lease has expired"
		r.Text += fmt.Sprintf("; behind %d links nothing answers, perhaps because an M_Key is unknown", unresponsive)
	}
	if former > 0 {
		r.Text += fmt.Sprintf("; %d of them have another number, until the present sweep reaches them", former)
	}
	if others > 0 {
		r.Text += fmt.Sprintf("; %d of them have a key from another source", others)
	}
	return r
}

func (s *subnet) lacksMKey(p topo.PortIdx) (bool, bool) {
	hides := s.keys != nil && s.keys().MKey && s.view.Topo.Ports[p].Info.MKeyProtectBits() > 0
	return s.view.Topo.MKey(p) == 0 && !hides, true // with a key that is 0 an agent checks nothing
}

func (s *subnet) lacksProtection(p topo.PortIdx) (bool, bool) {
	return s.view.Topo.Ports[p].Info.MKeyProtectBits() < 2, true
}

// lacksLease: a key that does not exist, or protects nothing, needs none.
func (s *subnet) lacksLease(p topo.PortIdx) (bool, bool) {
	info := &s.view.Topo.Ports[p].Info
	return info.MKeyLeasePeriod() == 0, info.MKeyProtectBits() > 0
}

// isFullMember: the manager's own port has to be one.
func (s *subnet) isFullMember(p topo.PortIdx) (bool, bool) {
	t := s.view.Topo
	if !t.IsHost(p) || p == t.EndPort(t.Self) || t.Ports[p].PKeys == nil {
		return false, false
	}
	return t.Ports[p].PKeys.Has(mad.DefaultPKey), true
}

// lacksEnforcement looks at the switch port at the other end of a host's link.
func (s *subnet) lacksEnforcement(p topo.PortIdx) (bool, bool) {
	t := s.view.Topo
	if !t.IsHost(p) || p == t.EndPort(t.Self) {
		return false, false
	}
	peer := t.Ports[p].Peer
	if peer == topo.None || !t.IsSwitchPort(peer) {
		return false, false
	}
	return !t.Ports[peer].Info.PartitionEnforcementInbound(), true
}

// offenderRows are what ports sent that they may not send, the latest first.
func (s *subnet) offenderRows(*ctl.Filter) (iter.Seq[any], error) {
	if s.shell == nil {
		return none, nil
	}
	return func(yield func(any) bool) {
		for _, row := range s.offenders() {
			if !yield(&row) {
				return
			}
		}
	}, nil
}

// wrongKeys are what traps report that devices dropped.
var wrongKeys = map[smp.TrapNumber]string{
	smp.TrapBadMKey: "SMP with a wrong M_Key", smp.TrapBadPKey: "packet with a wrong P_Key",
	smp.TrapBadQKey:       "packet with a wrong Q_Key",
	smp.TrapSwitchBadPKey: "packet with a wrong P_Key, dropped by a switch",
}

// offenders are requests that the SA dropped, packets that devices reported, and packets of managers that only another
// port may send.
func (s *subnet) offenders() (rows []ctl.Offender) {
	add := func(port mad.GUID, row ctl.Offender) {
		if port != 0 {
			row.Port = port.String()
			row.Node, row.Desc = s.whose(port)
		}
		rows = append(rows, row)
	}
	found, more := s.shell.SAStats().Offenders.All()
	if more > 0 {
		add(0, ctl.Offender{Reason: "earlier ones", Count: more,
			What: "dropped requests of ports that are no longer listed"})
	}
	for _, o := range found {
		add(o.Port, ctl.Offender{LID: o.LID, Reason: o.Why.String(), Last: o.Last, Count: o.Count,
			What: fmt.Sprintf("%v of %s", o.Method, sarec.AttrName(o.Attr))})
	}
	stats := s.shell.Stats()
	for o := range stats.Offenders() {
		add(o.Port, ctl.Offender{Reason: fmt.Sprintf("trap %d", o.Trap), Count: o.Count, What: wrongKeys[o.Trap]})
	}
	for _, a := range stats.Alarms() {
		add(a.Port, ctl.Offender{LID: a.LID, Reason: a.Kind.String(), Last: time.Unix(a.Last, 0), Count: a.Count,
			What: a.Where})
	}
	slices.SortStableFunc(rows, func(a, b ctl.Offender) int { return b.Last.Compare(a.Last) })
	return rows
}
