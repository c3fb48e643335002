package main_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/sim/fabric"
	"ibsm/sim/ibsim"
	"ibsm/topo/net"
)

// fieldCase is a fabric and the settings of its manager, made from a seed.
type fieldCase struct {
	t           *testing.T
	seed        uint64
	settings    settings
	partitions  string
	aggregation bool // there is an aggregation node
	kinds       []string
	changed     string                                  // setting that was changed by the reload
	joined      []mad.LID                               // MLIDs of groups that had members
	caps        func(int32, *net.Node, *fabric.Caps)    // what nodes can do; nil: randomCaps
	compared    func(s stage, theirs, ours *fieldState) // if not nil, is shown what was compared
}

func newFieldCase(t *testing.T, seed uint64) *fieldCase {
	r := rand.New(rand.NewPCG(seed, 0x5e7))
	n := (&fieldCase{t: t, seed: seed}).net()
	c := &fieldCase{t: t, seed: seed, settings: randomSettings(r), partitions: randomPartitions(r, n)}
	for i := range n.Nodes {
		c.aggregation = c.aggregation || n.Nodes[i].DeviceID == aggregationDevice
	}
	_, c.kinds = randomCaps(seed, n)
	return c
}

// net is the fabric, the same at each call.
func (c *fieldCase) net() *net.Net { return randomNet(c.t, rand.New(rand.NewPCG(c.seed, 0xfab))) }

// managersHost is the node with the manager.
func managersHost(n *net.Net) int {
	return slices.IndexFunc(n.Nodes, func(node net.Node) bool { return node.Type == mad.CA })
}

// managed is a manager alone on a fabric of its own.
type managed struct {
	*fieldCase
	server  *ibsim.Server
	dir     string // of its files
	env     []string
	manager *process
	fields  *fieldRecord
}

// manage starts a manager on the fabric. files are those that it finds.
func (c *fieldCase) manage(files map[string]string, argv ...string) *managed {
	c.t.Helper()
	n := c.net()
	caps := c.caps
	if caps == nil {
		caps, _ = randomCaps(c.seed, n)
	}
	m := &managed{fieldCase: c, dir: c.t.TempDir(), fields: newFieldRecord()}
	f := fabric.New(n, fabric.Config{Seed: c.seed, Caps: caps, OnSet: m.fields.set})
	m.fields.watch(f)
	m.write("guid2mkey", keysOf(f))
	socket := newSocket()
	var err error
	if m.server, err = ibsim.Listen(ibsim.ServerConfig{Fabric: f, SockName: socket}); err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.server.Run(ctx) }()
	c.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			c.t.Error(err)
		}
	})
	for name, text := range files {
		m.write(name, text)
	}
	m.configure()
	m.env = []string{"IBSIM_SOCKNAME=" + socket, "SIM_HOST=" + n.Nodes[managersHost(n)].ID, "OSM_CACHE_DIR=" + m.dir,
		"OSM_TMP_DIR=" + m.dir, "IBSM_SOCKET=none"}
	m.start(argv...)
	return m
}

// start starts a manager with the files that are there.
func (m *managed) start(argv ...string) {
	m.t.Helper()
	argv = append(argv, "-F", "opensm.conf", "-f", "stdout", "-s", "1", "-R", "minhop")
	if m.partitions != "" {
		argv = append(argv, "-P", m.path("partitions.conf"))
	}
	m.manager = start(m.t, nil, m.dir, m.env, argv...)
	m.manager.await("SUBNET UP")
}

// keysOf is OpenSM's file of the M_Keys that ports hold.
func keysOf(f *fabric.Fabric) (text string) {
	for at := range f.EndPorts() {
		if info := f.PortInfo(at); info.MKey() != 0 {
			text += fmt.Sprintf("%v 0x%016x\n\n", f.PortGUID(at), uint64(info.MKey()))
		}
	}
	return text
}

func (m *managed) path(name string) string { return filepath.Join(m.dir, name) }

