package manager

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sa/mirror"
)

// look reads the port of the polled manager, and the port at the other end of its cable.
func (c *Core) look() {
	c.elect.look(&c.fx, c.polledKey())
	if !c.elect.across.guesses() {
		c.lookAcross()
	}
}

// lookAcross reads the port at the other end of the cable of the polled manager's port.
func (c *Core) lookAcross() {
	ports := c.elect.route.Ports()
	if len(ports) == 0 {
		return
	}
	if agent, known := c.sweeps.sweeper.MKeys().AgentAlong(ports[:len(ports)-1]); known {
		key, guesses := c.elect.across.toPoll(agent, c.sweeps.sweeper.Key)
		c.elect.lookAcross(&c.fx, key, tagOf(guesses, tagPeer, tagPeerGuess))
	}
}

func tagOf(guesses bool, known, guess uint64) uint64 {
	if guesses {
		return guess
	}
	return known
}

// polledKey is the M_Key of requests to the port of the polled manager, but for polls.
func (c *Core) polledKey() mad.MKey {
	return c.elect.mkey.known(c.elect.Polled(), c.sweeps.sweeper.Key)
}

// polled takes the answer to a poll, which is proved or not.
func (c *Core) polled(info *smp.SMInfo, proved bool) {
	isMaster := info.SMState() == smp.Master
	if isMaster {
		c.mirror.polled(c.fx.now)
	}
	c.elect.heard(info, proved)
	c.act(c.elect.Reply(c.fx.now, info))
	if isMaster && !c.elect.IsPeer() && c.elect.State() == smp.Standby {
		c.mirror.foreignMaster(&c.fx, c.elect.Polled())
	}
}

// followMaster sets the master whose registrations are mirrored: the polled one, unless any host could claim to be that
// master.
func (c *Core) followMaster() {
	if c.handover.state == exited {
		return // the registrar has yet to end its subscriptions with the master
	}
	var m mirror.Master
	standby := c.elect.State() == smp.Standby
	if standby && c.cfg.Registrar.Mirror.On() && c.elect.lid != 0 && (c.elect.IsPeer() || c.elect.Foreign()) {
		m = mirror.Master{GUID: c.elect.Polled(), LID: c.elect.lid, Self: c.port.guid, Foreign: !c.elect.IsPeer()}
	}
	c.mirror.follow(&c.fx, m, standby)
}
