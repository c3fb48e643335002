package daemon

import (
	"context"
	"fmt"
	"net"

	"ibsm/api"
	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/ctl/metrics"
	"ibsm/ctl/page"
	osmlog "ibsm/opensm/log"
)

// keptEvents is how many events ibsmctl can still read.
const keptEvents = 4096

// serveControl serves the control socket, metrics_addr and leader_addr where the configuration wants them. A
// manager whose socket is at the default place runs without one rather than not at all.
func (d *daemon) serveControl(ctx context.Context) error {
	on, err := d.controlListeners()
	if err != nil {
		on.Close()
		return err
	}
	if on == (ctl.Listeners{}) && conf.APIAddr.In(d.conf.Config) == "" {
		return nil
	}
	changes, err := d.openAudit()
	if err != nil {
		on.Close()
		return err
	}
	stats, served := new(ctl.Stats), (*api.Server)(nil)
	server := ctl.New(ctl.Config{
		Source: d.control, Counters: d.control, Generations: d.control.Generations, Diff: d.control.Diff,
		LogFlags:    func() uint8 { return uint8(d.lines.Flags()) },
		SetLogFlags: func(flags uint8) { d.lines.SetFlags(osmlog.Flags(flags)) },
		Reload:      d.current.Reload, Settings: d.current.Settings, RotateMKeys: d.current.RotateMKeys,
		PlanPartitions: d.planPartitions, ApplyPartitions: d.applyPartitions, Partitions: d.control,
		Plan: d.control.Plan, Drain: d.drain, CongestionControl: d.control.CongestionControl, Capture: d.capture,
		Names: d.current.names, Events: d.events, Logger: d.logger, Stats: stats,
		Leader: d.control.Leader,
		More:   page.New(page.Config{Source: d.control, Counters: d.control, Partitions: d.control}).Routes(),
		Audit:  changes.Record, Audits: changes.Last, API: func() *ctl.API {
			if served == nil {
				return nil
			}
			return &ctl.API{URL: served.URL(), Fingerprint: served.Fingerprint(), Own: served.OwnCertificate()}
		},
		Metrics: metrics.New(metrics.Config{Control: d.control, Stats: stats, LogDropped: d.log.dropped,
			AuditDropped: changes.Dropped, Logger: d.logger, API: func() *ctl.APICounts {
				if served == nil {
					return nil
				}
				return served.Counts()
			}}).Serve,
	})
	if served, err = d.openAPI(server, changes.Record); err != nil {
		on.Close()
		return err
	}
	if served != nil {
		d.serveAPI(ctx, served)
	}
	d.tasks.run(ctx, func(ctx context.Context) {
		if err := server.Serve(ctx, on); err != nil {
			d.logger.Error("control socket server stopped", "reason", err)
		}
	})
	return nil
}

// controlListeners opens the listeners that the configuration wants, up to the first that it cannot open.
func (d *daemon) controlListeners() (on ctl.Listeners, err error) {
	if on.Control, err = d.listenControl(); err != nil {
		return on, err
	}
	for _, l := range []struct {
		setting, addr string
		to            *net.Listener
	}{{"metrics_addr", conf.MetricsAddr.In(d.conf.Config), &on.Metrics},
		{"leader_addr", conf.LeaderAddr.In(d.conf.Config), &on.Leader}} {
		if l.addr == "" {
			continue
		}
		if *l.to, err = net.Listen("tcp", l.addr); err != nil {
			return on, fmt.Errorf("%s: %w", l.setting, err)
		}
	}
	return on, nil
}

// listenControl opens the control socket; nil if there is none.
func (d *daemon) listenControl() (net.Listener, error) {
	path, given := controlSocket(d.conf)
	if path == "" {
		return nil, nil
	}
	socket, err := ctl.Listen(path, conf.CtlGroup.In(d.conf.Config))
	switch {
	case err != nil && given:
		d.logger.Error(err.Error()) // in the background nobody reads what is returned
		return nil, err
	case err != nil:
		d.logger.Warn("ibsmctl cannot reach this manager, because it has no control socket", "reason", err)
		return nil, nil
	}
	return socket, nil
}
