package server

import (
	"context"
	"time"

	"ibsm/manager"
	"ibsm/opensm/console"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/view"
)

// Manager is the manager that runs; nil while none does.
func (d *Server) Manager() *manager.Shell { return d.shell.Load() }

// View is the published view; nil for none.
func (d *Server) View() *view.View {
	if s := d.shell.Load(); s != nil {
		return s.View()
	}
	return nil
}

// Registry holds the SA registrations; nil for none.
func (d *Server) Registry() *registry.State {
	if s := d.shell.Load(); s != nil {
		return s.Registry()
	}
	return nil
}

// ConsoleStatus is the state of the manager for the status command of OpenSM's console,
// without the configuration.
func (d *Server) ConsoleStatus() (st console.Status) {
	d.mu.Lock()
	st.InitErrors = d.sweep != nil && !d.sweep.Up
	d.mu.Unlock()
	shell := d.shell.Load()
	if shell == nil {
		return st
	}
	stats := shell.Stats()
	st.State = stats.State
	if v := shell.View(); v != nil {
		st.Ready, st.Engine = true, v.Routing.Engine
	} else {
		st.FirstSweep, st.FromStandby = true, stats.FromStandby
	}
	st.SMs = append([]view.SM{stats.Self}, stats.Rivals...)
	st.SMPs = consoleSMPs(&stats)
	st.SA = consoleSA(shell.SAStats())
	st.SA.Outstanding = shell.SATransfers().UnderWay
	return st
}

func consoleSMPs(stats *manager.Stats) console.SMPs {
	t := &stats.Txn
	return console.SMPs{
		Outstanding: t.OnWire + t.Overdue + t.Parked, OnWire: t.OnWire + t.Overdue, Received: stats.Received,
		Sent: uint64(stats.Sent), Unicast: uint64(stats.Sent) - min(t.Sent, uint64(stats.Sent)),
		Unknown: t.Stale + t.Unmatched + t.Mismatched,
	}
}

func consoleSA(stats *sa.Stats) (c console.SA) {
	for _, n := range stats.Replies() {
		c.Sent += n
	}
	c.Received = c.Sent
	for reason, n := range stats.Drops() {
		c.Received += n
		if reason == sa.DropNoRequest {
			c.Unknown += n
		} else {
			c.Ignored += n
		}
	}
	return c
}

// consoleOrders map the console's requests to sweeps.
var consoleOrders = map[console.Order]manager.Sweep{
	console.LightSweep: manager.Light, console.HeavySweep: manager.Heavy, console.Reroute: manager.Reroute,
	console.ReadNames: manager.Describe,
}

// orderPatience bounds the wait until the manager accepts a request of a console.
const orderPatience = 5 * time.Second

// ConsoleOrder passes a request of a console on.
func (d *Server) ConsoleOrder(o console.Order) error {
	ctx, cancel := context.WithTimeout(context.Background(), orderPatience)
	defer cancel()
	return d.ask(ctx, manager.SweepRequested{Sweep: consoleOrders[o]})
}

// ConsoleClients is what became of the clients of OpenSM's console; nil without one.
func (d *Server) ConsoleClients() *console.Counters { return d.cfg.Console }
