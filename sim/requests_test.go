package sim_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// reasons say why a request is sent, and how many of it.
var reasons = map[fabric.Kind]string{
	{Method: mad.MethodGet, Attr: smp.AttrNodeInfo}: "which node is behind a port: one for each cable, and one for " +
		"our own node. A cable whose port was in INIT may have been moved until PortStateChange was cleared: the sweep " +
		"after SUBNET UP asks again",
	{Method: mad.MethodGet, Attr: smp.AttrNodeDescription}: "the name of a node: one for each node. After that a node " +
		"says by trap 144 when it has another name",
	{Method: mad.MethodGet, Attr: smp.AttrSwitchInfo}: "whether a switch reports a change, its LinearFDBTop and the " +
		"capacity of its tables: one for each switch and sweep",
	{Method: mad.MethodSet, Attr: smp.AttrSwitchInfo}: "one that clears PortStateChange, so that later changes are " +
		"seen, and one with LinearFDBTop: two for each switch after power-up",
	{Method: mad.MethodGet, Attr: smp.AttrGeneralInfo}: "whether a switch of NVIDIA has adaptive routing and private " +
		"forwarding tables: one for each switch. OpenSM does not ask",
	{Method: mad.MethodGet, Attr: smp.AttrPortInfo}: "state and abilities of a port: one for each port, also without " +
		"a link, because the SA returns them. The sweep after SUBNET UP reads ports that have not answered a Set; a " +
		"quick one ports of switches that report a change. After trouble, at once and then after 1, 2, 4, 8 and 10 s, " +
		"sweeps read only ports of nodes that did not answer, and of both ends of links where Sets have failed; the one " +
		"after 25 s reads all, and with M_Keys each",
	{Method: mad.MethodSet, Attr: smp.AttrPortInfo}: "two for each end of a link: its parameters with ARMED, and then " +
		"ACTIVE. No Set does both: a port ignores ACTIVE until it and its neighbour are ARMED (IBA 7.2.7). One for " +
		"port 0 of a switch, two if it is enhanced. In a takeover one for each end port, which learns its new master",
	{Method: mad.MethodGet, Attr: smp.AttrPKeyTable}: "the P_Keys of end ports, 32 in each: a key too many lets a " +
		"host into a partition",
	{Method: mad.MethodGet, Attr: smp.AttrLinearForwardingTable}: "the routes of a subnet in use, 64 LIDs in each: " +
		"those that work stay. OpenSM writes them again",
	{Method: mad.MethodSet, Attr: smp.AttrLinearForwardingTable}: "routes, 64 LIDs in each: all blocks up to the " +
		"last LID after power-up, those that differ after that",
	{Method: mad.MethodGet, Attr: smp.AttrMulticastForwardingTable}: "the trees of a subnet in use, 32 groups and 16 " +
		"ports in each: at switches next to hosts and those whose port 0 is one, and where these lead. No packet gets into " +
		"what others hold; it is overwritten before some switch leads there",
	{Method: mad.MethodSet, Attr: smp.AttrMulticastForwardingTable}: "trees, 32 groups and 16 ports in each: after " +
		"power-up the first block, which shows that the switch keeps its table, and then the blocks of trees. The others " +
		"are empty where LinearFDBTop was 0 and no port in use",
	{Method: mad.MethodGet, Attr: smp.AttrSwitchPortStateTable}: "the states of all ports of a switch, in every " +
		"other light sweep in place of SwitchInfo",
	{Method: mad.MethodTrap, Attr: smp.AttrNotice}: "sent by devices: a link has changed, or a port is a manager's " +
		"from now on. The trap of a switch whose change the last sweep has read, as one that was sent again because its " +
		"route was lost with the link, costs SwitchInfo and the states of its ports",
	{Method: mad.MethodTrapRepress, Attr: smp.AttrNotice}: "the answer to a trap",
}

// requestPhases are what requests are counted of.
var requestPhases = []string{"cold start up to SUBNET UP", "after it", "restart with the store", "takeover without it",
	"lost link", "light sweeps in turn"}

