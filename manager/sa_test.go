package manager

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/congestioncontrol"
	"ibsm/mad"
	"ibsm/mad/rmpp"
	"ibsm/mad/sarec"
	"ibsm/perf"
	"ibsm/registry"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/sa"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
	"ibsm/view"
)

// clients stand for all hosts: what they send is what the port receives.
type clients struct {
	t      *testing.T
	v      *view.View
	shell  *Shell // whose saServer is asked
	port   *saPort
	toSA   chan mad.Datagram
	fromSA chan mad.Datagram
	closed chan struct{}
	close  sync.Once

	registrar *registrar
	counters  *perf.Reader
	congested *congestioncontrol.Writer
}

var errPortClosed = errors.New("port closed")

func (c *clients) Send(ds []mad.Datagram) (int, error) {
	for i := range ds {
		select {
		case c.fromSA <- ds[i]:
		case <-c.closed:
			return i, errPortClosed
		}
	}
	return len(ds), nil
}

func (c *clients) TrySend(ds []mad.Datagram) (int, error) {
	for i := range ds {
		select {
		case c.fromSA <- ds[i]:
		default:
			return i, nil
		}
	}
	return len(ds), nil
}

func (c *clients) Recv(ds []mad.Datagram) (int, error) {
	select {
	case ds[0] = <-c.toSA:
		return 1, nil
	case <-c.closed:
		return 0, errPortClosed
	}
}

func (c *clients) Close() error {
	c.close.Do(func() { close(c.closed) })
	return nil
}

// serve runs f in a bubble in which an SA serves a fat tree of 16 hosts and 20 switches.
func serve(t *testing.T, f func(c *clients)) { serveIn(t, Config{}, servedView(), f) }

// serveIn runs f in a bubble in which an SA, with the users of QP1 beside it, serves a view.
func serveIn(t *testing.T, cfg Config, v *view.View, f func(c *clients)) {
	synctest.Test(t, func(t *testing.T) {
		c := &clients{t: t, shell: &Shell{Config: cfg}, toSA: make(chan mad.Datagram),
			fromSA: make(chan mad.Datagram, 1<<12), closed: make(chan struct{}), v: v}
		ctx, cancel := context.WithCancel(t.Context())
		var tasks sync.WaitGroup
		inbox := newInbox(&c.shell.sa.stats, time.Now())
		c.counters = perf.NewReader(perf.ReaderConfig{Settings: cfg.Counters, Transactions: cfg.Queries})
		c.congested = congestioncontrol.NewWriter(congestioncontrol.WriterConfig{Settings: cfg.Congestion,
			Transactions: cfg.Queries})
		c.port = newSAPort(c, &c.shell.sa, inbox, c.counters, c.congested, false)
		c.registrar = newRegistrar(c.shell, inbox, c.port.Send, time.Now())
		c.port.start(ctx, &tasks)
		tasks.Go(func() { c.port.Serve(ctx) })
		c.shell.registrar.Store(c.registrar)
		c.master(v)
		tasks.Go(func() { c.registrar.run(ctx) })
		tasks.Go(func() { carryOut(ctx, c.registrar) })
		f(c)
		cancel()
		tasks.Wait()
	})
}

// master has all that runs at QP1 know of a view, as after a sweep.
func (c *clients) master(v *view.View) {
	c.publish(v)
	c.registrar.notify(publishedTo(Publish{View: v}))
	c.counters.Follow(v)
	if v == nil {
		c.congested.Forget()
	} else {
		c.congested.Follow(v)
	}
}

// servedView is of a fat tree of 16 hosts and 20 switches.
var servedView = sync.OnceValue(func() *view.View { return fatTree(nil, 0) })

// fatTree makes that view, or of a whole one another one without the host of a port, where the others have the same
// LIDs.
func fatTree(whole *view.View, without mad.GUID) *view.View {
	n, err := net.Generate("fattree:k=4")
	if err != nil {
		panic(err)
	}
	for i := range n.Nodes {
		if p := &n.Nodes[i].Ports[1]; whole != nil && p.GUID == without {
			n.Nodes[p.Peer.Node].Ports[p.Peer.Port].Peer, p.Peer = net.NoEnd, net.NoEnd
		}
	}
	tp, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		panic(err)
	}
	lids := topo.SequentialLIDs(tp, 0)
	if whole != nil {
		base := make([]mad.LID, len(tp.Ports))
		for _, p := range tp.EndPorts {
			base[p] = whole.LIDs.Base[whole.Topo.FindPort(tp.Ports[p].GUID)]
		}
		lids = topo.NewLIDs(base, make([]uint8, len(base)))
	}
	tables, err := minhop.Route(context.Background(), routing.In{Topo: tp, LIDs: lids})
	if err != nil {
		panic(err)
	}
	return &view.View{Topo: tp, LIDs: lids, Tables: tables,
		Subnet: view.Subnet{Prefix: mad.DefaultPrefix, SubnetTimeOut: 18}}
}

