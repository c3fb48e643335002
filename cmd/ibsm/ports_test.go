package main_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ibsm/keys"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// What settings make of ports is the same under OpenSM and under ibsm.

// bothManagers are started on fabrics that are alike, with one configuration.
var bothManagers = []struct {
	name string
	argv func(t *testing.T) []string
}{
	{"opensm", func(*testing.T) []string { return []string{"ibsim-run", "opensm"} }},
	{"ibsm", func(t *testing.T) []string { return []string{program(t, "ibsm"), "--ibsim"} }},
}

// settled brings equal fabrics up by OpenSM and by ibsm with one configuration, and returns
// what all ports hold then. ibsm finds the LIDs that OpenSM has given, for each gives them
// out in an order of its own. look is shown each port besides.
func settled(t *testing.T, n *net.Net, src string, look func(manager int, f *fabric.Fabric, at net.End)) (theirs,
	ours map[net.End]smp.PortInfo) {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "opensm.conf")
	if err := os.WriteFile(conf, []byte("force_log_flush TRUE\n"+src), 0o666); err != nil {
		t.Fatal(err)
	}
	var held [2]map[net.End]smp.PortInfo
	for i, m := range bothManagers {
		w := newTestSubnet(t, n)
		w.bringUp(append(m.argv(t), "-F", conf, "-f", "stdout", "-s", "0", "-R", "minhop")...)
		held[i] = map[net.End]smp.PortInfo{}
		w.server.Do(func(f *fabric.Fabric) {
			for at := range f.Ports() {
				held[i][at] = f.PortInfo(at)
				look(i, f, at)
			}
		})
		for at, info := range held[0] {
			n.Nodes[at.Node].Ports[at.Port].LID = info.LID()
		}
	}
	return held[0], held[1]
}

func nothingElse(int, *fabric.Fabric, net.End) {}

// Enhanced switch ports 0 get the LMC of hosts, base ones do not.
func TestLMCOfPort0Alike(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for i := range n.Nodes {
		n.Nodes[i].EnhancedPort0 = n.Nodes[i].Type == mad.Switch && i%3 > 0
	}
	for _, esp0 := range []string{"FALSE", "TRUE"} {
		theirs, ours := settled(t, n, "lmc 2\nlmc_esp0 "+esp0+"\n", nothingElse)
		more := 0
		for at, info := range theirs {
			if mine := ours[at]; mine.LMC() != info.LMC() || mine.LID() != info.LID() ||
				mine.PortState() != info.PortState() {
				t.Errorf("port %v has LID %d, LMC %d, %v; under OpenSM %d, %d, %v", at, mine.LID(), mine.LMC(),
					mine.PortState(), info.LID(), info.LMC(), info.PortState())
			}
			if n.Nodes[at.Node].Type == mad.Switch && info.LMC() > 0 {
				more++
			}
		}
		if (more > 0) != (esp0 == "TRUE") {
			t.Errorf("lmc_esp0 %s: OpenSM gives %d switches more than one LID", esp0, more)
		}
	}
}

// smInfo asks the port where managers can be for its SMInfo, from the first client, which
// is at the same switch.
func (w *testSubnet) smInfo() (info smp.SMInfo) {
	w.t.Helper()
	return *w.mark(func(f *fabric.Fabric) mad.TID {
		at, _ := f.FindNode(w.hosts[0])
		route := mad.MakeRoute(w.ends[0].Port, f.Peer(at).Port)
		var d mad.Datagram
		d.LID = mad.PermissiveLID
		d.Packet.SetDirected(&route, mad.MethodGet, smp.AttrSMInfo, 0)
		w.tid++
		d.Packet.SetTID(w.tid)
		w.clients[0].Send([]mad.Datagram{d})
		return w.tid
	}).Data()
}

// A manager that starts NOT-ACTIVE says so in its log, and writes nothing. Its answers
// are not compared: OpenSM gives none before it has swept, and cannot be made active.
func TestInactiveAlike(t *testing.T) {
	for _, m := range bothManagers {
		n := nettest.Generate(t, "fattree:k=4")
		w := newTestSubnet(t, n)
		w.manager = w.start(w.hosts[0], append(m.argv(t), "-I", "-p", "7", "-f", "stdout", "-s", "1")...)
		w.manager.await("Entering NOTACTIVE state")
		if m.name == "ibsm" {
			if said := w.smInfo(); said.SMState() != smp.NotActive || said.Priority() != 7 {
				t.Errorf("it is %v of priority %d", said.SMState(), said.Priority())
			}
		}
		w.server.Do(func(f *fabric.Fabric) {
			for k, count := range f.Stats().SMPs {
				if k.Method == mad.MethodSet {
					t.Errorf("%s: %d of %+v", m.name, count, k)
				}
			}
		})
	}
}

