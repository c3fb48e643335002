package main_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/cc"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// ccAgent is how a device treats congestion control.
type ccAgent uint8

const (
	ccSound        ccAgent = iota
	ccUnresponsive         // it does not answer
	ccRefusing             // it does not know the class
	ccSmall                // its table has one block
)

// ccAgentOf is that of a node of a fabric, by seed. The first host and the first switch are sound.
func ccAgentOf(seed uint64, node int32, n *net.Node) ccAgent {
	r := rand.New(rand.NewPCG(seed, uint64(node)))
	switch x := r.IntN(10); {
	case node == 0 || x < 7:
		return ccSound
	case x == 7:
		return ccUnresponsive
	case x == 8:
		return ccRefusing
	case n.Type == mad.CA:
		return ccSmall
	}
	return ccSound
}

// ccRecord are the requests of congestion control that came to each device, by node.
type ccRecord struct {
	mu    sync.Mutex
	sets  map[int32][]string
	wrong []string // what no request of OpenSM's is
}

// ccData is how much of the data libumad2sim delivers.
const ccData = 224 - 64

func (r *ccRecord) take(node int32, p *mad.Packet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row := fmt.Sprintf("%s %d key %x: %s", cc.AttrName(p.AttrID()), p.AttrMod(), cc.KeyOf(p),
		strings.TrimRight(hex.EncodeToString(p.PerfData()[:ccData]), "0"))
	r.sets[node] = append(r.sets[node], row)
	if p.Method() != mad.MethodSet || p.ClassVersion() != 2 || p.BaseVersion() != 1 {
		r.wrong = append(r.wrong, fmt.Sprintf("%v of version %d: %s", p.Method(), p.ClassVersion(), row))
	}
}

// taken returns what has come since it was called last.
func (r *ccRecord) taken() map[int32][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	sets := r.sets
	r.sets = map[int32][]string{}
	return sets
}

// look is what has come since, and how much that is.
func (r *ccRecord) look() (sets map[int32][]string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sets = map[int32][]string{}
	for node, list := range r.sets {
		sets[node] = slices.Clone(list)
		n += len(list)
	}
	return sets, n
}

// ccSettings are random values of all settings. With whole maps a device holds all that it is sent. sls has a
// bit for each SL that has a line: at a reload, OpenSM keeps the value of an SL whose line is gone.
func ccSettings(r *rand.Rand, whole bool, sls int) string {
	var b strings.Builder
	set := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "cc_"+name+" "+format+"\n", args...)
	}
	switchMap, adapterMap := 0x1f, 0xffff
	if !whole {
		switchMap, adapterMap = r.IntN(0x20), r.IntN(0x10000)
	}
	set("key", "0x%x", r.Uint64())
	set("max_outstanding_mads", "%d", 1+r.IntN(20))
	set("sw_cong_setting_control_map", "0x%x", switchMap)
	set("sw_cong_setting_victim_mask", "0x%x%016x", r.IntN(0x1000), r.Uint64())
	set("sw_cong_setting_credit_mask", "0x%064x", r.Uint32())
	set("sw_cong_setting_threshold", "0x%x", r.IntN(16))
	set("sw_cong_setting_packet_size", "%d", r.IntN(256))
	set("sw_cong_setting_credit_starvation_threshold", "0x%x", r.IntN(16))
	set("sw_cong_setting_credit_starvation_return_delay", "%d:%d", r.IntN(4), r.IntN(1<<14))
	set("sw_cong_setting_marking_rate", "%d", r.IntN(1<<16))
	set("ca_cong_setting_port_control", "0x%x", r.IntN(2))
	set("ca_cong_setting_control_map", "0x%x", adapterMap)
	for sl := range 16 {
		if sls>>sl&1 != 0 {
			set("ca_cong_setting_ccti_timer", "%d %d", sl, r.IntN(1<<16))
			set("ca_cong_setting_ccti_increase", "%d %d", 15-sl, r.IntN(256))
			set("ca_cong_setting_trigger_threshold", "%d %d", sl, r.IntN(256))
			set("ca_cong_setting_ccti_min", "%d %d", 15-sl, r.IntN(256))
		}
	}
	list := []string{}
	for range []int{0, 1, 2, 63, 64, 65, 70, 128}[r.IntN(8)] {
		list = append(list, fmt.Sprintf("%d:%d", r.IntN(4), r.IntN(1<<14)))
	}
	if len(list) == 0 {
		list = []string{"(null)"}
	}
	set("cct", "%s", strings.Join(list, ","))
	return b.String()
}

