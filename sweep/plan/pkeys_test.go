package plan

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// withKeys is a subnet in use in which the tables of the manager, the host and the router
// are these, by base: switch 2 checks nothing yet.
func withKeys(t *testing.T, policy *partitions.Policy, s partitions.Settings) *subnet {
	sub := newSubnet(t)
	sub.up(t)
	sub.in.Partitions = partitions.Compile(policy, s, sub.Topo, partitions.Indexes{})
	return sub
}

// tenants is a policy in which host and router are together.
func tenants(key mad.PKey, m partitions.Membership) *partitions.Policy {
	p := partitions.Closed()
	p.Partitions = append(p.Partitions, partitions.Partition{Name: "tenant", Key: key, Members: []partitions.Member{
		{Who: partitions.OnePort, Port: hostGUID + 1, Membership: m},
		{Who: partitions.AllRouters, Membership: partitions.Full},
	}})
	return p
}

func TestWaves(t *testing.T) {
	s := withKeys(t, tenants(5, partitions.Full), partitions.Settings{})
	// All ports hold 0xffff, as from power-up: they become limited members of the default
	// partition last.
	s.expect(t, "two get a key", [][]string{AddSwitchPKeys: []string{"add 30:2", "add 30:3"},
		AddHostPKeys:    []string{"add 40:1", "add 50:1"},
		RemoveHostPKeys: []string{"keys 20:0", "keys 30:0", "keys 40:1", "keys 50:1"},
		Ports:           []string{"set 20:1", "set 30:2", "set 30:3"}}...)
	p := New(s.in)
	four := p.waves.removeHost
	if p.waves.removeSwitch, p.waves.lastSwitch, p.waves.lastHost = four[:1], four[:2], four[:3]; len(four) != 4 ||
		p.Removals() != 4+1+2+3 {
		t.Errorf("%d removals, %d of them from hosts", p.Removals(), len(four))
	}
}

// write carries out the steps of partition tables, but for those that fail, and returns
// what was written in order. Where not all can be added, nothing is taken away.
func (s *subnet) write(p *Plan, fails func(Step) bool) (written []string) {
	for more := true; more; more = p.Advance() {
		if p.Removing() && len(p.NotAdded()) > 0 {
			p.HoldRemovals()
		}
		for st, ok := p.Next(); ok; st, ok = p.Next() {
			set, ok := p.Set(st)
			switch {
			case !ok || set.Attr != smp.AttrPKeyTable:
			case fails(st):
				p.PKeysFailed(st)
			default:
				written = append(written, s.ops([]Step{st})...)
				if p.PKeysSent(st) != set.Data {
					written = append(written, "not what was sent")
				}
				p.PKeysHeld(st, (*smp.PKeyTable)(&set.Data))
			}
		}
	}
	return written
}

func never(Step) bool { return false }

// TestWavesInOrder: after the first wave both ports hold what they held and what they should
// hold, and in the end only that.
func TestWavesInOrder(t *testing.T) {
	s := withKeys(t, tenants(5, partitions.Full), partitions.Settings{})
	first := New(s.in)
	for _, st := range first.stages[AddHostPKeys].list {
		set, _ := first.Set(st)
		block := smp.PKeyTable(set.Data)
		if block.PKey(0) != 0xffff || block.PKey(1) != 0x8005 || set.Mod != 0 {
			t.Errorf("added: %v, %v, modifier %#x", block.PKey(0), block.PKey(1), set.Mod)
		}
	}
	if set, _ := first.Set(first.stages[AddSwitchPKeys].list[0]); set.Mod != smp.PKeyTableMod(2, 0) {
		t.Errorf("modifier of a switch's port: %#x", set.Mod)
	}
	s.write(first, never)
	for i, want := range s.in.Partitions.Want {
		if want != nil && s.Ports[i].PKeys != want {
			t.Errorf("port %d holds %v, want %v", i, s.Ports[i].PKeys.Keys(), want.Keys())
		}
	}
	if got := s.write(New(s.in), never); got != nil {
		t.Errorf("again: %q", got)
	}
}