// countRequests counts requests in each of requestPhases.
func countRequests(t *testing.T, spec string) (counts []map[fabric.Kind]uint64) {
	n := nettest.Generate(t, spec)
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := registrarConfig()
	cfg.SweepInterval = 0
	take := func() map[fabric.Kind]uint64 {
		phase := map[fabric.Kind]uint64{}
		for kind, n := range b.Fabric.Stats().SMPs {
			if !kind.Method.IsResponse() || kind.Method == mad.MethodTrapRepress {
				phase[kind] = n
			}
		}
		counts = append(counts, phase)
		b.Fabric.ResetStats()
		return phase
	}
	m := b.addKept(firstHost(n), cfg, sim.NewDisk(time.Millisecond))
	b.until("the subnet is up", func() bool { return len(m.ups) > 0 })
	take()
	b.pass(settling)
	take()
	m.retire()
	m = b.addKept(firstHost(n), cfg, m.Disk)
	b.pass(settling)
	for kind, n := range take() {
		if kind.Method == mad.MethodSet {
			t.Errorf("%s: %v: a restart sends %d Sets", spec, kind, n)
		}
	}
	m.retire()
	m = b.add(host(n, 3), cfg)
	b.pass(settling)
	take()
	b.Fabric.LinkDown(uplink(n, b.Fabric.Peer(host(n, 7)).Node))
	b.pass(settling)
	take()
	m.sweep(manager.Light) // of each model a switch is asked for the states of its ports
	m.sweep(manager.Light)
	b.Fabric.ResetStats()
	m.sweep(manager.Light)
	m.sweep(manager.Light)
	take()
	return counts
}

// requestTable is the table of counts.
func requestTable(counts []map[fabric.Kind]uint64) string {
	all := map[fabric.Kind]bool{}
	addKinds(all, counts)
	text := "| request | " + strings.Join(requestPhases, " | ") + " |\n| --- |" +
		strings.Repeat(" --- |", len(requestPhases)) + "\n"
	line := func(name string, count func(map[fabric.Kind]uint64) uint64) {
		text += "| " + name
		for _, phase := range counts {
			cell := ""
			if n := count(phase); n > 0 {
				cell = withCommas(n)
			}
			text += " | " + cell
		}
		text += " |\n"
	}
	for _, kind := range slices.SortedFunc(maps.Keys(all), byName) {
		line(requestName(kind), func(phase map[fabric.Kind]uint64) uint64 { return phase[kind] })
	}
	line("all", func(phase map[fabric.Kind]uint64) (sum uint64) {
		for _, n := range phase {
			sum += n
		}
		return sum
	})
	return text
}

// addKinds adds the kinds of requests that are counted.
func addKinds(to map[fabric.Kind]bool, counts []map[fabric.Kind]uint64) {
	for _, phase := range counts {
		for kind := range phase {
			to[kind] = true
		}
	}
}

func requestName(kind fabric.Kind) string {
	return fmt.Sprintf("%v(%s)", kind.Method, smp.AttrName(kind.Attr))
}

func byName(a, b fabric.Kind) int { return cmp.Compare(requestName(a), requestName(b)) }

func withCommas(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// TestRequests: docs/requests.md says of each request why it is sent and how many there are, which are no more than the
// page says, and no fewer; a restart sends no Set. IBSM_PROOF=1 counts at 11,664 hosts, too; IBSM_DOCS=write writes the
// page.
func TestRequests(t *testing.T) {
	writes := os.Getenv("IBSM_DOCS") == "write"
	all := map[fabric.Kind]bool{}
	for _, size := range []struct {
		hosts, spec string
		always      bool
	}{{"2,916", "fattree:k=36,pods=9", true}, {"11,664", "fattree:k=36", false}} {
		if !size.always && os.Getenv("IBSM_PROOF") == "" && !writes {
			continue
		}
		counts := countRequests(t, size.spec)
		addKinds(all, counts)
		mustBeOnPage(t, "requests at "+size.hosts+" hosts", requestTable(counts), writes)
	}
	text := "| request | why, and how many |\n| --- | --- |\n"
	for _, kind := range slices.SortedFunc(maps.Keys(reasons), byName) {
		text += "| " + requestName(kind) + " | " + reasons[kind] + " |\n"
		if !all[kind] {
			t.Errorf("%s is not sent", requestName(kind))
		}
	}
	for kind := range all {
		if reasons[kind] == "" {
			t.Errorf("%s is sent without a reason", requestName(kind))
		}
	}
	mustBeOnPage(t, "reasons of requests", text, writes)
}

// mustBeOnPage compares a part of docs/requests.md between two comments with what it should be, or writes it.
func mustBeOnPage(t *testing.T, part, want string, writes bool) {
	t.Helper()
	const path = "../docs/requests.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+part+" -->\n", "<!-- end of "+part+" -->\n"
	before, rest, ok := strings.Cut(string(page), begin)
	is, after, closed := strings.Cut(rest, end)
	switch {
	case !ok || !closed:
		t.Fatalf("%s lacks the comments around %q", path, part)
	case is == want:
	case !writes:
		t.Errorf("%s: the %s have changed; IBSM_DOCS=write go test ./sim -run TestRequests writes\n%s", path, part, want)
	default:
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
