package manager

// reconfigure takes what can change while a manager runs from a configuration that was
// read again, and has a heavy sweep bring it into force.
func (c *Core) reconfigure(cfg *Config) {
	c.cfg.Sweep.Settings, c.cfg.Sweep.IgnoreOtherSM = cfg.Sweep.Settings, cfg.Sweep.IgnoreOtherSM
	c.cfg.Sweep.Partitions = cfg.Sweep.Partitions
	if cfg.Sweep.EngineName != c.cfg.Sweep.EngineName {
		c.cfg.Sweep.Engine, c.cfg.Sweep.EngineName = cfg.Sweep.Engine, cfg.Sweep.EngineName
		c.sweeper.Reroute()
	}
	c.cfg.SweepInterval, c.cfg.ForceHeavy, c.cfg.IgnoreTraps = cfg.SweepInterval, cfg.ForceHeavy, cfg.IgnoreTraps
	c.cfg.Resting = cfg.Resting
	c.cfg.SAKey, c.cfg.PrefixRoutes, c.cfg.HonorGUID2LID = cfg.SAKey, cfg.PrefixRoutes, cfg.HonorGUID2LID
	c.cfg.MaxRate, c.cfg.NoMulticast = cfg.MaxRate, cfg.NoMulticast
	c.cfg.Registrar.DropSubscriptions = cfg.Registrar.DropSubscriptions
	c.cfg.Elect = cfg.Elect
	c.sweeper.Configure(c.cfg.Sweep)
	c.multicast.Configure(&cfg.Sweep.Settings)
	c.elect.Configure(c.now, cfg.Elect)
	c.table.SetMaxWindow(cfg.Txn.MaxWindow)
	c.want(true, "the configuration was read again")
}
