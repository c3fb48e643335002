package manager

import (
	"context"
	"errors"
	"sync"
	"time"

	"ibsm/mad"
	"ibsm/mad/rmpp"
	"ibsm/sa"
)

// Limits of a tableServer. What goes beyond them gets no answer and is counted:
// silence makes clients try again.
const (
	tableWorkers    = 2
	maxInbox        = 1024             // packets that wait for the dispatcher
	maxTables       = 256              // requests that wait for a worker
	maxClientTables = 8                // of one LID that wait or are worked on
	maxTableWait    = 10 * time.Second // until a request is taken for given up
	maxTransfers    = 4096             // answers under way
	maxClientSends  = 16               // to one client
	maxRequest      = 4 << 10          // bytes: a MultiPathRecord with all GIDs that it can count
	// maxTableBytes bounds the answers under way. No table is begun unless there is
	// room for the largest from every worker.
	maxTableBytes = 2 * tableWorkers * sa.MaxTable
)

// tableServer answers requests for tables, which take long to make and many packets to
// send.
//
// start starts these goroutines, which end with its context:
//   - the dispatcher, which owns the requests that wait and the transfers of RMPP;
//   - workers, which make one table each at a time, from the view that is published
//     when they begin.
type tableServer struct {
	sa    *saServer
	send  func([]mad.Datagram) (int, error)
	inbox chan mad.Datagram // from the receive loop
	work  chan *tableTask
	made  chan *tableTask
	began time.Time

	// The dispatcher's.
	transfers *rmpp.Machine
	waiting   []*tableTask
	asked     map[tableKey]bool // waiting or worked on
	clients   map[mad.LID]int   // how many of asked each has
	replies   []mad.Datagram    // of one packet, to send behind the ACK of their request
	batch     []mad.Datagram
	ended     []rmpp.Ended
}

// responseBit is what the method of the answer to a Get of several records has besides
// the request's.
const responseBit = 0x80

// tableKey identifies a request.
type tableKey struct {
	lid mad.LID
	qpn uint32
	gid mad.GID // 0 without a GRH
	tid mad.TID
}

func keyOfTable(d *mad.Datagram) tableKey {
	return tableKey{d.LID, d.QPN, d.RemoteGID(), d.Packet.TID()}
}

// tableTask is a request for a table, and its answer.
type tableTask struct {
	in      mad.Datagram
	since   time.Duration
	out     mad.Datagram
	records []byte
	ok      bool // there is an answer
}

// newTableServer returns a server; plainPeers is rmpp.Config's.
func newTableServer(s *saServer, send func([]mad.Datagram) (int, error), plainPeers bool) *tableServer {
	return &tableServer{
		sa: s, send: send, began: time.Now(),
		inbox: make(chan mad.Datagram, maxInbox),
		work:  make(chan *tableTask), made: make(chan *tableTask),
		transfers: rmpp.New(rmpp.Config{
			MaxTransfers: maxTransfers, MaxPerPeer: maxClientSends, MaxBytes: maxTableBytes, MaxMessage: maxRequest,
			PlainPeers: plainPeers,
		}),
		asked: map[tableKey]bool{}, clients: map[mad.LID]int{},
		batch: make([]mad.Datagram, answerBatch),
	}
}

func (t *tableServer) start(ctx context.Context, tasks *sync.WaitGroup) {
	tasks.Go(func() { t.dispatch(ctx) })
	for range tableWorkers {
		tasks.Go(func() { t.makeTables(ctx) })
	}
}

// take takes requests for tables and packets of transfers from the receive loop. It does
// not wait, and returns how many there was no room for.
func (t *tableServer) take(ds []mad.Datagram) (dropped int) {
	for i := range ds {
		select {
		case t.inbox <- ds[i]:
		default:
			t.sa.stats.Drop(sa.DropNoRoom)
			dropped++
		}
	}
	return dropped
}

// makeTables is a worker.
func (t *tableServer) makeTables(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case task := <-t.work:
			task.records, task.ok = t.sa.responder.Load().Table(ctx, &task.in, &task.out, &t.sa.stats)
			select {
			case <-ctx.Done():
				return
			case t.made <- task:
			}
		}
	}
}

