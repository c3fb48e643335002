package manager

import (
	"context"

	"ibsm/sweep"
	"ibsm/sweep/multicast"
	"ibsm/sweep/routes"
	"ibsm/sweep/vports"
)

// Task runs something beside the core. TaskDone has its result. Only one for each purpose is out at a time, but for
// ForMulticast, ForStandby and ForVPorts: the results of all but the last of these are ignored.
type Task struct {
	Purpose Purpose
	Run     func(context.Context) (result any)
	// Routes is what computes routes, of ForSweep and ForPlan. With Recall, it is first to Recall the LIDs of OpenSM's
	// guid2lid. With Restore, what clients had registered before is restored first.
	Routes  *sweep.RouteTask
	Recall  bool
	Restore bool
}

// Purpose is what a task is for.
type Purpose uint8

// Purposes, with the type of the result.
const (
	ForSweep     Purpose = iota // *sweep.SweepPlan
	ForPlan                     // the same; it does not delay a sweep
	ForMulticast                // *multicast.Result: multicast tables
	ForTrees                    // *multicast.Proved: multicast trees with the routes between hosts
	ForEngine                   // *routes.EngineResult: the engine for which interim routes serve
	ForStandby                  // *sweep.FoundSubnet: the subnet that a standby has found
	ForVPorts                   // *vports.Result: P_Keys of vPorts
	ForVPortList                // *sweep.VPortList: vPorts at their places
	NumPurposes
)

func (p Purpose) String() string {
	return [...]string{"sweep", "plan", "multicast", "trees", "engine", "standby", "vports", "vport-list"}[p]
}

// TaskDone is the result of a task; nil, or a nil pointer, for one that Cancel has ended.
type TaskDone struct {
	Purpose Purpose
	Result  any
}

// Cancel ends a task that is out early; its result is still awaited.
type Cancel struct{ For Purpose }

func (Task) action()    {}
func (Cancel) action()  {}
func (TaskDone) event() {}

// newTask is a task that needs nothing of its host.
func newTask[T any](p Purpose, run func(context.Context) T) Task {
	return Task{Purpose: p, Run: func(ctx context.Context) any { return run(ctx) }}
}

// routeTask is a task that computes routes.
func routeTask(p Purpose, routes *sweep.RouteTask) Task {
	t := newTask(p, routes.Run)
	t.Routes = routes
	return t
}

// taskDone takes the result of a task.
func (c *Core) taskDone(t TaskDone) {
	switch r := t.Result; t.Purpose {
	case ForSweep:
		c.computed(resultOf[sweep.SweepPlan](r))
	case ForPlan:
		c.sweeps.previewed(&c.fx, resultOf[sweep.SweepPlan](r))
	case ForMulticast:
		if r := resultOf[multicast.Result](r); r != nil {
			c.multicast.TaskDone(r)
		}
	case ForTrees:
		c.proving.done(&c.fx, resultOf[multicast.Proved](r), c.cfg.Names)
	case ForEngine:
		c.engineComputed(resultOf[routes.EngineResult](r))
	case ForStandby:
		c.rememberedSubnet(resultOf[sweep.FoundSubnet](r))
	case ForVPorts:
		c.vPorts.TaskDone(resultOf[vports.Result](r))
	case ForVPortList:
		c.vPortsListed(resultOf[sweep.VPortList](r))
	}
}

// resultOf is the result of a task, nil for one that was ended.
func resultOf[T any](result any) *T {
	r, _ := result.(*T)
	return r
}
