package manager

import (
	"time"

	"ibsm/opensm/names"
	"ibsm/routing/creditloop"
	"ibsm/sweep"
	"ibsm/sweep/multicast"
	"ibsm/topo"
)

// TreeLoop says that multicast trees and the routes between hosts have had a credit loop of this many links since
// groups or their members changed; 0 that they have none any more. Text describes it.
type TreeLoop struct {
	Links int
	Text  string
}

func (TreeLoop) action()       {}
func (TreeLoop) notification() {}

// proving is the machine that proves the routes in force again with multicast trees changed by joins, beside all other
// work. Another subnet, or a sweep that has written routes, ends the present proof.
type proving struct {
	state  taskState
	task   *multicast.Proof // that is out
	routes *multicast.Proof // of the last sweep that wrote routes; nil before, and while others may be in force
	known  *multicast.Proof // with the trees that were proved last, by the sweep or since
	due    time.Duration    // when the routes are proved with the trees of now; 0 for no need
	text   string           // the loop as it was logged last, "" for none
}

// treesWait is how long multicast trees may have changed before they are proved: many joins are proved
// together, and leave most of the time to other work.
const treesWait = time.Second

// taskState is whether a task of proving is out.
type taskState uint8

const (
	noTask taskState = iota
	taskOut
	taskEnding // it was ended; its result is awaited
)

// begin takes the routes that a sweep left, which it has proved with the trees of its time.
func (p *proving) begin(fx *effects, out *sweep.Outcome) {
	p.end(fx)
	p.routes = out.TreeProof()
	p.known = p.routes
	p.report(fx, TreeLoop{})
}

// regrown notes that multicast trees may have changed.
func (p *proving) regrown(now time.Duration) {
	if p.routes != nil && p.due == 0 {
		p.due = now + treesWait
	}
}

// deadline is when tick has something to do; false for never.
func (p *proving) deadline() (time.Duration, bool) { return p.due, p.due > 0 && p.state == noTask }

// tick has the routes proved with the multicast trees of now, when that is due.
func (p *proving) tick(fx *effects, m *multicast.Machine) {
	if at, is := p.deadline(); !is || at > fx.now {
		return
	}
	p.due = 0
	if p.routes == nil {
		return
	}
	if task := p.routes.WithTrees(m.Trees()); !task.SameTrees(p.known) {
		p.state, p.task = taskOut, task
		fx.do(newTask(ForTrees, task.Run))
	}
}

// end cancels the present proof: its routes are not in force any more, or soon will not be.
func (p *proving) end(fx *effects) {
	p.routes, p.known = nil, nil
	if p.state == taskOut {
		p.state = taskEnding
		fx.do(Cancel{ForTrees})
	}
}

// forget ends everything: this manager is not master any more.
func (p *proving) forget(fx *effects) {
	p.end(fx)
	p.report(fx, TreeLoop{})
}

// done takes the result of the task.
func (p *proving) done(fx *effects, r *multicast.Proved, m names.Map) {
	task, ended := p.task, p.state == taskEnding
	p.state, p.task = noTask, nil
	if r == nil || ended {
		return
	}
	p.known = task
	loop := TreeLoop{Links: len(r.Loop)}
	if r.Loop != nil {
		loop.Text = creditloop.Text(r.Topo, r.Loop, func(n *topo.Node) string { return nodeName(m, n) })
	}
	p.report(fx, loop)
}

// report reports and logs changes.
func (p *proving) report(fx *effects, loop TreeLoop) {
	if loop.Text == p.text {
		return
	}
	p.text = loop.Text
	fx.do(loop)
	if loop.Links > 0 {
		fx.log(warn, "after changes of multicast groups, multicast trees and routes between hosts have a credit loop: packets can wait for each other until switches drop them", "loop", loop.Text)
	}
}