// dispatch takes requests, gives them to workers and sends what these have made, a batch
// at a time so that no packet waits for long. It ends early when the port breaks, which the
// receive loop reports.
func (t *tableServer) dispatch(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		n := t.transfers.Output(t.now(), t.batch)
		if err := t.put(t.batch[:n]); err != nil {
			return
		}
		if err := t.put(t.replies); err != nil {
			return
		}
		t.replies = t.replies[:0]
		t.sa.mu.Lock()
		t.sa.transfers = t.transfers.Stats()
		t.sa.mu.Unlock()
		task := t.next()
		var work chan<- *tableTask
		if task != nil {
			work = t.work
		}
		t.setTimer(timer, n > 0)
		select {
		case <-ctx.Done():
			return
		case in := <-t.inbox:
			t.receive(&in)
		case work <- task:
			t.dequeue()
		case task := <-t.made:
			t.deliver(task)
		case <-timer.C:
			t.ended = t.transfers.Expire(t.now(), t.ended[:0])
			clear(t.ended)
		}
	}
}

// put sends datagrams, if there are any.
func (t *tableServer) put(ds []mad.Datagram) error {
	if len(ds) == 0 {
		return nil
	}
	_, err := t.send(ds)
	return err
}

func (t *tableServer) now() time.Duration { return time.Since(t.began) }

// setTimer wakes the dispatcher when a transfer is due, at once when more may be sent.
func (t *tableServer) setTimer(timer *time.Timer, more bool) {
	switch due, waits := t.transfers.Deadline(); {
	case more:
		timer.Reset(0)
	case waits:
		timer.Reset(due - t.now())
	default:
		timer.Stop()
	}
}

// next is the next request to work on; nil if there is none, or no room for its answer.
func (t *tableServer) next() *tableTask {
	t.dropLate()
	if len(t.waiting) == 0 || t.transfers.Stats().Bytes > maxTableBytes-tableWorkers*sa.MaxTable {
		return nil
	}
	return t.waiting[0]
}

// dropLate drops requests whose clients have waited so long that they wait no more.
func (t *tableServer) dropLate() {
	for len(t.waiting) > 0 && t.now()-t.waiting[0].since >= maxTableWait {
		t.forget(t.waiting[0])
		t.dequeue()
		t.sa.stats.Drop(sa.DropTooLate)
	}
}

// dequeue removes the first waiting request, and its memory, from the queue: it gets a table next.
func (t *tableServer) dequeue() {
	t.waiting[0] = nil
	t.waiting = t.waiting[1:]
}

// receive takes a packet.
func (t *tableServer) receive(in *mad.Datagram) {
	switch p := &in.Packet; {
	case !p.IsRMPP():
		t.ask(in)
	default:
		if e, ended := t.transfers.Receive(t.now(), in); ended && !e.Sent && e.Status == rmpp.StatusNormal {
			t.received(&e)
		}
	}
}

// received takes a request that came by RMPP. All that are served fit into their first
// packet.
func (t *tableServer) received(e *rmpp.Ended) {
	in := mad.Datagram{Addr: e.Addr, Packet: e.Head}
	if sa.IsTable(&in.Packet) {
		t.ask(&in)
		return
	}
	var out mad.Datagram
	if t.sa.responder.Load().Answer(&in, &out, &t.sa.stats) {
		t.replies = append(t.replies, out)
	}
}

// ask has a request wait for a worker, if the limits allow.
func (t *tableServer) ask(in *mad.Datagram) {
	t.dropLate()
	key := keyOfTable(in)
	reply := response(in, in.Packet.Method()|responseBit)
	switch {
	case t.asked[key] || t.transfers.Sending(&reply):
		t.sa.stats.Drop(sa.DropDuplicate)
	case t.clients[in.LID] >= maxClientTables:
		t.sa.stats.Drop(sa.DropClientFull)
	case len(t.waiting) >= maxTables:
		t.sa.stats.Drop(sa.DropNoRoom)
	default:
		t.asked[key] = true
		t.clients[in.LID]++
		t.waiting = append(t.waiting, &tableTask{in: *in, since: t.now()})
	}
}

// forget makes room for another request of the client.
func (t *tableServer) forget(task *tableTask) {
	delete(t.asked, keyOfTable(&task.in))
	if t.clients[task.in.LID]--; t.clients[task.in.LID] == 0 {
		delete(t.clients, task.in.LID)
	}
}

// deliver sends what a worker has made.
func (t *tableServer) deliver(task *tableTask) {
	t.forget(task)
	if !task.ok {
		return
	}
	t.sa.stats.Took(sa.AsTable, t.now()-task.since, 1)
	if task.out.Packet.Status() != mad.StatusOK {
		t.replies = append(t.replies, task.out)
		return
	}
	switch err := t.transfers.Send(t.now(), &task.out, task.records); {
	case errors.Is(err, rmpp.ErrPeerFull):
		t.sa.stats.Drop(sa.DropClientFull)
	case errors.Is(err, rmpp.ErrUnderWay):
		t.sa.stats.Drop(sa.DropDuplicate)
	case err != nil:
		t.sa.stats.Drop(sa.DropNoRoom)
	}
}