// together is a policy by which all ports are full members of two partitions.
func together() *partitions.Policy {
	p := partitions.Default()
	p.Partitions = append(p.Partitions,
		partitions.Partition{Key: 5, Members: []partitions.Member{{Who: partitions.All, Membership: partitions.Full}}})
	return p
}

// TestExcluded: what holds an end port or a switch port back, by the P_Keys that both hold.
func TestExcluded(t *testing.T) {
	full, stray := []mad.PKey{0xffff, 0x8005}, []mad.PKey{0xffff, 0x8005, 0x8006}
	limited := tenants(5, partitions.Limited)
	for name, c := range map[string]struct {
		policy         *partitions.Policy
		settings       partitions.Settings
		host, external []mad.PKey // before the plan; nil: not read
		fails          bool       // the Sets to both
		keepsNoChecks  bool       // the switch port
		wantHost       bool       // is excluded
		wantExternal   bool
	}{
		"nobody is confined": {policy: partitions.Default(), fails: true},
		"nobody is confined, tenants": {policy: partitions.Default(),
			settings: partitions.Settings{Tenants: true}, fails: true},
		"all is well":            {policy: together(), host: full, external: full},
		"the host lacks a P_Key": {policy: together(), host: full[:1], external: full[:1], fails: true},
		"the host has one too many": {policy: together(), host: stray, external: full[:1], fails: true,
			wantHost: true},
		"it has, and the switch port drops it": {policy: together(), host: stray, external: full, fails: true},
		"not read":                             {policy: together(), external: full[:1], fails: true, wantHost: true},
		"not read, and the switch port drops":  {policy: together(), external: full},
		"not read, one way is checked": {
			policy: together(), settings: partitions.Settings{Enforce: partitions.EnforceIn}, external: full,
			wantHost: true,
		},
		"not read, nothing is checked": {
			policy: together(), settings: partitions.Settings{Enforce: partitions.EnforceOff}, external: full,
			wantHost: true,
		},
		"not read, the checks are not kept": {policy: together(), external: full, keepsNoChecks: true,
			wantHost: true},
		"the switch port passes full P_Keys": {policy: limited, host: full, external: full, fails: true,
			wantHost: true},
		"the switch port is not read": {policy: together(), host: full},
		"the switch port is not read, tenants": {policy: together(), settings: partitions.Settings{Tenants: true},
			host: full, wantExternal: true},
		"the switch port is not set, tenants": {policy: together(), settings: partitions.Settings{Tenants: true},
			host: full, external: full[:1], fails: true, wantExternal: true},
		"not read, the port drops, for tenants": {policy: together(), settings: partitions.Settings{Tenants: true},
			external: full},
	} {
		s := newSubnet(t)
		s.up(t)
		host := s.at(hostGUID, 1)
		external := s.Ports[host].Peer
		for port, keys := range map[topo.PortIdx][]mad.PKey{host: c.host, external: c.external} {
			s.Ports[port].Info.SetPortState(smp.PortInit)
			if s.Ports[port].PKeys = nil; keys != nil {
				s.Ports[port].PKeys = topo.NewPKeyTable(slices.Clone(keys))
			}
		}
		s.in.Partitions = partitions.Compile(c.policy, c.settings, s.Topo, nil)
		p := New(s.in)
		s.write(p, func(Step) bool { return c.fails })
		p.Rewind()
		if got := [2]bool{p.Excluded(host) != "" && !c.keepsNoChecks, p.Excluded(external) != ""}; got != [2]bool{
			c.wantHost && !c.keepsNoChecks, c.wantExternal,
		} {
			t.Errorf("%s, in INIT: host %q, switch port %q", name, p.Excluded(host), p.Excluded(external))
		}
		s.Ports[host].Info.SetPortState(smp.PortArmed)
		if s.Ports[external].Info = p.Wanted(external); c.keepsNoChecks {
			s.Ports[external].Info.SetPartitionEnforcementOutbound(false)
		}
		s.Ports[external].Info.SetPortState(smp.PortArmed)
		if got := [2]bool{p.Excluded(host) != "", p.Excluded(external) != ""}; got != [2]bool{
			c.wantHost, c.wantExternal,
		} {
			t.Errorf("%s, in ARMED: host %q, switch port %q", name, p.Excluded(host), p.Excluded(external))
		}
		enforced := c.external != nil && !c.keepsNoChecks && (!c.fails || slices.Equal(c.external, full))
		if got := slices.Contains(p.Unenforced(), external); c.policy.Confines() &&
			c.settings.Enforce != partitions.EnforceOff && got == enforced {
			t.Errorf("%s: without enforcement %v", name, got)
		}
	}
}

