package routingtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smi"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/mad/txn/txntest"
)

// PathSLs asks the SA of a subnet for the path between each two LIDs, from a port. Those that it has no path for are
// left out.
func PathSLs(t testing.TB, port mad.Port, lids []mad.LID) map[[2]mad.LID]uint8 {
	t.Helper()
	c, end := newClient(t, port)
	defer end()
	return c.pathSLs(lids)
}

// client asks a subnet manager.
type client struct {
	t    testing.TB
	ctx  context.Context
	port *smi.Port
	sm   mad.LID
}

// newClient is a client at a port, until it is ended.
func newClient(t testing.TB, port mad.Port) (c *client, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c = &client{t: t, ctx: ctx, port: smi.New(port)}
	ended := make(chan error)
	go func() { ended <- c.port.Run(ctx) }()
	own := smp.PortInfo(
		c.ask(txn.Request{Route: mad.MakeRoute(), Method: mad.MethodGet, Attr: smp.AttrPortInfo})[0].Data)
	c.sm = own.MasterSMLID()
	return c, func() { cancel(); <-ended }
}

func (c *client) ask(requests ...txn.Request) []txn.Outcome {
	c.t.Helper()
	const timeout = 2 * time.Second // a busy machine may not run the manager for a second
	outcomes, err := txntest.Do(c.ctx, c.port, txn.Config{MaxWindow: 8, Timeout: timeout, Retries: 14}, requests)
	if err != nil {
		c.t.Fatal(err)
	}
	return outcomes
}

// field is a byte of the record in a reply of the SA, not one of its first eight: records begin at byte 56 of a MAD, of
// which the reply has those from 64 on.
func (c *client) field(o txn.Outcome, what string, at int) byte {
	c.t.Helper()
	if o.Result != txn.Replied || o.Status != mad.StatusOK {
		c.t.Fatalf("%s: %+v", what, o)
	}
	return o.Data[at+56-64]
}

func (c *client) pathSLs(lids []mad.LID) map[[2]mad.LID]uint8 {
	c.t.Helper()
	var requests []txn.Request
	var paths [][2]mad.LID
	for _, from := range lids {
		for _, to := range lids {
			var p mad.Packet
			p.SetHeader(mad.ClassSA, mad.MethodGet, sarec.AttrPathRecord, 0)
			record := (*sarec.PathRecord)(p.SAData()[:64])
			record.SetSLID(from)
			record.SetDLID(to)
			p.SetComponentMask(sarec.PathSLID | sarec.PathDLID)
			requests = append(requests, txn.Request{Packet: &p, Addr: mad.Addr{LID: c.sm, QPN: 1}})
			paths = append(paths, [2]mad.LID{from, to})
		}
	}
	sls := map[[2]mad.LID]uint8{}
	for i, o := range c.ask(requests...) {
		if o.Result == txn.Replied && o.Status == mad.StatusNoRecords {
			continue
		}
		sls[paths[i]] = c.field(o, fmt.Sprintf("from LID %v to LID %v", paths[i][0], paths[i][1]), 53) & 0xf
	}
	return sls
}

// join joins a port to a group, and returns the multicast LID.
func (c *client) join(group byte, guid mad.GUID) mad.LID {
	c.t.Helper()
	var p mad.Packet
	p.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrMCMemberRecord, 0)
	r := (*sarec.MCMemberRecord)(p.SAData()[:56])
	r.SetMGID(mad.GID{0xff, 0x12, 0, 1, 15: group + 1})
	r.SetPortGID(mad.MakeGID(mad.DefaultPrefix, guid))
	r.SetQKey(0x1b)
	r.SetPKey(0xffff)
	r.SetJoinState(1)
	r.SetProxyJoin(true)
	r.SetMTU(sarec.Exactly, mad.MTU256) // which all ports have
	r.SetRate(sarec.Exactly, 2)
	p.SetComponentMask(sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberQKey | sarec.MCMemberPKey |
		sarec.MCMemberSL |
		sarec.MCMemberMTUSelector | sarec.MCMemberMTU | sarec.MCMemberRateSelector | sarec.MCMemberRate |
		sarec.MCMemberFlowLabel | sarec.MCMemberTClass | sarec.MCMemberJoinState | sarec.MCMemberProxyJoin)
	o := c.ask(txn.Request{Packet: &p, Addr: mad.Addr{LID: c.sm, QPN: 1}})[0]
	what := fmt.Sprintf("join of %v", guid)
	return mad.LID(c.field(o, what, 36))<<8 | mad.LID(c.field(o, what, 37))
}