// ccSubnet is a fabric with a manager whose requests of congestion control are recorded.
type ccSubnet struct {
	*testSubnet
	record *ccRecord
	conf   string
}

func newCCSubnet(t *testing.T, n *net.Net, seed uint64) *ccSubnet {
	s := &ccSubnet{record: &ccRecord{sets: map[int32][]string{}}, conf: filepath.Join(t.TempDir(), "opensm.conf")}
	s.testSubnet = newTestSubnetWith(t, n, 1, func(node int32, nd *net.Node, c *fabric.Caps) {
		agent := ccAgentOf(seed, node, nd)
		if agent == ccSmall {
			c.Congestion.TableBlocks = 1
		}
		c.Congestion.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
			s.record.take(node, p)
			switch agent {
			case ccUnresponsive:
				return 0, false
			case ccRefusing:
				return mad.StatusBadVersion, true
			}
			return obey(), true
		}
	})
	return s
}

// write writes the manager's configuration.
func (s *ccSubnet) write(settings string) {
	s.t.Helper()
	if err := os.WriteFile(s.conf, []byte("force_log_flush TRUE\n"+settings), 0o666); err != nil {
		s.t.Fatal(err)
	}
}

// differ says where ours are not the requests of OpenSM. To a device that does not answer or refuses
// the class, OpenSM sends all its attributes, and again at each sweep; we send the first. It also repeats
// what it has sent to a device that holds something else, because a map left that out, and to some hosts
// next to one that has rebooted: known are the requests that may be repeated.
func (s *ccSubnet) differ(n *net.Net, seed uint64, theirs, ours, known map[int32][]string, first bool) (list []string) {
	for node := range int32(len(n.Nodes)) {
		a, b := theirs[node], slices.Compact(slices.Clone(ours[node]))
		switch agent := ccAgentOf(seed, node, &n.Nodes[node]); {
		case agent == ccSound || first && agent == ccSmall:
			a = slices.DeleteFunc(slices.Clone(a), func(row string) bool {
				return slices.Contains(known[node], row) && !slices.Contains(b, row)
			})
		case first:
			a = a[:1]
		default: // OpenSM leaves it alone, or sends some attributes again
			continue
		}
		if !slices.Equal(a, b) {
			list = append(list, fmt.Sprintf("%s:\nOpenSM %q\nibsm   %q", n.Nodes[node].ID, a, b))
		}
	}
	return list
}

// TestCongestionControl: on the same fabric, with the same settings, the requests of congestion control
// equal those of OpenSM, attribute by attribute: at first, after a reload, and after reboots.
func TestCongestionControl(t *testing.T) {
	seeds := uint64(4)
	if proof() {
		seeds = 40
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			compareCongestion(t, seed)
		})
	}
}

