package manager

import (
	"fmt"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/plan"
	"ibsm/topo"
	"ibsm/view"
)

const (
	maxIntruders  = 64          // hosts that are counted at a time; the one that began first makes room
	intruderCount = time.Minute // in which Settings.MKeyViolations are counted
)

// intruders counts who shows wrong M_Keys, for Settings.MKeyViolations. The zero value has none.
type intruders struct{ hosts []intruder }

// intruder is a host that has shown wrong M_Keys.
type intruder struct {
	port  mad.GUID
	since time.Duration // of the first that counts
	count uint32
}

// shown counts a wrong M_Key that a port has shown, and reports whether that makes as many as the limit within intruderCount; then it begins
// again.
func (l *intruders) shown(now time.Duration, port mad.GUID, limit uint32) bool {
	i := slices.IndexFunc(l.hosts, func(h intruder) bool { return h.port == port })
	if i < 0 {
		if len(l.hosts) >= maxIntruders {
			l.hosts = slices.Delete(l.hosts, 0, 1)
		}
		l.hosts, i = append(l.hosts, intruder{port: port, since: now}), len(l.hosts)
	}
	h := &l.hosts[i]
	if now-h.since > intruderCount {
		h.since, h.count = now, 0
	}
	if h.count++; h.count < limit {
		return false
	}
	l.hosts = slices.Delete(l.hosts, i, i+1)
	return true
}

// wrongMKey takes a trap, and has the link of a host disabled that shows wrong M_Keys, as m_key_violation_limit demands. Only what a switch or our
// own node reports counts: who is named in trap 256 is the word of its sender. A manager that applies here, or that shows an M_Key of the
// subnet, is no intruder: its store may be old.
func (c *Core) wrongMKey(n *smp.Notice) {
	limit, v := c.cfg.Sweep.Settings.MKeyViolations, c.published.view
	if limit == 0 || v == nil || !n.IsGeneric() || n.TrapNumber() != smp.TrapBadMKey {
		return
	}
	agent, host := portOf(v, n.IssuerLID()), badMKeySender(v, n)
	if agent == topo.None || host == topo.None || !isTrusted(v.Topo, agent) {
		return
	}
	guid := v.Topo.Ports[host].GUID
	if c.elect.applies(guid) || !c.intruders.shown(c.fx.now, guid, limit) || c.sweeps.sweeper.IsOwnMKey(v.Topo.Agent(agent), n.BadMKey().MKey()) {
		return
	}
	if end, ok := c.sweeps.sweeper.ShutOffHost(guid); ok {
		c.traps.intruded(&c.fx, v, host, end)
	}
}

// isTrusted reports whether an agent is of a switch or of our own node.
func isTrusted(t *topo.Topo, agent topo.PortIdx) bool {
	node := t.Ports[agent].Node
	return t.Nodes[node].Type == mad.Switch || t.Self != topo.None && node == t.Ports[t.Self].Node
}

// applies reports whether another manager is known at a port that is not ignored, or would not be.
func (e *election) applies(port mad.GUID) bool {
	return e.Lists(port) || e.knows(port) && !slices.Contains(e.ignored, port)
}

// intruded notes that the next sweep disables the link of a host at one end.
func (t *traps) intruded(fx *effects, v *view.View, host topo.PortIdx, end plan.Key) {
	port := &v.Topo.Ports[host]
	fx.log(erro, "a host shows wrong M_Keys and its link is disabled, as m_key_violation_limit asks", "guid", port.GUID, "at", whereIs(v, host),
		"disabled_guid", end.Node, "disabled_port", end.Port)
	t.sweep(fx.now, false, fmt.Sprintf("port %v shows wrong M_Keys", port.GUID))
}