// Ports with another M_Key than the configured one, and with protection, are found by
// guid2mkey and neighbors, which OpenSM has written, unless m_key_lookup is FALSE.
func TestMKeyLookupAlike(t *testing.T) {
	for _, lookup := range []string{"TRUE", "FALSE"} {
		for _, m := range bothManagers {
			n := nettest.Generate(t, "fattree:k=4")
			w, cache := newTestSubnet(t, n), "OSM_CACHE_DIR="+t.TempDir()
			run := func(argv []string, keys, says string) *process {
				conf := filepath.Join(t.TempDir(), "opensm.conf")
				if err := os.WriteFile(conf, []byte("force_log_flush TRUE\nm_key_protection_level 2\n"+keys),
					0o666); err != nil {
					t.Fatal(err)
				}
				w.manager = w.start(w.hosts[0], append(append([]string{"env", cache}, argv...), "-F", conf, "-f",
					"stdout", "-s", "1", "-R", "minhop")...)
				w.manager.await(says)
				return w.manager
			}
			first := run(bothManagers[0].argv(t), "m_key 0x77\n", "SUBNET UP")
			first.signal(syscall.SIGHUP) // it writes its files after it has logged that the subnet is up
			first.await("SUBNET UP")
			first.kill()
			want := mad.MKey(0x78)
			if lookup == "TRUE" {
				run(m.argv(t), "m_key 0x78\n", "SUBNET UP")
			} else {
				want = 0x77
				run(m.argv(t), "m_key 0x78\nm_key_lookup FALSE\n", lost[m.name])
			}
			w.server.Do(func(f *fabric.Fabric) {
				for at := range f.EndPorts() {
					if info := f.PortInfo(at); info.MKey() != want {
						t.Errorf("%s, m_key_lookup %s: port %v has M_Key %v, want %v", m.name, lookup, at, info.MKey(),
							want)
					}
				}
			})
		}
	}
}