// TestAddingFails: nothing is taken from anybody, and the switch's port that did not take
// its keys does not begin to check.
func TestAddingFails(t *testing.T) {
	s := withKeys(t, tenants(5, partitions.Full), partitions.Settings{})
	sw := s.at(sw2GUID, 2)
	p := New(s.in)
	got := s.write(p, func(st Step) bool { return st.Port == sw })
	if want := []string{"add 30:3", "add 40:1", "add 50:1"}; !slices.Equal(got, want) {
		t.Errorf("written %q, want %q", got, want)
	}
	if ports := p.NotAdded(); !slices.Equal(ports, []topo.PortIdx{sw}) {
		t.Errorf("not added: %v", ports)
	}
	for num, checks := range map[uint8]bool{2: false, 3: true} {
		if w := p.Wanted(s.at(sw2GUID, num)); w.PartitionEnforcementInbound() != checks ||
			w.PartitionEnforcementOutbound() != checks {
			t.Errorf("port %d checks", num)
		}
	}
	if p.Excluded(sw) != "" || p.Excluded(s.at(hostGUID, 1)) == "" || p.Excluded(s.at(sw2GUID, 3)) != "" {
		t.Error("the ports that may carry data")
	}
}

// TestAQuietPort: what carries no data gets its table at once.
func TestAQuietPort(t *testing.T) {
	s := withKeys(t, tenants(5, partitions.Limited), partitions.Settings{})
	host := s.at(hostGUID, 1)
	s.Ports[host].Info.SetPortState(smp.PortInit)
	p := New(s.in)
	for i, st := range p.stages {
		for _, step := range st.list {
			if step.Port != host || step.Op != AddPKeys && step.Op != SetPKeys {
				continue
			}
			set, _ := p.Set(step)
			if block := smp.PKeyTable(set.Data); Stage(i) != AddHostPKeys || block.PKey(0) != 0x7fff ||
				block.PKey(1) != 0x0005 {
				t.Errorf("stage %d writes %v, %v", i, block.PKey(0), block.PKey(1))
			}
		}
	}
	s.Ports[host].PKeys = nil
	if New(s.in).Excluded(host) == "" { // the switch port lets full members' P_Keys pass
		t.Error("a table that could not be read is let in")
	}
}

// TestCheckingEnds before keys are added that would not pass.
func TestCheckingEnds(t *testing.T) {
	s := withKeys(t, tenants(5, partitions.Full), partitions.Settings{Enforce: partitions.EnforceOff})
	for _, num := range []uint8{1, 2} { // one between switches, one to the host
		s.info(sw2GUID, num).SetPartitionEnforcementInbound(true)
	}
	steps := New(s.in).stages
	if got, want := s.ops(steps[RelaxEnforcement].list), []string{"set 30:1", "set 30:2"}; !slices.Equal(got, want) {
		t.Errorf("first of all: %q, want %q", got, want)
	}
	if got := s.ops(steps[Ports].list); got != nil {
		t.Errorf("in the end: %q", got)
	}
}