func compareCongestion(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0xcc))
	whole := seed%2 == 0
	spec := []string{"fattree:k=4", "random:switches=8,degree=3,hosts=2,seed=5"}[seed/2%2]
	n := nettest.Generate(t, spec)
	theirs, ours := newCCSubnet(t, n, seed), newCCSubnet(t, nettest.Generate(t, spec), seed)
	both := []*ccSubnet{theirs, ours}
	sls := r.IntN(1 << 16)
	settings := ccSettings(r, whole, sls)
	for _, s := range both {
		s.write("congestion_control TRUE\n" + settings)
	}
	before := map[int32][]string{}
	compare := func(what string, first bool, known map[int32][]string) {
		t.Helper()
		var list []string
		for late := time.Now().Add(patience()); ; time.Sleep(lookAgain) {
			a, sent := theirs.record.look()
			b, answered := ours.record.look()
			if list = ours.differ(n, seed, a, b, known, first); len(list) == 0 || time.Now().After(late) {
				time.Sleep(10 * lookAgain)
				_, more := theirs.record.look()
				_, ourMore := ours.record.look()
				if more == sent && ourMore == answered {
					break
				}
			}
		}
		for _, line := range list {
			t.Errorf("seed %d, %s: %s\n%s", seed, what, line, settings)
		}
		for node, sets := range theirs.record.taken() {
			before[node] = append(before[node], sets...)
		}
		ours.record.taken()
	}
	theirs.bringUp("ibsim-run", "opensm", "-F", theirs.conf, "-f", "stdout", "-s", "1", "-R", "minhop")
	ours.bringUp(program(t, "ibsm"), "--ibsim", "-F", ours.conf, "-f", "stdout", "-s", "1", "-R", "minhop")
	compare("at first", true, nil)
	other := ccSettings(r, whole, sls)
	key, _, _ := strings.Cut(settings, "\n") // OpenSM reads it at start alone
	_, rest, _ := strings.Cut(other, "\n")
	settings = key + "\n" + rest
	for _, s := range both {
		s.write("congestion_control TRUE\n" + settings)
		s.manager.skip()
		s.manager.signal(syscall.SIGHUP)
		s.manager.await("SUBNET UP")
	}
	known := before
	if whole {
		known = nil
	}
	compare("after a reload", false, known)
	for _, s := range both {
		s.server.Do(func(f *fabric.Fabric) {
			for node := range int32(len(n.Nodes)) {
				if n.Nodes[node].Type == mad.CA && node%3 == 0 && n.Nodes[node].ID != s.hosts[0] {
					f.Reboot(node)
					delete(before, node) // it is sent again
				}
			}
		})
	}
	compare("after reboots", false, before)
	for _, s := range both {
		if len(s.record.wrong) > 0 {
			t.Errorf("seed %d: %q", seed, s.record.wrong)
		}
	}
}

// ccOn are settings that lacking looks for.
const ccOn = "congestion_control TRUE\ncc_sw_cong_setting_control_map 0x10\ncc_sw_cong_setting_marking_rate 77\ncc_ca_cong_setting_control_map 1\ncc_ca_cong_setting_ccti_timer 0 78\n"

// lacking are the nodes with a sound agent that do not hold ccOn.
func (s *ccSubnet) lacking(n *net.Net) (list []string) {
	s.server.Do(func(f *fabric.Fabric) { list = lackingIn(f, n) })
	return list
}

func lackingIn(f *fabric.Fabric, n *net.Net) (list []string) {
	for node := range int32(len(n.Nodes)) {
		if ccAgentOf(0, node, &n.Nodes[node]) != ccSound {
			continue
		}
		sw := f.SwitchCongestion(node)
		ca, _ := f.CACongestion(net.End{Node: node, Port: 1})
		if n.Nodes[node].Type == mad.Switch && sw.MarkingRate() != 77 || n.Nodes[node].Type == mad.CA &&
			ca.SL(0).CCTITimer() != 78 {
			list = append(list, n.Nodes[node].ID)
		}
	}
	return list
}

// TestCongestionOnce: a run of one sweep ends when devices have their settings.
func TestCongestionOnce(t *testing.T) {
	t.Parallel()
	n := nettest.Generate(t, "fattree:k=4")
	s := newCCSubnet(t, n, 0)
	s.server.Do(func(f *fabric.Fabric) { f.SetLatency(3 * time.Millisecond) })
	s.write(ccOn + "cc_max_outstanding_mads 1\n") // slowly, one request after the other
	s.bringUp(program(t, "ibsm"), "--ibsim", "-F", s.conf, "-f", "stdout", "-o", "-R", "minhop")
	<-s.manager.done
	if list := s.lacking(n); s.manager.err != nil || len(list) > 0 {
		t.Errorf("%v; %v lack settings", s.manager.err, list)
	}
}

