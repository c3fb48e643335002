package view

import "ibsm/routing"

// Drained is a switch, or with a port number a link, that routes avoid because somebody wants so.
type Drained struct {
	routing.SwitchPort
	By    DrainedBy
	State DrainState
	Hosts []string // descriptions of those that lose a link when it is unplugged, the first MaxDrainedHosts
	More  int      // that found no room in Hosts
}

// DrainedBy says whether the operator wants that, or a rule.
type DrainedBy uint8

// Who wants it.
const (
	ByOperator  DrainedBy = iota // by drain_file
	BySickLinks                  // what is done about sick links
)

// String is in the words of ibsmctl.
func (b DrainedBy) String() string { return [...]string{"operator", "sick links"}[b] }

// MaxDrainedHosts is how many hosts a Drained names.
const MaxDrainedHosts = 64

// DrainState is how far that goes.
type DrainState uint8

// States. No route between other switches passes what is Empty, and packets to a switch that is itself drained, and to
// hosts on it, come by one link.
const (
	DrainAbsent DrainState = iota // the subnet does not have it, or has no link there
	DrainEmpty
	DrainNeeded // routes pass it, because some switches have no other way
)

// String is in the words of ibsmctl.
func (s DrainState) String() string {
	return [...]string{"absent", "drained", "still needed"}[s]
}