// TestInAndOut: each way of checking sets the bits it names.
func TestInAndOut(t *testing.T) {
	for enforce, want := range map[partitions.Enforcement][2]bool{
		partitions.EnforceBoth: {true, true}, partitions.EnforceIn: {true, false}, partitions.EnforceOut: {false, true},
		partitions.EnforceOff: {},
	} {
		s := withKeys(t, tenants(5, partitions.Full), partitions.Settings{Enforce: enforce})
		p := New(s.in)
		if w := p.Wanted(s.at(sw2GUID, 2)); [2]bool{w.PartitionEnforcementInbound(),
			w.PartitionEnforcementOutbound()} != want {
			t.Errorf("%v: in %v, out %v", enforce, w.PartitionEnforcementInbound(), w.PartitionEnforcementOutbound())
		}
		if w := p.Wanted(s.at(sw2GUID, 1)); w.PartitionEnforcementInbound() || w.PartitionEnforcementOutbound() {
			t.Errorf("%v: checks between switches", enforce)
		}
	}
}

// TestAcrossBlocks: a key that moves to another block is there before it leaves the first.
func TestAcrossBlocks(t *testing.T) {
	s := withKeys(t, tenants(5, partitions.Full), partitions.Settings{})
	host := s.at(hostGUID, 1)
	held, want := make([]mad.PKey, 64), make([]mad.PKey, 64)
	for i := range held {
		held[i] = mad.PKey(0x100+i) | mad.FullMember
		want[i] = held[i]
	}
	want[0], want[1], want[40] = held[40], 0, 0 // it moves to index 0; 0 and 1 leave
	s.Ports[host].PKeys, s.in.Partitions.Want[host] = topo.NewPKeyTable(held), topo.NewPKeyTable(want)
	p := New(s.in)
	for more := true; more; more = p.Advance() {
		for st, ok := p.Next(); ok; st, ok = p.Next() {
			set, ok := p.Set(st)
			if !ok || st.Port != host || set.Attr != smp.AttrPKeyTable {
				continue
			}
			p.PKeysHeld(st, (*smp.PKeyTable)(&set.Data))
			for _, k := range want {
				if k != 0 && !s.Ports[host].PKeys.Has(k) {
					t.Errorf("after %s block %d: without %v", s.ops([]Step{st})[0], st.Block, k)
				}
			}
		}
	}
	if s.Ports[host].PKeys != s.in.Partitions.Want[host] {
		t.Errorf("in the end: %v", s.Ports[host].PKeys.Keys())
	}
}

// TestKeysStay: whatever table another manager left, a port that is in use has each key that it had before and has
// afterwards at every moment, with its membership.
func TestKeysStay(t *testing.T) {
	count := uint64(500)
	if os.Getenv("IBSM_PROOF") != "" {
		count = 100_000
	}
	for seed := range count {
		rng := rand.New(rand.NewPCG(seed, 7))
		s := withKeys(t, partitions.Closed(), partitions.Settings{})
		host := s.at(hostGUID, 1)
		s.Nodes[s.Ports[host].Node].Info.SetPartitionCap(96)
		held, policy := make([]mad.PKey, 70), partitions.Closed()
		keys := []mad.PKey{partitions.DefaultKey}
		for base := range mad.PKey(12) {
			keys = append(keys, base+1)
		}
		for _, key := range keys {
			for _, k := range []mad.PKey{key, key | mad.FullMember} {
				if at := rng.IntN(len(held)); rng.IntN(2) == 0 {
					at = []int{0, 1, 31, 32, 33, 69, at}[rng.IntN(7)]
					if !held[at].Valid() {
						held[at] = k
					}
				}
			}
			if rng.IntN(3) > 0 {
				policy.Partitions = append(policy.Partitions,
					partitions.Partition{Key: key, Members: []partitions.Member{{
						Who: partitions.OnePort, Port: hostGUID + 1, Membership: partitions.Membership(1 + rng.IntN(3)),
						Index0: rng.IntN(8) == 0,
					}}})
			}
		}
		policy.Partitions = slices.DeleteFunc(policy.Partitions, func(p partitions.Partition) bool {
			return p.Key == partitions.DefaultKey && p.Name == ""
		})
		s.Ports[host].PKeys = topo.NewPKeyTable(slices.Clone(held))
		s.in.Partitions = partitions.Compile(policy, partitions.Settings{AllowBoth: true}, s.Topo, nil)
		want := s.in.Partitions.Want[host]
		p := New(s.in)
		for more := true; more; more = p.Advance() {
			for st, ok := p.Next(); ok; st, ok = p.Next() {
				set, ok := p.Set(st)
				if !ok || st.Port != host || set.Attr != smp.AttrPKeyTable {
					continue
				}
				p.PKeysHeld(st, (*smp.PKeyTable)(&set.Data))
				for _, k := range held {
					if k.Valid() && want.Has(k) && !s.Ports[host].PKeys.Has(k) {
						t.Fatalf("seed %d: after %s block %d: without %v\nheld %v\nwant %v", seed, s.ops([]Step{st})[0],
							st.Block, k, held, want.Keys())
					}
				}
			}
		}
		if !s.Ports[host].PKeys.Equal(want) {
			t.Fatalf("seed %d: in the end: %v, want %v", seed, s.Ports[host].PKeys.Keys(), want.Keys())
		}
	}
}

