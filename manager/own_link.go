package manager

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
)

// ownLinkPoll is the interval at which a master looks whether its own port has a link.
const ownLinkPoll = time.Second

// ownLink is the watch of a master over the link of its own port. No trap reports that it is lost, and then the standby
// becomes master within a quarter of a second. The request goes to the agent of the own port, not over the wire.
type ownLink struct {
	due time.Duration // of the next request; 0 for none
}

// tick asks when it is due. Only a master that has met another manager watches.
func (l *ownLink) tick(fx *effects, watches bool, key mad.MKey) {
	switch {
	case !watches:
		l.due = 0
	case l.due == 0:
		l.due = fx.now + ownLinkPoll
	case l.due <= fx.now:
		l.due = fx.now + ownLinkPoll
		fx.request(directed(ownerOwnLink, 0, mad.Route{}, mad.MethodGet, smp.AttrPortInfo, 0, key))
	}
}

// watchesOwnLink reports whether this manager watches it.
func (c *Core) watchesOwnLink() bool {
	v := c.published.view
	return v != nil && v.Topo.Nodes[v.Topo.Ports[v.Topo.Self].Node].Type != mad.Switch &&
		c.elect.State() == smp.Master && c.elect.metPeer && c.handover.state == staying
}

// ownLinkSeen takes the outcome of a request: without a link the walk of a sweep ends the mastership.
func (c *Core) ownLinkSeen(o *txn.Outcome) {
	if info := (*smp.PortInfo)(&o.Data); isOK(o) && info.PortState() == smp.PortDown && c.watchesOwnLink() {
		c.sweeps.want(wishFull, "our own port has no link")
	}
}
