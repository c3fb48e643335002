package manager

import (
	"fmt"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
)

// rest is what a manager does that has been NOT-ACTIVE from the start: it asks its own
// port who it is, to answer for itself, and nothing else.
func (c *Core) rest() {
	if c.cfg.Once {
		c.exit(fmt.Errorf("%w: it was started NOT-ACTIVE", ErrNotMaster))
		return
	}
	if c.own.guid == 0 && c.nextSweep == 0 {
		c.askSelf(smp.AttrPortInfo)
		c.schedule(portPoll)
	}
}

func (c *Core) askSelf(attr mad.AttrID) {
	req := c.directed(mad.Route{}, mad.MethodGet, attr, 0, tagSelf)
	c.table.Submit(&req)
}

// knowSelf takes what our own port says: first its M_Key, which who asks us must show, and
// then its GUID, with which we begin to answer.
func (c *Core) knowSelf(o *txn.Outcome, ok bool) {
	switch {
	case !ok || c.own.guid != 0:
	case o.Attr == smp.AttrPortInfo:
		c.own.holds((*smp.PortInfo)(&o.Data))
		c.askSelf(smp.AttrNodeInfo)
	default:
		guid := (*smp.NodeInfo)(&o.Data).PortGUID()
		if c.cfg.GUID != 0 && c.cfg.GUID != guid {
			c.exit(fmt.Errorf("%w: it is %v, not %v", ErrWrongPort, guid, c.cfg.GUID))
			return
		}
		c.introduced(guid)
	}
}
