package manager

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep"
	"ibsm/topo"
	"ibsm/view"
)

// remembered is the subnet that a manager has found which then stood by: a task makes it of the walk's result.
type remembered struct {
	task  *sweep.StandbyTask // the last one
	reads bool               // the counters of its ports are read
}

// remember has the subnet kept that a walk has found, of which nothing else is made: its plan is abandoned.
func (c *Core) remember(task *sweep.StandbyTask) {
	c.remembered = remembered{task, c.cfg.Counters.Interval > 0 && c.published.view == nil}
	c.fx.do(newTask(ForStandby, task.Run))
}

// rememberedSubnet takes the result of the task. It is out of date when a later walk has ended.
func (c *Core) rememberedSubnet(found *sweep.FoundSubnet) {
	if state := c.elect.State(); found == nil || found.Of != c.remembered.task || state == smp.Master ||
		state == smp.NotActive {
		return
	}
	found.Remember()
	t := found.Topo
	if !c.remembered.reads || t.Self == topo.None {
		return
	}
	base := make([]mad.LID, len(t.Ports))
	for _, p := range t.EndPorts {
		if lid := t.Ports[p].Info.LID(); lid.IsUnicast() {
			base[p] = lid
		}
	}
	c.fx.do(StoodBy{&view.View{Topo: t, LIDs: topo.NewLIDs(base, make([]uint8, len(t.Ports)))}})
}
