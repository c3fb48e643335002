// Package client asks the SA of another manager, as any host does: for one record, for
// tables, which come by RMPP, and for subscriptions. Client is a pure value without a clock
// that sends nothing itself.
package client

import (
	"errors"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/rmpp"
	"ibsm/mad/txn"
)

// Config of a Client. The zero value asks nobody.
type Config struct {
	SA mad.Addr // whom to ask, at QP1
	// Timeout is how long an answer may take to begin, DefaultTimeout if it is 0; then a
	// question is sent again, Retries times.
	Timeout time.Duration
	// MaxTable bounds a table in bytes.
	MaxTable int
}

// How often a question is sent.
const (
	DefaultTimeout = time.Second
	Retries        = 3
)

// Query is a question.
type Query struct {
	Method mad.Method // Get, GetTable, Set or Delete
	Attr   mad.AttrID
	Comps  mad.ComponentMask
	SMKey  uint64 // of a trusted question; 0 for none
	Record []byte // that is asked with; as much of SAData
}

// Answer is what came of a Query.
type Answer struct {
	Tag     uint64 // of the Query
	Err     error  // there is no answer; nil if there is one
	Status  mad.Status
	Records []byte // of a table; or what SAData has
	Size    int    // of a record in a table; 0 where there is none
}

// Why there is no answer.
var (
	ErrNoAnswer = errors.New("no answer")
	ErrCut      = errors.New("the answer was cut off")
	ErrNoTable  = errors.New("the response is not an RMPP transfer, as on ibsim")
)

// Client is the questions that are under way. It belongs to one goroutine; times never run
// backwards.
type Client struct {
	cfg       Config
	questions *txn.Table
	transfers *rmpp.Machine
	coming    []table         // that have begun to come
	over      [maxOver]uint32 // of those that came last, which may come twice, the lower halves of TIDs
	overs     int
	ended     []txn.Outcome
	failed    []rmpp.Ended
}

// table is an answer on its way.
type table struct {
	low  uint32 // half of the TID
	tag  uint64
	ends time.Duration // when it has taken too long
}

// maxOver is how many tables that have come are known.
const maxOver = 16

// totalTime is how long a table may take.
const totalTime = time.Minute

// New returns a client without questions.
func New(cfg Config) *Client {
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	return &Client{
		cfg: cfg, questions: txn.New(txn.Config{Timeout: cfg.Timeout, Retries: Retries}),
		transfers: rmpp.New(rmpp.Config{TotalTime: totalTime, MaxTransfers: maxOver, MaxPerPeer: maxOver,
			MaxBytes: 2 * cfg.MaxTable, MaxMessage: cfg.MaxTable}),
	}
}

// Ask asks a question, which leaves with Output. It reports false when there are too many.
func (c *Client) Ask(tag uint64, q *Query) bool {
	var p mad.Packet
	p.SetHeader(mad.ClassSA, q.Method, q.Attr, 0)
	p.SetSMKey(q.SMKey)
	p.SetComponentMask(q.Comps)
	copy(p.SAData()[:], q.Record)
	return c.questions.Submit(&txn.Request{Packet: &p, Addr: c.cfg.SA, Tag: tag})
}

// Receive takes a packet of subnet administration that is no request, or one of ours that
// the port gave up, and returns true and the answer that it completes.
func (c *Client) Receive(now time.Duration, d *mad.Datagram) (Answer, bool) {
	low := uint32(d.Packet.TID())
	switch {
	case d.LID != c.cfg.SA.LID:
		return Answer{}, false
	case d.TimedOut || !d.Packet.IsRMPP():
		return c.plain(now, d)
	case slices.ContainsFunc(c.coming, func(t table) bool { return t.low == low }):
		return c.segment(now, d)
	case low != 0 && slices.Contains(c.over[:], low):
		_, _ = c.transfers.Receive(now, d) // which acknowledges it again
		return Answer{}, false
	}
	o, ok := c.questions.Match(now, d)
	switch {
	case !ok:
		return Answer{}, false
	case rmpp.TypeOf(&d.Packet) != rmpp.TypeData:
		return Answer{Tag: o.Tag, Err: ErrNoTable}, true
	}
	c.coming = append(c.coming, table{low, o.Tag, now + totalTime})
	return c.segment(now, d)
}

// plain takes an answer of one packet.
func (c *Client) plain(now time.Duration, d *mad.Datagram) (Answer, bool) {
	o, ok := c.questions.Match(now, d)
	if !ok {
		return Answer{}, false
	}
	a := answerOf(&o)
	if a.Err == nil {
		a.Records = append(a.Records, d.Packet.SAData()[:]...)
	}
	return a, true
}

func answerOf(o *txn.Outcome) Answer {
	a := Answer{Tag: o.Tag, Status: o.Status}
	if o.Result != txn.Replied {
		a.Err = ErrNoAnswer
	}
	return a
}

// segment takes a part of a table.
func (c *Client) segment(now time.Duration, d *mad.Datagram) (Answer, bool) {
	e, ended := c.transfers.Receive(now, d)
	if !ended || e.Sent {
		return Answer{}, false
	}
	return c.came(&e)
}

// came takes a table that has come by RMPP, or has not. It reports false if nobody waits
// for it any more.
func (c *Client) came(e *rmpp.Ended) (a Answer, ok bool) {
	low := uint32(e.Head.TID())
	i := slices.IndexFunc(c.coming, func(t table) bool { return t.low == low })
	if i < 0 {
		return a, false
	}
	a.Tag = c.coming[i].tag
	c.coming = slices.Delete(c.coming, i, i+1)
	if e.Status != rmpp.StatusNormal {
		a.Err = ErrCut
		return a, true
	}
	c.over[c.overs%maxOver] = low
	c.overs++
	a.Status, a.Records, a.Size = e.Head.Status(), e.Data, 8*int(e.Head.AttributeOffset())
	return a, true
}

// Expire appends the answers that have not come in time.
func (c *Client) Expire(now time.Duration, out []Answer) []Answer {
	c.ended = c.questions.Expire(now, c.ended[:0])
	for i := range c.ended {
		out = append(out, answerOf(&c.ended[i]))
	}
	c.failed = c.transfers.Expire(now, c.failed[:0])
	for i := range c.failed {
		if a, waits := c.came(&c.failed[i]); waits {
			out = append(out, a)
		}
	}
	clear(c.failed)
	for len(c.coming) > 0 && c.coming[0].ends <= now { // one that the transfers did not take
		out = append(out, Answer{Tag: c.coming[0].tag, Err: ErrCut})
		c.coming = c.coming[1:]
	}
	return out
}

// Output appends the packets to send now.
func (c *Client) Output(now time.Duration, out []mad.Datagram) []mad.Datagram {
	out = c.questions.Output(now, out)
	return c.transfers.Drain(now, out)
}

// Deadline is when Expire has something to do; false for never.
func (c *Client) Deadline() (time.Duration, bool) {
	at, ok := c.questions.Deadline()
	if due, is := c.transfers.Deadline(); is && (!ok || due < at) {
		at, ok = due, true
	}
	if len(c.coming) > 0 && (!ok || c.coming[0].ends < at) {
		at, ok = c.coming[0].ends, true
	}
	return at, ok
}