// carryOut does at once what the registrar asks of the core.
func carryOut(ctx context.Context, r *registrar) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.changed:
			r.notify(sa.Forwarded{Seq: r.state.Load().Seq()})
		case g := <-r.guids:
			r.notify(sa.GUIDsWritten{GUIDBlock: g, Outcome: sa.HoldsBlock})
		case <-r.heard:
		}
	}
}

func (c *clients) publish(v *view.View) { c.shell.sa.setView(v) }

// request is a GetTable from LID 1.
func request(attr mad.AttrID, tid mad.TID) mad.Datagram {
	d := mad.Datagram{Addr: mad.Addr{LID: 1, QPN: 1}}
	d.Packet.SetHeader(mad.ClassSA, mad.MethodGetTable, attr, 0)
	d.Packet.SetTID(tid)
	return d
}

// ask sends, waits until nothing happens any more, and returns what has come back.
func (c *clients) ask(ds ...mad.Datagram) (replies []mad.Datagram) {
	for i := range ds {
		c.toSA <- ds[i]
	}
	synctest.Wait()
	for {
		select {
		case d := <-c.fromSA:
			replies = append(replies, d)
		default:
			return replies
		}
	}
}

// table fetches a whole table with a receiver of our own, which opens the window.
func (c *clients) table(d mad.Datagram) rmpp.Ended {
	c.t.Helper()
	m := rmpp.New(rmpp.Config{MaxMessage: 1 << 24})
	out := make([]mad.Datagram, 16)
	in := c.ask(d)
	for len(in) > 0 {
		for i := range in {
			if e, ended := m.Receive(0, &in[i]); ended {
				c.ask(out[:m.Output(0, out)]...)
				return e
			}
		}
		in = c.ask(out[:m.Output(0, out)]...)
	}
	c.t.Fatal("the table never ended")
	return rmpp.Ended{}
}

func (c *clients) drops(d sa.Drop) uint64 {
	for reason, n := range c.shell.SAStats().Drops() {
		if reason == d {
			return n
		}
	}
	return 0
}