// mustShow compares what ibsmctl shows with how devices treat the requests.
func (s *ccSubnet) mustShow(n *net.Net, shows func(args ...string) string) {
	s.t.Helper()
	got := shows()
	for late := time.Now().Add(patience()); strings.Contains(got, "is written") &&
		time.Now().Before(late); time.Sleep(lookAgain) {
		got = shows()
	}
	if !strings.HasPrefix(got, fmt.Sprintf("congestion control is on: %d devices, ", len(n.Nodes))) ||
		!strings.Contains(got, "\n  cc_sw_cong_setting_marking_rate 77\n") {
		s.t.Errorf("%s", got)
	}
	counts := map[string]int{}
	for node := range n.Nodes {
		words, attributes := "has all settings", "SwitchCongestionSetting"
		switch agent := ccAgentOf(0, int32(node), &n.Nodes[node]); {
		case agent == ccUnresponsive:
			words, attributes = "does not answer", ""
		case agent == ccRefusing:
			words, attributes = "does not support it", ""
		case n.Nodes[node].Type == mad.CA:
			attributes = "CACongestionSetting, CongestionControlTable"
		}
		counts[words]++
		row := regexp.MustCompile(`(?m)^` + n.Nodes[node].Desc + ` +[01] +\w+ +\d+  ` + words + ` *` + attributes + `$`)
		if !row.MatchString(got) {
			s.t.Errorf("no line %s", row)
		}
	}
	for words, count := range counts {
		if !strings.Contains(got, fmt.Sprintf("\n  %6d  %s\n", count, words)) {
			s.t.Errorf("not %d: %s", count, words)
		}
	}
	if s.t.Failed() {
		s.t.Log(got)
	}
	if got := shows("--json"); strings.Count(got, `"state":"set"`) != counts["has all settings"] ||
		strings.Count(got, `"state":"no_class"`) != counts["does not support it"] {
		s.t.Errorf("%s", got)
	}
}

// TestCongestionRestored: congestion control is off by default, a reload turns it on and off, and a switch and a
// host that have rebooted get their settings again.
func TestCongestionRestored(t *testing.T) {
	t.Parallel()
	n := nettest.Generate(t, "fattree:k=4")
	s := newCCSubnet(t, n, 0)
	s.write("")
	socket := filepath.Join(t.TempDir(), "s")
	s.bringUp(program(t, "ibsm"), "--ibsim", "-F", s.conf, "-f", "stdout", "-s", "1", "-R", "minhop", "--ctl_socket",
		socket)
	shows := func(args ...string) string {
		return run(t, t.TempDir(), nil,
			append([]string{program(t, "ibsmctl"), "--socket", socket, "congestion-control"}, args...)...).stdout
	}
	if got := shows(); got != "congestion control is off: set congestion_control TRUE to enable it\n" {
		t.Errorf("off: %s", got)
	}
	// reload returns what the manager says from its reload until the line with those words. On a reload that turns
	// congestion control on, either of "settings written" and "SUBNET UP" may come first.
	reload := func(settings, until string) string {
		t.Helper()
		s.write(settings)
		s.manager.skip()
		s.manager.signal(syscall.SIGHUP)
		s.manager.await("configuration reloaded")
		return s.manager.await(until)
	}
	reload("cc_sw_cong_setting_marking_rate 5\n", "SUBNET UP")
	if sets, n := s.record.look(); n != 0 {
		t.Errorf("off: %v", sets)
	}
	said := reload(ccOn, "settings written")
	lacking := func() []string { return s.lacking(n) }
	complete := func(what string) {
		t.Helper()
		for late := time.Now().Add(patience()); len(lacking()) > 0; time.Sleep(lookAgain) {
			if time.Now().After(late) {
				t.Fatalf("%s: %v lack settings", what, lacking())
			}
		}
	}
	complete("after a reload")
	if strings.Count(said, "a device does not answer:") == 0 ||
		strings.Count(said, "a device does not support it") == 0 {
		t.Errorf("the log does not name devices without an agent:\n%s", said)
	}
	s.mustShow(n, shows)
	for _, node := range []int32{1, int32(len(n.Nodes) - 1)} {
		if ccAgentOf(0, node, &n.Nodes[node]) != ccSound {
			t.Fatalf("%s is not sound", n.Nodes[node].ID)
		}
		s.manager.skip()
		var list []string // before the manager can have written anything
		s.server.Do(func(f *fabric.Fabric) {
			f.Reboot(node)
			list = lackingIn(f, n)
		})
		if len(list) != 1 {
			t.Errorf("%s has rebooted, and %v lack settings", n.Nodes[node].ID, list)
		}
		complete("after " + n.Nodes[node].ID + " has rebooted")
		s.manager.await("settings written") // so no request is left on its way
	}
	s.record.taken()
	reload(strings.ReplaceAll(strings.ReplaceAll(ccOn, "TRUE", "FALSE"), "77", "79"), "SUBNET UP")
	if sets, n := s.record.look(); n != 0 {
		t.Errorf("off again: %v", sets)
	}
}
