package fabric

import (
	"fmt"

	"ibsm/mad"
	"ibsm/mad/pma"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// linkUp reports whether the port's link is trained.
func (f *Fabric) linkUp(i int32) bool {
	return f.ports[i].info.PortPhysicalState() == smp.PhysLinkUp
}

// across is the port at the other end of an up link, -1 when nothing passes.
func (f *Fabric) across(i int32) int32 {
	if p := &f.ports[i]; p.info.PortPhysicalState() == smp.PhysLinkUp {
		return p.peer
	}
	return -1
}

// canTrain reports whether the link at i has all it needs: a good cable, power and
// a port that is not disabled at both ends, and a width and speed in common.
func (f *Fabric) canTrain(i int32) bool {
	a := &f.ports[i]
	if a.peer < 0 {
		return false
	}
	b := &f.ports[a.peer]
	if a.cut || f.nodes[a.node].gone || f.nodes[b.node].gone ||
		a.info.PortPhysicalState() == smp.PhysDisabled || b.info.PortPhysicalState() == smp.PhysDisabled {
		return false
	}
	w, s := negotiate(a, b)
	return w != 0 && s != 0
}

// negotiate gives the best width and speed that both ports have enabled and the
// cable allows, 0 for none.
func negotiate(a, b *port) (w mad.LinkWidth, s mad.LinkSpeed) {
	both := a.info.LinkWidthEnabled() & b.info.LinkWidthEnabled()
	limit := min(a.width.Lanes(), b.width.Lanes())
	for _, c := range []mad.LinkWidth{mad.Width12x, mad.Width8x, mad.Width4x, mad.Width2x, mad.Width1x} {
		if both&c != 0 && c.Lanes() <= limit {
			w = c
			break
		}
	}
	top := min(a.speed, b.speed)
	for c := top; c >= mad.SDR; c-- {
		if c == mad.FDR10 && (top != mad.FDR10 || !a.fdr10() || !b.fdr10()) {
			continue // only a link that is said to be FDR10 trains to it
		}
		if enabled(&a.info, c) && enabled(&b.info, c) {
			s = c
			break
		}
	}
	return w, s
}

// settle brings the link at i into the state that its cable, power and ports ask
// for.
func (f *Fabric) settle(i int32) {
	if !f.canTrain(i) {
		f.fall(i)
	} else if !f.linkUp(i) && f.ports[i].training == 0 {
		f.train(i)
	}
}

// fall takes the link at i down at both ends.
func (f *Fabric) fall(i int32) {
	f.fallEnd(i)
	if peer := f.ports[i].peer; peer >= 0 && peer != i {
		f.fallEnd(peer)
	}
}

func (f *Fabric) fallEnd(i int32) {
	p := &f.ports[i]
	p.training = 0
	if !f.linkUp(i) {
		return
	}
	f.accrue(i)
	if !f.nodes[p.node].gone {
		f.count(i, pma.LinkDownedCounter, 1)
	}
	p.info.SetPortState(smp.PortDown)
	p.info.SetPortPhysicalState(p.info.LinkDownDefaultState())
	f.linkStateChanged(i)
	f.settleVPorts(i)
}

// train starts training of the link at i.
func (f *Fabric) train(i int32) {
	if f.cfg.TrainTime <= 0 {
		f.rise(i)
		return
	}
	f.serial++
	f.ports[i].training, f.ports[f.ports[i].peer].training = f.serial, f.serial
	e := f.queue.push(f.now + f.cfg.TrainTime)
	e.kind, e.port, e.serial = evTrain, i, f.serial
}

func (f *Fabric) trained(i int32, serial uint64) {
	if f.ports[i].training != serial {
		return // fell again meanwhile
	}
	if f.canTrain(i) {
		f.rise(i)
	}
}

// rise brings the link at i to Initialize at both ends.
func (f *Fabric) rise(i int32) {
	peer := f.ports[i].peer
	w, s := negotiate(&f.ports[i], &f.ports[peer])
	f.riseEnd(i, w, s)
	if peer != i {
		f.riseEnd(peer, w, s)
	}
}

func (f *Fabric) riseEnd(i int32, w mad.LinkWidth, s mad.LinkSpeed) {
	p := &f.ports[i]
	p.training = 0
	f.accrue(i)
	p.info.SetLinkWidthActive(w)
	setActive(&p.info, s, f.nodeOf(i).caps.BaseSpeedActive)
	p.runsFDR10 = s == mad.FDR10
	p.info.SetPortState(smp.PortInit)
	p.info.SetPortPhysicalState(smp.PhysLinkUp)
	f.planDown(i)
	f.linkStateChanged(i)
	f.settleVPorts(i)
}

// linkStateChanged notes that the link state machine moved port i from or to Down.
// States that a Set asks for do not count (IBA 14.2.5.4, PortStateChange).
func (f *Fabric) linkStateChanged(i int32) {
	n := f.nodeOf(i)
	if n.sw == nil || n.gone {
		return
	}
	n.sw.info.SetPortStateChange(true)
	t := f.notice(n.first, smp.NoticeUrgent, smp.TrapLinkState)
	t.LinkState().SetLID(f.ports[n.first].info.LID())
	f.raise(n.first, &t)
}

// retrain takes the link at i down and lets it train again, as a Set of PortState
// to Down does.
func (f *Fabric) retrain(i int32) {
	f.fall(i)
	f.settle(i)
}

// must finds a port for the methods by which a test or driver acts on the fabric,
// where one that does not exist is a defect of the caller.
func (f *Fabric) must(at net.End) int32 {
	i, ok := f.index(at)
	if !ok {
		panic(fmt.Sprintf("fabric: no port %d at node %d", at.Port, at.Node))
	}
	return i
}

// LinkDown makes the cable at that port pass nothing.
func (f *Fabric) LinkDown(at net.End) { f.setCut(f.must(at), true) }

// LinkUp makes the cable good again; the link trains.
func (f *Fabric) LinkUp(at net.End) { f.setCut(f.must(at), false) }

func (f *Fabric) setCut(i int32, cut bool) {
	p := &f.ports[i]
	if p.peer < 0 {
		return
	}
	p.cut, f.ports[p.peer].cut = cut, cut
	f.settle(i)
}

// Unplug takes the cable out of that port, and so out of the one it leads to.
func (f *Fabric) Unplug(at net.End) {
	i := f.must(at)
	p := &f.ports[i]
	if p.peer < 0 {
		return
	}
	f.fall(i)
	q := &f.ports[p.peer]
	p.cut, q.cut = false, false
	p.peer, q.peer = -1, -1
}

// Plug connects two ports with a good cable of that width and speed, taking out
// the cables that they had. a and b may be the same port (a loopback plug), but
// neither may be port 0.
func (f *Fabric) Plug(a, b net.End, w mad.LinkWidth, s mad.LinkSpeed) {
	i, j := f.must(a), f.must(b)
	if a.Port == 0 || b.Port == 0 {
		panic("fabric: port 0 has no socket")
	}
	f.Unplug(a)
	f.Unplug(b)
	f.ports[i].peer, f.ports[j].peer = j, i
	for _, k := range []int32{i, j} {
		f.ports[k].width, f.ports[k].speed = w, s
	}
	f.settle(i)
}

// NodeDown takes the node's power away.
func (f *Fabric) NodeDown(node int32) {
	f.nodes[node].gone = true
	f.nodes[node].traps = nil
	f.settleNode(node)
}

// NodeUp gives the node power: it comes back with nothing remembered.
func (f *Fabric) NodeUp(node int32) {
	if !f.nodes[node].gone {
		return
	}
	f.nodes[node].gone = false
	f.powerUp(node)
	f.settleNode(node)
}

// Reboot takes the node's power away and gives it back at once: LIDs, tables and
// settings are lost and its links train again.
func (f *Fabric) Reboot(node int32) {
	f.NodeDown(node)
	f.NodeUp(node)
}

// SetUnresponsive stops or starts the node's agent. Links and forwarding, of directed routes
// too, go on.
func (f *Fabric) SetUnresponsive(node int32, is bool) { f.nodes[node].unresponsive = is }

func (f *Fabric) settleNode(node int32) {
	n := &f.nodes[node]
	for i := n.first + 1; i <= n.first+int32(n.numPorts); i++ {
		f.settle(i)
	}
}

// SetNodeDescription renames a node, which its agent reports by trap 144 from each
// of its ports that is up.
func (f *Fabric) SetNodeDescription(node int32, text string) {
	n := &f.nodes[node]
	n.desc.Set(text)
	for i := n.first; i <= n.first+int32(n.numPorts); i++ {
		if i == f.mgmt(i) && (n.sw != nil || f.linkUp(i)) {
			f.raiseLocalChange(i, smp.ChangedNodeDescription)
		}
	}
}