func TestTables(t *testing.T) {
	serve(t, func(c *clients) {
		for attr, count := range map[mad.AttrID]int{
			sarec.AttrNodeRecord: 36, sarec.AttrPortInfoRecord: 16 + 20*5, sarec.AttrLinkRecord: 2 * (16 + 16 + 16),
			sarec.AttrSMInfoRecord: 0,
			sarec.AttrPathRecord:   36 * 36,
		} {
			d := request(attr, mad.TID(attr))
			e := c.table(d)
			var out mad.Datagram
			want, _ := sa.New(c.v, nil).Table(t.Context(), &d, &out, new(sa.Stats))
			size := int(e.Head.AttributeOffset()) * 8
			if e.Status != rmpp.StatusNormal || !bytes.Equal(e.Data, want) || size*count != len(e.Data) {
				t.Errorf("%s: %q, %d bytes in records of %d, want %d records", sarec.AttrName(attr), e.Status,
					len(e.Data), size, count)
			}
		}
		if s := c.shell.SATransfers(); s.Sent != 5 || s.UnderWay != 0 || s.Bytes != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestTablesBySGID: hosts behind a router that share a LID and choose the same transaction ID each get the table that
// they have asked for, with the GID of their GRH; the same request again is a duplicate.
func TestTablesBySGID(t *testing.T) {
	serve(t, func(c *clients) {
		hosts, asked := map[mad.GID]*rmpp.Machine{}, []mad.Datagram{}
		for i, attr := range []mad.AttrID{sarec.AttrNodeRecord, sarec.AttrPortInfoRecord, sarec.AttrNodeRecord} {
			d := request(attr, 7)
			d.GRH = mad.GRH{Present: true, GID: mad.MakeGID(5, mad.GUID(i%2))}
			hosts[d.GRH.GID] = rmpp.New(rmpp.Config{MaxMessage: 1 << 24})
			asked = append(asked, d)
		}
		tables := map[mad.GID]rmpp.Ended{}
		out := make([]mad.Datagram, 16)
		for in := c.ask(asked...); len(in) > 0; {
			for i := range in {
				host := hosts[in[i].GRH.GID]
				if host == nil {
					t.Fatalf("a packet to %+v", in[i].Addr)
				}
				if e, ended := host.Receive(0, &in[i]); ended {
					tables[in[i].GRH.GID] = e
				}
			}
			var acks []mad.Datagram
			for _, host := range hosts {
				acks = append(acks, out[:host.Output(0, out)]...)
			}
			in = c.ask(acks...)
		}
		for i := range asked {
			d := &asked[i]
			var head mad.Datagram
			want, _ := sa.New(c.v, nil).Table(t.Context(), d, &head, new(sa.Stats))
			if e := tables[d.GRH.GID]; e.Status != rmpp.StatusNormal || e.GRH.GID != d.GRH.GID ||
				!bytes.Equal(e.Data, want) {
				t.Errorf("%s: %q, %d bytes to %v", sarec.AttrName(d.Packet.AttrID()), e.Status, len(e.Data), e.GRH.GID)
			}
		}
		if n := c.drops(sa.DropDuplicate); n != 1 {
			t.Errorf("%d duplicates", n)
		}
	})
}

// A refusal is one plain packet.
func TestRefusedTable(t *testing.T) {
	serve(t, func(c *clients) {
		d := request(sarec.AttrPathRecord, 1)
		d.Packet.SetComponentMask(sarec.PathServiceIDLow)
		got := c.ask(d)
		if len(got) != 1 || got[0].Packet.IsRMPP() || got[0].Packet.Status() != mad.StatusReqInsufficient ||
			got[0].Packet.AttributeOffset() != 0 {
			t.Errorf("%d packets: %v", len(got), got)
		}
	})
}

// A request that came by RMPP is answered as any other.
func TestRequestByRMPP(t *testing.T) {
	serve(t, func(c *clients) {
		d := request(sarec.AttrMultiPathRecord, 1)
		d.Packet.SetMethod(mad.MethodGetMulti)
		client := rmpp.New(rmpp.Config{})
		if err := client.Send(0, &d, make([]byte, 300)); err != nil {
			t.Fatal(err)
		}
		out := make([]mad.Datagram, 4)
		var last mad.Datagram
		for n := client.Output(0, out); n > 0; n = client.Output(0, out) {
			for _, in := range c.ask(out[:n]...) {
				last = in
				client.Receive(0, &in)
			}
		}
		if last.Packet.Method() != mad.MethodGetMultiResp || last.Packet.IsRMPP() ||
			last.Packet.Status() != mad.StatusReqInsufficient {
			t.Errorf("%v, %v", last.Packet.Method(), last.Packet.Status())
		}
		answer := request(sarec.AttrNodeRecord, 2)
		answer.Packet.SetMethod(mad.MethodGetTableResp)
		copy(answer.Packet[24:28], []byte{1, 1, 7, 0})
		if got := c.ask(answer); got != nil || c.drops(sa.DropNoRequest) != 1 {
			t.Errorf("a table that nobody asked for: %d packets, %d dropped", len(got), c.drops(sa.DropNoRequest))
		}
	})
}

// A request for paths between several ports comes by RMPP, and so does its answer.
func TestMultiPath(t *testing.T) {
	serve(t, func(c *clients) {
		var want sarec.MultiPathRecord
		hosts := c.v.Topo.EndPorts[:3]
		want.SetSGIDCount(1)
		want.SetDGIDCount(2)
		for i, p := range hosts {
			want.SetGID(i, mad.MakeGID(mad.DefaultPrefix, c.v.Topo.Ports[p].GUID))
		}
		d := request(sarec.AttrMultiPathRecord, 1)
		d.Packet.SetMethod(mad.MethodGetMulti)
		d.Packet.SetComponentMask(sarec.MultiPathSGIDCount | sarec.MultiPathDGIDCount)
		client := rmpp.New(rmpp.Config{MaxMessage: 1 << 12})
		if err := client.Send(0, &d, want[:24+3*16]); err != nil {
			t.Fatal(err)
		}
		out := make([]mad.Datagram, 4)
		var answer rmpp.Ended
		for n := client.Output(0, out); n > 0; n = client.Output(0, out) {
			for _, in := range c.ask(out[:n]...) {
				if e, ended := client.Receive(0, &in); ended && !e.Sent {
					answer = e
				}
			}
		}
		if answer.Status != rmpp.StatusNormal || answer.Head.Method() != mad.MethodGetMultiResp ||
			answer.Head.AttrID() != sarec.AttrPathRecord || len(answer.Data) != 2*64 {
			t.Fatalf("%q, %d bytes of %s", answer.Status, len(answer.Data), sarec.AttrName(answer.Head.AttrID()))
		}
		for i, p := range hosts[1:] {
			if got := (*sarec.PathRecord)(answer.Data[i*64:]).DLID(); got != c.v.LIDs.Base[p] {
				t.Errorf("path %d is to LID %d", i, got)
			}
		}
	})
}

// A client that never acknowledges is given up, and meanwhile cannot have any number of
// answers under way, nor the same one twice; others are served.
func TestGreedyClient(t *testing.T) {
	serve(t, func(c *clients) {
		for tid := range mad.TID(100) {
			if got := c.ask(request(sarec.AttrPathRecord, tid)); len(got) != 1 != (tid >= maxClientSends) {
				t.Fatalf("request %d: %d packets", tid, len(got))
			}
		}
		if got := c.ask(request(sarec.AttrPathRecord, 3)); got != nil {
			t.Errorf("%d packets to what is under way", len(got))
		}
		if full, twice := c.drops(sa.DropClientFull), c.drops(sa.DropDuplicate); full != 100-maxClientSends ||
			twice != 1 {
			t.Errorf("%d dropped for the client, %d duplicates", full, twice)
		}
		other := request(sarec.AttrNodeRecord, 1)
		other.LID = 2
		if e := c.table(other); e.Status != rmpp.StatusNormal {
			t.Errorf("another client: %q", e.Status)
		}
		time.Sleep(time.Minute)
		if s := c.shell.SATransfers(); s.UnderWay != 0 || s.Bytes != 0 ||
			s.Failed[rmpp.StatusTooManyRetries] != maxClientSends {
			t.Errorf("%+v", s)
		}
		c.ask()
		if e := c.table(request(sarec.AttrNodeRecord, 200)); e.Status != rmpp.StatusNormal {
			t.Errorf("the client itself, later: %q", e.Status)
		}
	})
}

// A port that takes no answer, as what is at its other end waits to be rid of requests
// first, goes on to be read; answers beyond the limit are dropped.
func TestPortThatTakesNothing(t *testing.T) {
	serve(t, func(c *clients) {
		c.fromSA = nil // nobody ever receives from it
		d := request(sarec.AttrClassPortInfo, 1)
		d.Packet.SetMethod(mad.MethodGet)
		const asked = 3 * maxReplies
		for range asked {
			c.toSA <- d
		}
		synctest.Wait()
		// One is being sent, with those that came while it was not yet.
		if dropped := c.drops(sa.DropNoRoom); dropped < asked-2*maxReplies || dropped > asked-maxReplies {
			t.Errorf("%d of %d answers were dropped", dropped, asked)
		}
	})
}

// How long an answer took is counted when the port has taken it.
func TestAnswerTimes(t *testing.T) {
	serve(t, func(c *clients) {
		const wait, asked = 3 * time.Millisecond, 5
		c.fromSA = make(chan mad.Datagram) // takes what is taken from it
		for tid := range mad.TID(asked) {
			d := request(sarec.AttrClassPortInfo, tid)
			d.Packet.SetMethod(mad.MethodGet)
			c.toSA <- d
			time.Sleep(wait)
			<-c.fromSA
			synctest.Wait()
		}
		c.fromSA = make(chan mad.Datagram, 1<<10)
		c.table(request(sarec.AttrNodeRecord, 99))
		for way, times := range c.shell.SAStats().Times() {
			n := uint64(0)
			for _, count := range times.Counts {
				n += count
			}
			want := map[sa.Way]uint64{sa.AtOnce: asked, sa.AsTable: 1}[way]
			if n != want || way == sa.AtOnce && times.Sum != asked*wait {
				t.Errorf("%v: %d answers in %v, want %d", way, n, times.Sum, want)
			}
		}
	})
}

// While no worker is free requests wait: so many of a client, so many in all, and not
// for ever.
func TestQueueOfTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clients{t: t, shell: new(Shell), toSA: make(chan mad.Datagram), fromSA: make(chan mad.Datagram, 1<<10),
			closed: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		var tasks sync.WaitGroup
		port := newSAPort(c, &c.shell.sa, newInbox(&c.shell.sa.stats, time.Now()), perf.NewReader(perf.ReaderConfig{}),
			congestioncontrol.NewWriter(congestioncontrol.WriterConfig{}), false)
		tasks.Go(func() { port.tables.dispatch(ctx) }) // without workers
		tasks.Go(func() { port.Serve(ctx) })
		ask := func(lid mad.LID, tid mad.TID) {
			d := request(sarec.AttrNodeRecord, tid)
			d.LID = lid
			c.ask(d)
		}
		for tid := range mad.TID(maxClientTables + 2) {
			ask(1, tid)
		}
		ask(1, 0)
		other := request(sarec.AttrNodeRecord, 0) // of another host with this LID, behind a router
		other.GRH = mad.GRH{Present: true, GID: mad.MakeGID(5, 1)}
		c.ask(other)
		for lid := mad.LID(2); lid < 2+maxTables; lid++ {
			ask(lid, 1)
		}
		if n := len(port.tables.waiting); n != maxTables {
			t.Errorf("%d requests wait", n)
		}
		if full, twice, none := c.drops(sa.DropClientFull), c.drops(sa.DropDuplicate),
			c.drops(sa.DropNoRoom); full != 3 || twice != 1 || none != maxClientTables {
			t.Errorf("dropped: %d of the client, %d duplicates, %d for want of room", full, twice, none)
		}
		time.Sleep(maxTableWait)
		ask(1, 99)
		if n, late := len(port.tables.waiting), c.drops(sa.DropTooLate); n != 1 || late != maxTables ||
			len(port.tables.asked) != 1 || len(port.tables.clients) != 1 {
			t.Errorf("%d requests wait, %d were too late, %d known of %d clients", n, late, len(port.tables.asked),
				len(port.tables.clients))
		}
		cancel()
		tasks.Wait()
	})
}

// A state of the registry counts from the next answer on, whether a view is there before it or
// comes later.
func TestAnswersFromRegistry(t *testing.T) {
	group := func(mgid byte) *registry.State {
		r := registry.New()
		if err := r.Apply(
			registry.PutGroup{Group: registry.Group{MGID: mad.GID{0xff, 0x12, 15: mgid}, MLID: 0xc000, PKey: 0xffff,
				MTU: mad.MTU2048, Rate: 3}}); err != nil {
			t.Fatal(err)
		}
		return r.Freeze()
	}
	var s saServer
	s.setRegistry(group(1))
	if s.responder.Load() != nil {
		t.Error("there is something to answer from without a view")
	}
	s.setView(servedView())
	for want := byte(1); want < 3; want++ {
		if state := s.responder.Load().Registry(); state.Counts().Groups != 1 {
			t.Errorf("%+v", state.Counts())
		} else if _, is := state.Group(mad.GID{0xff, 0x12, 15: want}); !is {
			t.Errorf("group %d is not there", want)
		}
		s.setRegistry(group(want + 1))
	}
}

// When there is no view any more, requests that wait get no answer.
func TestTablesOfNoMaster(t *testing.T) {
	serve(t, func(c *clients) {
		c.publish(nil)
		if got := c.ask(request(sarec.AttrNodeRecord, 1)); got != nil || c.drops(sa.DropNotMaster) != 1 {
			t.Errorf("%d packets, %d dropped", len(got), c.drops(sa.DropNotMaster))
		}
		c.publish(c.v)
		if e := c.table(request(sarec.AttrNodeRecord, 1)); e.Status != rmpp.StatusNormal {
			t.Errorf("%q", e.Status)
		}
	})
}

// Packets are counted by the LID that they come from, whatever becomes of them; a LID that
// no port can have counts for nobody.
func TestClientCounts(t *testing.T) {
	serve(t, func(c *clients) {
		from := func(lid mad.LID, tid mad.TID) mad.Datagram {
			d := request(sarec.AttrPathRecord, tid)
			d.LID = lid
			d.Packet.SetComponentMask(sarec.PathServiceIDLow)
			return d
		}
		other := from(5, 9)
		other.Packet.SetHeader(mad.ClassMirror, mad.MethodGet, 1, 0)
		c.ask(from(5, 1), from(5, 2), from(7, 3), from(mad.PermissiveLID, 4), from(0xc001, 5), other)
		counts := c.shell.SAClients(nil)
		if counts[5] != 2 || counts[7] != 1 || counts[0] != 0 || len(counts) != int(mad.MinMulticastLID) {
			t.Errorf("%d from LID 5, %d from LID 7 of %d", counts[5], counts[7], len(counts))
		}
	})
}
