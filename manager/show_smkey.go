package manager

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/proof"
	"ibsm/topo"
)

// showSMKey is the state machine of requests for our SMInfo that ask for no proof, as those of OpenSM, where the SM_Key
// is a secret. Before such a request is answered, the manager at its sender's port is asked for its own SMInfo: the
// answer shows our SM_Key only to a port that has just shown it. So nobody learns it by asking, whatever GUID a host
// has.
type showSMKey [maxShows]struct {
	state   showState
	request mad.Datagram
	route   mad.Route // back to its sender
	port    mad.GUID  // which is this one, 0 where that is not known
}

// showState says whether a sender is asked.
type showState uint8

const (
	showIdle showState = iota
	showAsks
)

// maxShows bounds the senders that are asked at a time. Requests of others are dropped, and are sent again.
const maxShows = 16

// toShow reports whether a Get(SMInfo) waits until its sender has been asked.
func (c *Core) toShow(d *mad.Datagram) (waits bool) {
	_, asksProof := proof.In((*smp.SMInfo)(d.Packet.Data()))
	route, directed := returnRoute(&d.Packet)
	if !c.elect.HasSecret() || asksProof || !directed || len(route.Ports()) == 0 ||
		c.elect.State() == smp.NotActive || c.port.mkey != 0 && d.Packet.MKey() != c.port.mkey {
		return false
	}
	free, port := -1, mad.GUID(0)
	if p := senderOf(c.published.view, d); p != topo.None {
		port = c.published.view.Topo.Ports[p].GUID
	}
	for i := range c.shows {
		switch s := &c.shows[i]; {
		case s.state == showIdle:
			free = i
		case s.route == route:
			s.request = *d // its sender waits for the answer to the latest attempt
			return true
		case port != 0 && s.port == port:
			return true // one at a time: it could invent any number of routes
		}
	}
	if free < 0 {
		return true
	}
	key := mad.MKey(0)
	if c.port.mkey != 0 { // the sender has shown it
		key, _ = c.sweeps.sweeper.MKeys().KeyAlong(route.Ports())
	}
	req := urgent(ownerShown, uint64(free), route, mad.MethodGet, smp.AttrSMInfo, 0, key)
	req.Data = c.elect.Question()
	if c.fx.request(req) {
		s := &c.shows[free]
		s.state, s.request, s.route, s.port = showAsks, *d, route, port
	}
	return true
}

// showing takes the SMInfo of the sender, and answers it.
func (c *Core) showing(o *txn.Outcome) {
	s, own := &c.shows[o.Tag], c.elect.Info()
	if s.state == showIdle {
		return
	}
	s.state = showIdle
	shown := isOK(o) && (*smp.SMInfo)(&o.Data).SMKey() == own.SMKey()
	c.elect.answer(&c.fx, &s.request, mad.StatusOK, &c.port, shown, c.sent)
}
