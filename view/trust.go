package view

// Trust is how far the SA believes its clients: NVIDIA's enhanced trust model, and the checks of where a
// request comes from. The zero value is OpenSM's behaviour. A trusted request shows the SA_Key.
type Trust struct {
	// Enhanced answers without the SA_Key only what a host needs; see sa.Needs.
	Enhanced bool
	// Proxies has Enhanced take joins and services of other ports without the SA_Key.
	Proxies bool
	// GUIDs has Enhanced take alias GUIDs of the requester's own node without the SA_Key.
	GUIDs bool
	// Groups, Services and Subscriptions are how many a port may have with Enhanced that it
	// registers without the SA_Key; 0 for no limit but the SA's own.
	Groups, Services, Subscriptions uint32
	// CheckSGID drops requests whose SGID, in the GRH, is not the port's that they come from.
	CheckSGID bool
	// Rate is how many requests a second are taken from one LID without the SA_Key, after a burst of as
	// many; 0 for no limit.
	Rate uint32
}
