package manager

import (
	"maps"

	"ibsm/mad"
	"ibsm/partitions/callers"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/sweep"
)

// partitioning is the partitions of the configuration, and those that callers have put beside them.
type partitioning struct {
	configured sweep.Partitions
	state      *registry.State // of the callers' that are known; nil for none
	set        *callers.Set
}

// take takes a state of the registry, and reports whether its partitions of callers are others.
func (p *partitioning) take(state *registry.State) (changed bool) {
	if state == nil || p.state != nil && state.SamePartitions(p.state) {
		return false
	}
	was := p.set
	p.state, p.set = state, callers.Of(state, was)
	return p.set != was
}

// inForce are all partitions.
func (p *partitioning) inForce() sweep.Partitions { return p.beside(p.configured) }

// beside are other configured partitions with those of callers.
func (p *partitioning) beside(configured sweep.Partitions) sweep.Partitions {
	configured.Policy = p.set.Beside(configured.Policy)
	return configured
}

// sls adds the SLs of the partitions of callers to those of the configuration.
func (c *Core) sls() map[mad.PKey]uint8 {
	if c.partitions.set == nil {
		return c.cfg.PathSLs
	}
	sls := callers.Part(c.cfg.Sweep.Partitions.Policy).SLs(c.cfg.Sweep.Settings.QoS)
	maps.Copy(sls, c.cfg.PathSLs)
	return sls
}

// partitionsChanged applies the partitions of callers of a state of the registry.
func (c *Core) partitionsChanged(state *registry.State) {
	if !c.partitions.take(state) {
		return
	}
	c.repartition()
}

// repartition brings all partitions into force.
func (c *Core) repartition() {
	c.cfg.Sweep.Partitions = c.partitions.inForce()
	c.sweeps.sweeper.Configure(c.cfg.Sweep)
	c.sweeps.want(wishQuick, "partitions changed")
}

// Order gives the SA an order about partitions, which it answers. It does not wait; before Run the answer is
// sa.ErrNotMaster. Any goroutine may call it.
func (s *Shell) Order(o sa.PartitionOrder) {
	if r := s.registrar.Load(); r != nil {
		r.notify(o)
		return
	}
	o.Answer(sa.PartitionAnswer{Err: sa.ErrNotMaster})
}

// Registered is what clients and callers have registered with this manager, or with the master that it mirrors; nil
// before Run. Any goroutine may call it.
func (s *Shell) Registered() *registry.State {
	if r := s.registrar.Load(); r != nil {
		return r.state.Load()
	}
	return nil
}
