package view

// Routing says where the routes of a View come from.
type Routing struct {
	Engine  string    // that computed them; "" if none did, or none are written
	Refused []Refusal // by chosen engines that were tried before
	Kept    bool      // they are another manager's; Engine repairs them where they do not work
	Foreign string    // the chosen engine, where it has other tables than those that were found and are kept
	Fabric  string    // what kind of fabric was found, where the engine was chosen by that
	Notes   []string  // what the engine has to say about the subnet
	Awaited string    // the engine that is at work, while interim routes serve; else ""
	Lanes   string    // if Kept: what SLs of its paths need and have; "" where one is enough
}

// Refusal is why a routing engine did not route the subnet.
type Refusal struct{ Engine, Reason string }
