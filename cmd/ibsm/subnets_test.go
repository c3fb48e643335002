package main_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/sim/fabric"
	"ibsm/sim/ibsim"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// testSubnet is one of two equal fabrics, each with a manager at its first host and a client of
// the SA at each other host.
type testSubnet struct {
	t       *testing.T
	server  *ibsim.Server
	socket  string
	hosts   []string // where managers can be
	ctl     string   // the control socket of ibsm as the manager; OpenSM has none
	manager *process
	clients []*fabric.Station
	ends    []net.End
	tid     mad.TID // used last
	marker  mad.TID // of the request that shows that all before it have been served
	waiting map[mad.TID]int
	// asked after all others, where some register something: these are answered in the order in which they came; nil
	// for none
	lastly *question
	// acknowledges says that answers by RMPP, which have one segment, are acknowledged. OpenSM leaves
	// RMPP to the kernel, and would take an acknowledgement for a request.
	acknowledges bool
	answers      []*mad.Packet    // of the questions under way, nil for none
	marked       chan *mad.Packet // the answer to the marker
}

// newTestSubnet serves a fabric. Its ports start with the LIDs that the Net says.
func newTestSubnet(t *testing.T, n *net.Net) *testSubnet { return newTestSubnetOf(t, n, 1) }

// newTestSubnetOf leaves the first hosts to managers.
func newTestSubnetOf(t *testing.T, n *net.Net, managers int) *testSubnet {
	return newTestSubnetWith(t, n, managers, func(int32, *net.Node, *fabric.Caps) {})
}

