package manager

import (
	"fmt"

	"ibsm/sweep"
)

// ComputeMulticast runs a multicast task and returns its result as MulticastComputed. A further one may be given
// out before the result of one is there, which then is ignored.
type ComputeMulticast struct{ Task *sweep.MulticastTask }

// Forwarded says that the tables of the switches carry what was registered up to Seq. It
// comes for the last of the States that were given with RegistryChanged, also where no
// table had to change and where some switch did not take its own: Failures has those. A
// manager that is not master forwards nothing.
type Forwarded struct{ sweep.Forwarding }

func (ComputeMulticast) action() {}
func (Forwarded) action()        {}

// multicast is the machine that keeps the multicast forwarding tables, beside the sweeps. Its
// states are those of the sweep.Multicast; here is what was logged of it.
type multicast struct {
	*sweep.Multicast
	trouble string // as it was logged last; "" for none
	missed  int
	avoided int
}

// settle goes on as far as it can without an answer. It returns what has come of a round that
// is over, nil for none; more reports that there may be something to be asked.
func (m *multicast) settle(fx *effects) (done *sweep.Forwarding, more bool) {
	task, done, more := m.Settle(fx.now)
	if task != nil {
		fx.do(ComputeMulticast{task})
	}
	return done, more
}

// forwarded reports a round that is over, and logs what is wrong when that has changed.
func (m *multicast) forwarded(fx *effects, done *sweep.Forwarding) {
	trouble := ""
	if done.Err != nil {
		trouble = done.Err.Error()
	} else if len(done.Failures) > 0 {
		trouble = done.Failures[0].String()
	}
	if trouble != m.trouble {
		if m.trouble = trouble; trouble != "" {
			fx.log(erro, "multicast forwarding tables are incomplete", "first", trouble, "failures", len(done.Failures))
		} else {
			fx.log(info, "multicast forwarding tables are complete again")
		}
	}
	if avoided := m.Avoided(); avoided != m.avoided {
		m.avoided = avoided
		fx.log(warn, fmt.Sprintf("switches that multicast trees avoid because they do not take their tables: %d", avoided))
	}
	if done.Missed != m.missed {
		m.missed = done.Missed
		fx.log(warn, fmt.Sprintf("members that no multicast tree reaches: %d", done.Missed))
	}
	fx.do(Forwarded{*done})
}
