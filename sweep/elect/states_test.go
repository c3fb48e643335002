package elect

// Names of states, for what tests print.

func (p phase) String() string {
	return [...]string{"keeping", "preparing", "timed out", "leaving"}[p]
}

func (k kind) String() string { return [...]string{"unknown", "foreign", "peer"}[k] }

func (o Order) String() string {
	return [...]string{"refused", "harmless", "from another manager", "from the master", "from an unknown master"}[o]
}
