package main

import (
	"context"
	"fmt"
	"net"
	"sync"

	"ibsm/conf"
	"ibsm/ctl"
	osmlog "ibsm/opensm/log"
)

// keptEvents is how many events ibsmctl can still be told of.
const keptEvents = 4096

// serveControl serves the control socket and metrics where the options want them. A
// manager that was not told where its socket is to be runs without one rather than not
// at all. End returns when nobody is served any more.
func (m *managers) serveControl(ctx context.Context, events *ctl.Ring, log ctl.LogLevel) (end func(), err error) {
	var socket net.Listener
	var metrics []net.Listener
	if path, given := controlSocket(m.conf); path != "" {
		s, err := ctl.Listen(path, conf.CtlGroup.In(m.conf.Config))
		switch {
		case err == nil:
			socket = s
		case given:
			m.logger.Error(err.Error()) // in the background nobody reads what is returned
			return nil, err
		default:
			m.logger.Warn("there is no control socket: ibsmctl cannot reach this manager", "reason", err)
		}
	}
	if addr := conf.MetricsAddr.In(m.conf.Config); addr != "" {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			if socket != nil {
				socket.Close()
			}
			return nil, fmt.Errorf("metrics_addr: %w", err)
		}
		metrics = append(metrics, l)
	}
	if socket == nil && metrics == nil {
		return func() {}, nil
	}
	server := ctl.New(ctl.Config{Source: m.desk, Planner: m.desk, Log: log, Reloader: m.current, Partitions: partitioner{m.current, m.desk}, History: m.desk, Events: events, Logger: m.logger})
	ctx, cancel := context.WithCancel(ctx)
	var task sync.WaitGroup
	task.Go(func() {
		if err := server.Serve(ctx, socket, metrics...); err != nil {
			m.logger.Error("nobody is served on the control socket any more", "reason", err)
		}
	})
	return func() {
		cancel()
		task.Wait()
	}, nil
}

// logFlags are those of the log as it is written.
type logFlags struct{ *osmlog.Handler }

func (l logFlags) LogFlags() uint8         { return uint8(l.Flags()) }
func (l logFlags) SetLogFlags(flags uint8) { l.SetFlags(osmlog.Flags(flags)) }