// newTestSubnetWith changes what nodes are able to.
func newTestSubnetWith(t *testing.T, n *net.Net, managers int, caps func(int32, *net.Node, *fabric.Caps)) *testSubnet {
	w := &testSubnet{t: t, socket: newSocket(), waiting: map[mad.TID]int{}, marked: make(chan *mad.Packet, 1)}
	f := fabric.New(n, fabric.Config{Seed: 1, KeepLIDs: true, Caps: func(i int32, node *net.Node, c *fabric.Caps) {
		c.Extended, c.NVIDIA = fabric.ExtendedAlways, true
		caps(i, node, c)
	}})
	for at := range f.EndPorts() {
		if f.NodeType(at.Node) != mad.CA {
			continue
		}
		if len(w.hosts) < managers {
			w.hosts = append(w.hosts, n.Nodes[at.Node].ID)
			continue
		}
		s, err := f.Attach(at)
		if err != nil {
			t.Fatal(err)
		}
		s.OnReceive(func(d mad.Datagram) { w.received(s, d) })
		w.clients, w.ends = append(w.clients, s), append(w.ends, at)
	}
	var err error
	if w.server, err = ibsim.Listen(ibsim.ServerConfig{Fabric: f, SockName: w.socket}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return w
}

// bringUp starts a manager and waits for it.
func (w *testSubnet) bringUp(argv ...string) {
	w.t.Helper()
	w.manager = w.start(w.hosts[0], argv...)
	w.manager.await("SUBNET UP")
}

// status is what the manager's control socket says.
func (w *testSubnet) status() (st ctl.Status, err error) {
	client := ctl.NewClient(w.ctl)
	defer client.Close()
	return st, client.Get(w.t.Context(), "/v1/status", nil, &st)
}

// swept is when the last heavy sweep of ibsm's has ended, 0 while it sweeps.
func (w *testSubnet) swept() (ended time.Time) {
	if st, err := w.status(); err == nil && st.Phase == "idle" && st.Sweep != nil {
		ended = st.Sweep.Ended
	}
	return ended
}

// partitionKeys are the P_Keys that each end port has, in order.
func (w *testSubnet) partitionKeys() (text string) {
	w.server.Do(func(f *fabric.Fabric) {
		for at := range f.EndPorts() {
			keys := slices.DeleteFunc(f.PKeys(at), func(k mad.PKey) bool { return !k.Valid() })
			slices.Sort(keys)
			text += fmt.Sprintln(at, keys)
		}
	})
	return text
}

// start starts a manager at a host.
func (w *testSubnet) start(host string, argv ...string) *process {
	w.t.Helper()
	env := []string{"IBSIM_SOCKNAME=" + w.socket, "SIM_HOST=" + host}
	p := start(w.t, nil, w.t.TempDir(), append(env, caches(w.t)...), argv...)
	w.t.Cleanup(p.kill) // before the server ends
	return p
}

// equalSubnets are OpenSM and ibsm on the same fabric with the same LIDs, OpenSM's, and the same
// lines in their opensm.conf.
func equalSubnets(t *testing.T, spec string, lines ...string) (theirs, ours *testSubnet) {
	t.Helper()
	n := nettest.Generate(t, spec)
	theirs = newTestSubnet(t, n)
	conf := filepath.Join(t.TempDir(), "opensm.conf")
	if err := os.WriteFile(conf, []byte("force_log_flush TRUE\n"+strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	theirs.bringUp("ibsim-run", "opensm", "-F", conf, "-f", "stdout", "-s", "0", "-R", "minhop")
	withLIDs := nettest.Generate(t, spec)
	theirs.server.Do(func(f *fabric.Fabric) {
		for at := range f.EndPorts() {
			info := f.PortInfo(at)
			withLIDs.Nodes[at.Node].Ports[at.Port].LID = info.LID()
		}
	})
	ours = newTestSubnet(t, withLIDs)
	ours.ctl = filepath.Join(filepath.Dir(conf), "ctl")
	ours.bringUp(program(t, "ibsm"), "--ibsim", "-F", conf, "-f", "stdout", "-s", "0", "-R", "minhop", "--ctl_socket",
		ours.ctl)
	for i, end := range theirs.ends {
		a, b := theirs.lid(end), ours.lid(end)
		if a != b {
			t.Fatalf("host %d has LID %d under OpenSM, %d under ibsm", i, a, b)
		}
	}
	return theirs, ours
}

func (w *testSubnet) lid(at net.End) (lid mad.LID) {
	w.server.Do(func(f *fabric.Fabric) {
		info := f.PortInfo(at)
		lid = info.LID()
	})
	return lid
}

// reregister reports whether clients were asked to register again since it was last called.
func (w *testSubnet) reregister() (asked bool) {
	w.server.Do(func(*fabric.Fabric) {
		for _, c := range w.clients {
			asked = c.TakeReregister() || asked
		}
	})
	return asked
}

// question is a request to the SA from a host.
type question struct {
	from   int // index of the client
	packet mad.Packet
}

// ask sends the questions and returns the answers, nil where there is none. OpenSM is
// unresponsive where it refuses some Gets: one that has no answer when two later markers have
// is asked once more, alone.
func (w *testSubnet) ask(questions []question) []*mad.Packet {
	w.t.Helper()
	all := make([]int, len(questions))
	for i := range all {
		all[i] = i
	}
	answers := make([]*mad.Packet, len(questions))
	look := func() []*mad.Packet { // as they are now: an answer may come late, in the goroutine of the server
		w.server.Do(func(*fabric.Fabric) { clear(w.waiting); answers = slices.Clone(w.answers) })
		return answers
	}
	w.server.Do(func(*fabric.Fabric) { w.answers = answers })
	w.send(questions, all)
	for i := range look() {
		if answers[i] == nil {
			w.send(questions, []int{i})
		}
	}
	return look()
}

// register sends a Set and returns its answer, which is waited for: it comes when what
// was registered is in force.
func (w *testSubnet) register(q question) *mad.Packet {
	w.t.Helper()
	return w.mark(func(f *fabric.Fabric) mad.TID { return w.post(f, q.from, &q.packet) })
}

// send asks some of the questions and returns when two markers have been answered.
func (w *testSubnet) send(questions []question, which []int) {
	w.t.Helper()
	w.server.Do(func(f *fabric.Fabric) {
		clear(w.waiting)
		for _, i := range which {
			q := &questions[i]
			w.waiting[w.post(f, q.from, &q.packet)] = i
		}
	})
	for range 2 {
		p := request(mad.MethodGet, sarec.AttrClassPortInfo, 0)
		w.mark(func(f *fabric.Fabric) mad.TID { return w.post(f, 0, &p) })
	}
	if w.lastly != nil {
		w.register(*w.lastly)
	}
}

// mark sends a request as the marker and returns its answer. As any client it asks again after a while: what comes to
// the manager's port while that is not read is dropped there when many packets wait.
func (w *testSubnet) mark(send func(f *fabric.Fabric) mad.TID) *mad.Packet {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience())
	defer cancel()
	for {
		w.server.Do(func(f *fabric.Fabric) {
			select {
			case <-w.marked: // the answer to one that was sent again
			default:
			}
			w.marker = send(f)
		})
		select {
		case p := <-w.marked:
			return p
		case <-time.After(2 * time.Second):
		case <-ctx.Done():
			w.t.Fatalf("%s does not answer", w.manager.name)
		}
	}
}

// post sends a request with a TID of its own.
func (w *testSubnet) post(f *fabric.Fabric, from int, p *mad.Packet) mad.TID {
	info := f.PortInfo(w.ends[from])
	d := mad.Datagram{Addr: mad.Addr{LID: info.MasterSMLID(), QPN: 1}, Packet: *p}
	w.tid++
	d.Packet.SetTID(w.tid)
	w.clients[from].Send([]mad.Datagram{d})
	return w.tid
}

// received takes what comes for a client; the server calls it. Only that client's acknowledgement ends the
// transfer: the SA sends no more than a few at once to one port.
func (w *testSubnet) received(client *fabric.Station, d mad.Datagram) {
	tid := d.Packet.TID()
	if w.acknowledges && d.Packet.IsRMPP() {
		if d.Packet[25] != 1 {
			return // no data
		}
		ack := mad.Datagram{Addr: d.Addr, Packet: d.Packet}
		ack.Packet.SetMethod(d.Packet.Method() &^ 0x80)
		setRMPP(&ack.Packet, 2, 1, 1, 64)
		client.Send([]mad.Datagram{ack})
	}
	if tid == w.marker {
		w.marker = 0
		select {
		case w.marked <- &d.Packet:
		default:
		}
		return
	}
	if i, is := w.waiting[tid]; is && d.Packet.MgmtClass() == mad.ClassSA && d.Packet.IsResponse() {
		w.answers[i] = &d.Packet
		delete(w.waiting, tid)
	}
}

// request is a packet to the SA.
func request(method mad.Method, attr mad.AttrID, comps mad.ComponentMask) (p mad.Packet) {
	p.SetHeader(mad.ClassSA, method, attr, 0)
	p.SetComponentMask(comps)
	return p
}

// addresses are the LIDs and GIDs of all end ports.
func (w *testSubnet) addresses() (lids []mad.LID, gids []mad.GID) {
	w.server.Do(func(f *fabric.Fabric) {
		for at := range f.EndPorts() {
			info := f.PortInfo(at)
			lids = append(lids, info.LID())
			gids = append(gids, mad.MakeGID(mad.DefaultPrefix, f.PortGUID(at)))
		}
	})
	return slices.Clip(lids), slices.Clip(gids)
}

// clientGIDs are those of the hosts that ask.
func (w *testSubnet) clientGIDs() (gids []mad.GID) {
	w.server.Do(func(f *fabric.Fabric) {
		for _, at := range w.ends {
			gids = append(gids, mad.MakeGID(mad.DefaultPrefix, f.PortGUID(at)))
		}
	})
	return gids
}

// inWords is a packet in words.
func inWords(p *mad.Packet) string {
	if p == nil {
		return "no answer"
	}
	return fmt.Sprintf("%v %s status %v offset %d modifier %#x components %#x data % x", p.Method(),
		sarec.AttrName(p.AttrID()), p.Status(),
		p.AttributeOffset(), p.AttrMod(), uint64(p.ComponentMask()), bytes.TrimRight(p.SAData()[:], "\x00"))
}