func TestDescribePKeys(t *testing.T) {
	s := withKeys(t, tenants(5, partitions.Full), partitions.Settings{})
	p := New(s.in)
	var texts []string
	for more := true; more; more = p.Advance() {
		for st, ok := p.Next(); ok; st, ok = p.Next() {
			texts = append(texts, p.Describe(st))
		}
	}
	for _, want := range []string{
		`switch 0x0000000000000030 "0x0000000000000030" port 2: P_Keys: add 0x8005 (tenant) at index 1`,
		`0x0000000000000040" port 1: P_Keys: add 0x8005 (tenant) at index 1`,
		`0x0000000000000040" port 1: P_Keys: 0xffff (Default) -> 0x7fff (Default) at index 0`,
		`port 2: PartitionEnforcementInbound false -> true PartitionEnforcementOutbound false -> true`,
	} {
		if !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("no %q in\n%s", want, strings.Join(texts, "\n"))
		}
	}
}

// TestUnknownPKeys: a block that is not known is written, whatever the Topo says, and the port does not pass for one
// that holds its table.
func TestUnknownPKeys(t *testing.T) {
	s := withKeys(t, together(), partitions.Settings{Enforce: partitions.EnforceOff})
	host := s.FindPort(hostGUID + 1)
	for p := range s.Ports {
		if want := s.in.Partitions.Want[p]; want != nil {
			s.Ports[p].PKeys = want
		}
	}
	if p := New(s.in); len(p.waves.addHost)+len(p.waves.addSwitch)+p.Removals() > 0 || p.Excluded(host) != "" {
		t.Fatalf("all hold their tables: %+v, excluded %q", p.waves, p.Excluded(host))
	}
	at := device.Block{Place: device.Place{Attr: smp.AttrPKeyTable, Node: hostGUID, Port: 1}}
	s.in.Devices = device.NewRecord()
	s.in.Devices.Take(at, device.TimedOut)
	p := New(s.in)
	if len(p.waves.addHost) != 1 || p.waves.addHost[0].Port != host || p.Removals() > 0 || p.Excluded(host) == "" ||
		!slices.Equal(p.NotAdded(), []topo.PortIdx{host}) {
		t.Errorf("%v, %d removals, excluded %q, not added %v", p.waves.addHost, p.Removals(), p.Excluded(host),
			p.NotAdded())
	}
	if text := p.Describe(p.waves.addHost[0]); !strings.Contains(text, "whatever the block holds: add ") {
		t.Error(text)
	}
	live := device.NewRecord()
	p.SetDevices(live)
	if _, ok := p.Set(p.waves.addHost[0]); ok || p.Excluded(host) != "" || len(p.NotAdded()) > 0 {
		t.Error("a block that has become known since is written")
	}
	live.Take(at, device.Sent)
	if set, ok := p.Set(p.waves.addHost[0]); !ok || set.Data != s.in.Partitions.Want[host].Block(0) {
		t.Errorf("a block in flight: %v", ok)
	}
}