func (m *managed) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(m.path(name), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// configure writes the manager's files.
func (m *managed) configure() {
	m.t.Helper()
	m.write("opensm.conf", "force_log_flush TRUE\n"+m.settings.String())
	if m.partitions != "" {
		m.write("partitions.conf", m.partitions)
	}
}

// lookAgain is how long a manager that has more to send does not wait.
const lookAgain = 30 * time.Millisecond

// settled is what the manager has come to, once the fabric is in order and it sends nothing
// more; nil before.
func (m *managed) settled() *fieldState {
	before, sets := m.look()
	if before == nil {
		return nil
	}
	time.Sleep(lookAgain)
	if s, now := m.look(); now == sets {
		return s
	}
	return nil
}

// look is the present state, nil as long as there is something to do for a manager, and the
// number of Sets so far.
func (m *managed) look() (s *fieldState, sets int) {
	m.server.Do(func(f *fabric.Fabric) {
		_, busy := f.FirstNotActive()
		for i := range int32(f.NumNodes()) {
			if f.NodeType(i) == mad.Switch {
				info := f.SwitchInfo(i)
				busy = busy || info.PortStateChange()
			}
		}
		if sets = m.fields.sets; !busy {
			s = m.fields.state()
		}
	})
	return s, sets
}

// happen lets something happen to the fabric. What is sent counts from here on.
func (m *managed) happen(event func(f *fabric.Fabric)) {
	m.server.Do(func(f *fabric.Fabric) {
		event(f)
		m.fields.watch(f)
	})
}

// compare waits until two managers have done what there is to do, and takes the differences.
func (c *fieldCase) compare(s stage, theirs, ours *managed, r *fieldReport) {
	c.t.Helper()
	var unlisted time.Time // since when there are differences that are not listed
	for late := time.Now().Add(patience()); ; {
		a, b := theirs.settled(), ours.settled()
		if a != nil && b != nil {
			list := c.differ(s, a, b)
			if unlisted.IsZero() {
				unlisted = time.Now()
			}
			if listed(list) || time.Since(unlisted) > differencePatience {
				r.take(list)
				if c.compared != nil {
					c.compared(s, a, b)
				}
				return
			}
		} else if time.Now().After(late) {
			c.t.Fatalf("seed %d, %s: the fabric is not in order: OpenSM %v, ibsm %v\n%s%v", c.seed, s, a != nil,
				b != nil, c.settings, c.kinds)
		}
	}
}

// differencePatience is how long a manager may take to see that it has more to do, such as
// to reload.
const differencePatience = 5 * time.Second

// run compares OpenSM and ibsm on the fabric through all stages.
func (c *fieldCase) run(r *fieldReport) {
	n := c.net()
	theirs := c.manage(nil, "ibsim-run", "opensm")
	ours := c.manage(map[string]string{"guid2lid": theirs.read("guid2lid")}, program(c.t, "ibsm"), "--ibsim")
	defer theirs.manager.kill()
	defer ours.manager.kill()
	for i := range n.Nodes {
		for kind := range strings.SplitSeq(c.kinds[i], ", ") {
			r.kinds[kind] += len(n.Nodes[i].Ports)
		}
	}
	c.compare(coldStart, theirs, ours, r)
	chance := rand.New(rand.NewPCG(c.seed, 0x4a9))
	members := c.serve(theirs, ours, r)
	both := func(s stage, event func(m *managed, f *fabric.Fabric)) {
		for _, m := range []*managed{theirs, ours} {
			m.manager.skip()
			m.happen(func(f *fabric.Fabric) { event(m, f) })
			m.manager.await("SUBNET UP")
		}
		if s == reboot { // as IPoIB does when its port is ACTIVE again
			serveBoth(theirs, ours, members)
		}
		c.compare(s, theirs, ours, r)
	}
	node := int32(chance.IntN(len(n.Nodes)))
	for int(node) == managersHost(n) {
		node = int32(chance.IntN(len(n.Nodes)))
	}
	both(reboot, func(m *managed, f *fabric.Fabric) {
		f.Reboot(node)
		m.fields.rebooted(node)
	})
	if cable := randomCable(n, chance); cable != net.NoEnd {
		both(lostLink, func(_ *managed, f *fabric.Fabric) { f.LinkDown(cable) })
	}
	c.changed = c.settings.change(chance, true)
	both(reloaded, func(m *managed, _ *fabric.Fabric) {
		m.configure()
		m.manager.signal(syscall.SIGHUP)
	})
}

// serve compares OpenSM and ibsm when hosts have made requests of the SA, and when some have left
// their groups. It returns the requests by which members join
// again.
func (c *fieldCase) serve(theirs, ours *managed, r *fieldReport) (members []fieldRequest) {
	join, leave := c.requests(theirs, rand.New(rand.NewPCG(c.seed, 0x901)))
	serveBoth(theirs, ours, join)
	for _, as := range ours.fields.members {
		c.joined = append(c.joined, as.mlid)
	}
	c.compare(joined, theirs, ours, r)
	serveBoth(theirs, ours, leave)
	c.compare(leftGroup, theirs, ours, r)
	return ours.fields.rejoining(join)
}

func (m *managed) read(name string) string {
	m.t.Helper()
	text, err := os.ReadFile(m.path(name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}

// randomCable is a cable whose loss splits no switch off and does not cut off the manager.
func randomCable(n *net.Net, r *rand.Rand) net.End {
	var cables []net.End
	for i := range n.Nodes {
		for num, p := range n.Nodes[i].Ports {
			at := net.End{Node: int32(i), Port: uint8(num)}
			if p.Peer.Node > at.Node && int(p.Peer.Node) != managersHost(n) && n.Nodes[i].Type == mad.Switch &&
				whole(n, at) {
				cables = append(cables, at)
			}
		}
	}
	if cables == nil {
		return net.NoEnd
	}
	return cables[r.IntN(len(cables))]
}

// whole reports whether all switches are joined without a cable.
func whole(n *net.Net, without net.End) bool {
	seen, next := map[int32]bool{0: true}, []int32{0}
	for len(next) > 0 {
		i := next[0]
		next = next[1:]
		for num, p := range n.Nodes[i].Ports {
			lost := net.End{Node: i, Port: uint8(num)} == without || p.Peer == without
			if p.Peer.Node >= 0 && !lost && !seen[p.Peer.Node] && n.Nodes[p.Peer.Node].Type == mad.Switch {
				seen[p.Peer.Node] = true
				next = append(next, p.Peer.Node)
			}
		}
	}
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.Switch && !seen[int32(i)] {
			return false
		}
	}
	return true
}

// TestFields: on the same fabric, with the same settings, OpenSM and ibsm leave every settable
// field of every port alike and send the same values, but for the differences listed.
func TestFields(t *testing.T) {
	from, to := 1, 5
	if proof() {
		to = 200
	}
	if text := os.Getenv("IBSM_SEED"); text != "" {
		if n, _ := fmt.Sscanf(text, "%d-%d", &from, &to); n < 2 {
			to = from
		}
	}
	r := newFieldReport()
	for seed := from; seed <= to; seed++ {
		t.Run(strconv.Itoa(seed), func(t *testing.T) { newFieldCase(t, uint64(seed)).run(r) })
	}
	if text := r.text(); text != "" {
		t.Errorf("differences that are not in docs/fields.md:\n%s", text)
	}
	all := proof() && os.Getenv("IBSM_SEED") == ""
	// ideal devices are not like that
	realRows := []string{"base port 0 that holds 0", "switch that takes wildcards: ports without a link, and port 0"}
	for i := range fieldRows {
		row := &fieldRows[i]
		t.Logf("%6d %s", r.rows[row], row.name())
		if all && r.rows[row] == 0 && !(os.Getenv("IBSM_PROFILE") == "ideal" && slices.Contains(realRows, row.when)) {
			t.Errorf("never seen: %s", row.name())
		}
	}
	for _, k := range portKinds {
		if all && r.kinds[k.name] == 0 {
			t.Errorf("no port of the kind %q", k.name)
		}
	}
}