// secretFile is a keys_file, and the secret in it.
func secretFile(t *testing.T) (file string, secret keys.Secret) {
	t.Helper()
	secret, err := keys.New(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, secret.Text(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, secret
}

// With an M_Key for each port, which guid2mkey has, OpenSM takes the subnet over by the same files, and ibsm takes it
// back.
func TestPortMKeysOpenSM(t *testing.T) {
	file, secret := secretFile(t)
	const key = 0x5ec2e7
	n := nettest.Generate(t, "fattree:k=4")
	w, cache := newTestSubnet(t, n), t.TempDir()
	run := func(argv []string, settings string) {
		conf := filepath.Join(t.TempDir(), "opensm.conf")
		if err := os.WriteFile(conf,
			[]byte("force_log_flush TRUE\nm_key_protection_level 2\nm_key_lease_period 60\nm_key 0x5ec2e7\n"+settings),
			0o666); err != nil {
			t.Fatal(err)
		}
		w.manager = w.start(w.hosts[0], append(append([]string{"env", "OSM_CACHE_DIR=" + cache}, argv...), "-F", conf,
			"-f", "stdout", "-s", "10", "-R", "minhop")...)
		w.manager.await("SUBNET UP")
		w.manager.signal(syscall.SIGHUP) // it writes its files after it has logged that the subnet is up
		w.manager.await("SUBNET UP")
	}
	must := func(who string, perPort bool) {
		own := secret.Ports(1)
		w.server.Do(func(f *fabric.Fabric) {
			for at := range f.EndPorts() {
				want := mad.MKey(key)
				if perPort {
					want = mad.MKey(own.Of(uint64(f.PortGUID(at))))
				}
				if info := f.PortInfo(at); info.MKey() != want || info.MKeyProtectBits() != 2 {
					t.Errorf("%s: port %v has M_Key %v, protection %d, want %v", who, at, info.MKey(),
						info.MKeyProtectBits(), want)
				}
			}
		})
	}
	run(bothManagers[1].argv(t), "m_key_per_port TRUE\nkeys_file "+file+"\nsm_key 1\nsa_key 1\n")
	must("ibsm", true)
	w.manager.stop()
	run(bothManagers[0].argv(t), "")
	must("opensm", false)
	w.manager.kill()
	run(bothManagers[1].argv(t), "m_key_per_port TRUE\nkeys_file "+file+"\nsm_key 1\nsa_key 1\n")
	must("ibsm again", true)
}

// lost is what a manager says that does not reach its own port.
var lost = map[string]string{"opensm": "ERR 3113", "ibsm": "our own port does not answer"}

// Ports enable the same widths and speeds.
func TestForcedLinksAlike(t *testing.T) {
	type masks struct {
		width      mad.LinkWidth
		speed, ext uint8
	}
	of := func(info smp.PortInfo) masks {
		return masks{info.LinkWidthEnabled(), info.LinkSpeedEnabled(), info.LinkSpeedExtEnabled()}
	}
	for _, src := range []string{
		"force_link_speed 1\nforce_link_speed_ext 1\nforce_link_width 1\n",
		"force_link_speed 3\nforce_link_speed_ext 30\nforce_link_width 3\n",
		"force_link_speed 5\nforce_link_speed_ext 3\nforce_link_width 2\n",
		"force_link_speed 0\nforce_link_speed_ext 0\nforce_link_width 0\n",
	} {
		n := nettest.Generate(t, "fattree:k=4")
		for i := range n.Nodes {
			n.Nodes[i].EnhancedPort0 = n.Nodes[i].Type == mad.Switch && i%3 > 0
		}
		theirs, ours := settled(t, n, src, nothingElse)
		for at, info := range theirs {
			mine := ours[at]
			if of(mine) != of(info) || mine.PortState() != info.PortState() {
				t.Errorf("%q: port %v has %v enabled and is %v; under OpenSM %v, %v", src, at, of(mine),
					mine.PortState(), of(info), info.PortState())
			}
		}
	}
}

// FDR10 is turned off and on at the same ports. OpenSM's default turns it on.
func TestFDR10Alike(t *testing.T) {
	for _, c := range []struct {
		src string
		was bool // all ports but 0 have it enabled at first
	}{{"fdr10 2\n", true}, {"impose fdr10\nfdr10 1\n", false}, {"fdr10 0\n", true}} {
		n := nettest.Generate(t, "fattree:k=4")
		for i := range n.Nodes {
			n.Nodes[i].EnhancedPort0 = n.Nodes[i].Type == mad.Switch && i%3 > 0
			for j := range n.Nodes[i].Ports {
				if n.Nodes[i].Ports[j].Speed = mad.FDR10; !c.was {
					n.Nodes[i].Ports[j].Speed = mad.QDR
				}
			}
		}
		var on [2]map[net.End]bool
		settled(t, n, c.src, func(i int, f *fabric.Fabric, at net.End) {
			if on[i] == nil {
				on[i] = map[net.End]bool{}
			}
			on[i][at] = f.FDR10Enabled(at)
		})
		changed := 0
		for at, theirs := range on[0] {
			if on[1][at] != theirs {
				t.Errorf("%q: port %v has FDR10 enabled: %v; under OpenSM %v", c.src, at, on[1][at], theirs)
			}
			if at.Port > 0 && theirs != c.was {
				changed++
			}
		}
		if (changed > 0) != (c.src != "fdr10 0\n") {
			t.Errorf("%q: OpenSM changes %d ports", c.src, changed)
		}
	}
}

// TestPortDisable: ibportstate at a host disables the switch port of another host under OpenSM and with security open;
// with security tenants the switch refuses it, whatever the M_Key of the tenant's own port.
func TestPortDisable(t *testing.T) {
	file, secret := secretFile(t)
	for _, c := range []struct {
		manager  int // of bothManagers
		settings string
		disabled bool
	}{{0, "", true}, {1, "security open\n", true}, {1, "security tenants\nkeys_file " + file + "\n", false}} {
		w := newTestSubnetOf(t, nettest.Generate(t, "fattree:k=4"), 2)
		conf := filepath.Join(t.TempDir(), "opensm.conf")
		if err := os.WriteFile(conf, []byte("force_log_flush TRUE\n"+c.settings), 0o666); err != nil {
			t.Fatal(err)
		}
		w.bringUp(append(bothManagers[c.manager].argv(t), "-F", conf, "-f", "stdout", "-s", "10", "-R", "minhop")...)
		var at, zero net.End
		own := mad.MKey(0)
		w.server.Do(func(f *fabric.Fabric) {
			at = f.Peer(w.ends[len(w.ends)-1])
			zero = net.End{Node: at.Node}
			tenant, _ := f.FindNode(w.hosts[1])
			ports := secret.Ports(1)
			own = mad.MKey(ports.Of(uint64(f.PortGUID(tenant))))
		})
		port := func() (info smp.PortInfo) {
			w.server.Do(func(f *fabric.Fabric) { info = f.PortInfo(at) })
			return info
		}
		for _, key := range []mad.MKey{0, own} {
			argv := []string{"ibsim-run", "ibportstate", "-t", "100", "-y", fmt.Sprintf("%#x", uint64(key)),
				fmt.Sprint(w.lid(zero)), fmt.Sprint(at.Port), "disable"}
			r := run(t, t.TempDir(), []string{"IBSIM_SOCKNAME=" + w.socket, "SIM_HOST=" + w.hosts[1]}, argv...)
			info := port()
			if disabled := info.PortPhysicalState() == smp.PhysDisabled; disabled != c.disabled ||
				disabled != (r.status == 0) {
				t.Errorf("%s, %q: %v: the port is %v, %v; status %d\n%s%s", bothManagers[c.manager].name, c.settings,
					argv, info.PortState(), info.PortPhysicalState(), r.status, r.stdout, r.stderr)
			}
			if c.disabled {
				break
			}
		}
	}
}
