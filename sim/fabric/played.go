package fabric

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// Agent answers the Gets and Sets of subnet management, performance management and congestion control in
// place of a node's agents. It is given the port that a request came in by, 0 where the sender sits at
// switch port 0, and the request, into which it puts the attribute of its response. Obey does with the
// request what the node's agent would do, and may change the attribute; answers is false if that
// agent would not answer. SMInfo comes to an Agent only where no station is at the port.
type Agent func(in uint8, p *mad.Packet, obey func() (status mad.Status, answers bool)) Reply

// Reply is what an Agent makes of a request.
type Reply struct {
	Status mad.Status
	None   bool          // there is no response
	After  time.Duration // from the request to the response, besides Config.Latency
}

// Preset has the agent of a node take an attribute as by a Set that came in by a port, whatever M_Key it has. It
// changes data as the response would, and is for what a node holds before a run begins.
func (f *Fabric) Preset(in net.End, attr mad.AttrID, mod uint32, data *[mad.DataSize]byte) mad.Status {
	return f.attribute(f.must(in), true, attr, mod, data)
}

// isForAgent reports whether a request that came in by port at is one for an Agent.
func (f *Fabric) isForAgent(at int32, p *mad.Packet) bool {
	if f.nodeOf(at).caps.Agent == nil {
		return false
	}
	class, method := p.MgmtClass(), p.Method()
	switch {
	case method != mad.MethodGet && method != mad.MethodSet:
		return false
	case class.IsSubnet():
		return p.AttrID() != smp.AttrSMInfo || f.ports[f.mgmt(at)].station == nil
	}
	return class == mad.ClassPerf || class == mad.ClassCongestion
}

// atAgent has the node's Agent answer a request that came in by port at, sent to dlid, and sends the response.
func (f *Fabric) atAgent(at int32, dlid mad.LID, d *mad.Datagram) {
	p, n := &d.Packet, f.nodeOf(at)
	subnet := p.MgmtClass().IsSubnet()
	if subnet {
		f.stats.count(p)
	}
	switch {
	case n.unresponsive:
		f.drop(DropUnresponsive, d)
		return
	case subnet && !f.checkMKey(at, p):
		f.drop(DropMKey, d)
		return
	}
	q := *p
	r := n.caps.Agent(f.ports[at].num, &q, func() (mad.Status, bool) { return f.obeyPlain(at, &q) })
	if r.None {
		f.drop(DropUnresponsive, d)
		return
	}
	if subnet && p.Method() == mad.MethodSet && f.cfg.OnSet != nil {
		f.cfg.OnSet(Set{At: f.now, Node: f.ports[at].node, In: f.ports[at].num, Attr: p.AttrID(), Mod: p.AttrMod(),
			Data: *p.Data(), Status: r.Status, TID: p.TID(), Changed: true})
	}
	*p = q
	p.SetMethod(mad.MethodGetResp)
	p.SetStatus(r.Status)
	if subnet {
		f.reply(at, dlid, d, r.After)
	} else {
		f.replyGSA(at, dlid, d, r.After)
	}
}

// obeyPlain does with a request what a node without an Agent and without Defects does.
func (f *Fabric) obeyPlain(at int32, p *mad.Packet) (status mad.Status, answers bool) {
	switch p.MgmtClass() {
	case mad.ClassPerf:
		return f.perf(f.nodeOf(at), p), true
	case mad.ClassCongestion:
		if f.nodeOf(at).caps.Congestion.Absent {
			return 0, false
		}
		return f.obeyCongestion(at, p)
	}
	if p.ClassVersion() != 1 {
		return mad.StatusBadVersion, true
	}
	return f.attribute(at, p.Method() == mad.MethodSet, p.AttrID(), p.AttrMod(), p.Data()), true
}
