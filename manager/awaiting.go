package manager

import (
	"ibsm/mad"
	"ibsm/sweep"
	"ibsm/sweep/routes"
)

// awaiting is the machine that has an engine compute its routes while interim routes serve, beside the sweeps. A later
// sweep takes them.
type awaiting struct {
	state awaitState
	task  *routes.EngineTask // that is out, or was last; nil for none
	next  *routes.EngineTask // in engineEnding: what follows; nil for nothing
}

// awaitState is whether a task is out.
type awaitState uint8

const (
	noEngine        awaitState = iota // none, or its result is there
	engineComputing                   // it is out
	engineEnding                      // it was given up; its result is awaited
)

// swept takes what a sweep has left to await, nil for nothing.
func (w *awaiting) swept(fx *effects, task *routes.EngineTask) {
	switch {
	case w.state == engineEnding:
		w.next = task
	case task.Same(w.task):
	case w.state == engineComputing:
		w.state, w.next = engineEnding, task
		fx.do(Cancel{ForEngine})
	default:
		w.begin(fx, task)
	}
}

func (w *awaiting) begin(fx *effects, task *routes.EngineTask) {
	w.state, w.task, w.next = noEngine, task, nil
	if task != nil {
		w.state = engineComputing
		fx.do(newTask(ForEngine, task.Run))
	}
}

// forget cancels the present task: this manager is not master any more.
func (w *awaiting) forget(fx *effects) { w.swept(fx, nil) }

// done takes the result of the task; it reports whether a sweep has to take it.
func (w *awaiting) done(fx *effects, r *routes.EngineResult) (taken bool) {
	if w.state == engineEnding {
		w.begin(fx, w.next)
		return false
	}
	w.state = noEngine
	return r != nil
}

// engineComputed takes the result of the engine's task.
func (c *Core) engineComputed(r *routes.EngineResult) {
	if c.awaiting.done(&c.fx, r) {
		c.sweeps.sweeper.Take(r)
		c.sweeps.want(wishQuick, "the routing engine has finished: its routes replace the interim routes")
	}
}

// askForSLs asks all clients to register again if packets on the SLs of interim routes and packets on the new SLs can
// wait for each other for ever: clients that register again also ask for paths again.
func (c *Core) askForSLs(out *sweep.Outcome) {
	if !out.Taken || out.Transition.State != routes.AtRiskUntilAsked {
		return
	}
	var ports []mad.GUID
	for _, e := range out.Topo.Ends() {
		ports = append(ports, out.Topo.EndGUID(e))
	}
	c.sweeps.sweeper.Reregister(c.reregisterVPorts(ports))
	c.sweeps.want(wishQuick, "clients must request their paths again to get the service levels of the new routes")
}
