package daemon

import (
	"context"
	"time"

	"ibsm/congestioncontrol"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/perf"
	"ibsm/view"
)

// receiver receives what the manager at a port reports, and passes it on to the parts of
// the daemon. Its methods are the callbacks of the manager's Shell, which calls them from
// the manager's own goroutines and waits for them.
type receiver struct {
	*daemon
	port *Port
}

// shell is a manager at the port that reports to r.
func (r receiver) shell() (*manager.Shell, error) {
	begun, err := r.current.begin(r.port.GUID, r.state.lastPartitions())
	if err != nil {
		return nil, err
	}
	begun.Registrar.Reports.PortRetries = r.port.RetriesReports
	return &manager.Shell{
		Config: begun,
		Port:   r.port.SMI, GSI: r.port.GSI, PlainPeers: r.port.PlainPeers, Held: r.port.Held, Logger: r.logger,
		Asks: r.requests, Configs: r.current.configs,
		Notify: r.notification, Mirrored: r.mirrored, Published: r.published, Moved: r.progress,
		OnCounters:   perf.Listener{Image: r.counters.counted, Found: r.counters.found, Gone: r.counters.left},
		OnCongestion: congestioncontrol.Listener{Found: r.troubled, Done: r.written},
	}, nil
}

// notification takes what is more than a line of the log.
func (r receiver) notification(a manager.Notification) {
	r.control.Notify(a)
	switch a := a.(type) {
	case manager.Persist:
		r.state.keep(&a)
		if a.Routes != nil {
			r.current.routed(*a.Routes)
		}
	case manager.Entered:
		r.current.entered(a.State)
	case manager.ForeignMaster:
		r.current.foreignMaster(a.GUID)
	case manager.Up:
		r.captures.swept(a)
		r.display.up(a)
		r.dumpSA(true)
	case manager.Swept:
		r.dumpSA(false)
	case manager.Show:
		r.display.plan(a)
	case manager.ClearIsSM:
		r.clearIsSM()
	}
}

// mirrored takes the policy of the master that this manager follows.
func (r receiver) mirrored(master mad.GUID, policy []byte) { r.current.mirrored(master, policy) }

// published takes the view that questions are answered from now.
func (r receiver) published(v *view.View) {
	r.state.publish(v)
	r.control.Published(v)
	r.counters.published(v)
	if r.dumps != nil {
		r.dumps.Put(v)
	}
}

// progress takes where the manager stands.
func (r receiver) progress(p manager.Progress) { r.display.progress(p) }

// clearPatience is how long clearing IsSM may take; simulators answer, or do not.
const clearPatience = 200 * time.Millisecond

// clearIsSM says of the port that no manager runs there any more.
func (r receiver) clearIsSM() {
	ctx, cancel := context.WithTimeout(context.Background(), clearPatience)
	defer cancel()
	if err := r.port.SetIsSM(ctx, false); err != nil {
		r.logger.Warn("IsSM stays set until this manager exits", "reason", err)
	}
}
