package daemon

import (
	"context"
	"fmt"
	"net"

	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/ctl/metrics"
	osmlog "ibsm/opensm/log"
)

// keptEvents is how many events ibsmctl can still read.
const keptEvents = 4096

// serveControl serves the control socket and metrics where the configuration wants them. A
// manager whose socket is at the default place runs without one rather than not at all.
func (d *daemon) serveControl(ctx context.Context) error {
	socket, err := d.listenControl()
	if err != nil {
		return err
	}
	var tcp []net.Listener
	if addr := conf.MetricsAddr.In(d.conf.Config); addr != "" {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			if socket != nil {
				socket.Close()
			}
			return fmt.Errorf("metrics_addr: %w", err)
		}
		tcp = append(tcp, l)
	}
	if socket == nil && tcp == nil {
		return nil
	}
	stats := new(ctl.Stats)
	server := ctl.New(ctl.Config{
		Source: d.control, Counters: d.control, Generations: d.control.Generations, Diff: d.control.Diff,
		LogFlags:    func() uint8 { return uint8(d.lines.Flags()) },
		SetLogFlags: func(flags uint8) { d.lines.SetFlags(osmlog.Flags(flags)) },
		Reload:      d.current.Reload, Settings: d.current.Settings, RotateMKeys: d.current.RotateMKeys,
		PlanPartitions: d.planPartitions, ApplyPartitions: d.applyPartitions,
		Plan: d.control.Plan, Drain: d.drain, CongestionControl: d.control.CongestionControl, Capture: d.capture,
		Names: d.current.names, Events: d.events, Logger: d.logger, Stats: stats,
		Metrics: metrics.New(d.control, stats, d.log.dropped, d.logger).Serve,
	})
	d.tasks.run(ctx, func(ctx context.Context) {
		if err := server.Serve(ctx, socket, tcp...); err != nil {
			d.logger.Error("control socket server stopped", "reason", err)
		}
	})
	return nil
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
