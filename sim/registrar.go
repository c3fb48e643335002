package sim

import (
	"context"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/rmpp"
	"ibsm/manager"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/store"
)

// desk is a manager's SA: the half that changes what is registered, and the one that
// answers from it.
type desk struct {
	*sa.Registrar
	state    *registry.State
	answerer *sa.Answerer
	tables   *rmpp.Machine // that are sent
	stats    sa.Stats

	told    []sa.Event      // for the Registrar
	asked   []manager.Event // for the core
	written []written       // what the disk is writing, oldest first
}

// written is when changes up to a number are on disk.
type written struct {
	at  time.Duration
	seq uint64
}

// newDesk begins with what is registered already, which is nil for nothing.
func newDesk(cfg sa.RegistrarConfig, reg *registry.Registry) *desk {
	if reg == nil {
		reg = registry.New()
	}
	d := &desk{tables: rmpp.New(rmpp.Config{})}
	d.Registrar = sa.NewRegistrar(cfg, reg, &d.stats)
	d.changed(d.State())
	return d
}

// changed makes a state the one that questions are answered from and that the core is
// told of.
func (d *desk) changed(s *registry.State) {
	d.state = s
	if d.answerer != nil {
		d.answerer = d.answerer.WithRegistry(s)
	}
	d.asked = append(d.asked, manager.Event{Registry: s})
}

// tell takes what the core does for the Registrar.
func (d *desk) tell(a manager.Action) {
	switch a := a.(type) {
	case manager.Publish:
		d.told = append(d.told, sa.Event{View: a.View, Deposed: a.View == nil})
		if a.View == nil {
			d.answerer = nil
		} else {
			d.answerer = d.answerer.WithView(a.View).WithRegistry(d.state)
		}
	case manager.Reset:
		d.told = append(d.told, sa.Event{Reset: a.Ports})
	case manager.Notice:
		d.told = append(d.told, sa.Event{Trap: &a.Notice})
	case manager.Forwarded:
		d.told = append(d.told, sa.Event{Forwarded: a.Seq})
	case manager.Forget:
		d.told = append(d.told, sa.Event{Forget: true})
	case manager.Follow:
		d.told = append(d.told, sa.Event{Follow: &a.Master})
	case manager.Yield:
		d.told = append(d.told, sa.Event{Yield: &a.To})
	case manager.GUIDsWritten:
		d.told = append(d.told, sa.Event{Written: &a.GUIDsWritten})
	}
}

// due is when there is something for the Registrar, or of it for the core.
func (d *desk) due() (at time.Duration, ok bool) {
	if len(d.told)+len(d.asked) > 0 {
		return 0, true
	}
	at, ok = d.Deadline()
	if len(d.written) > 0 && (!ok || d.written[0].at < at) {
		at, ok = d.written[0].at, true
	}
	if due, waits := d.tables.Deadline(); waits && (!ok || due < at) {
		at, ok = due, true
	}
	return at, ok
}

// table answers a request for a table.
func (d *desk) table(now time.Duration, in *mad.Datagram) (out mad.Datagram, ok bool) {
	records, ok := d.answerer.Table(context.Background(), in, &out, &d.stats)
	if !ok || out.Packet.Status() != mad.StatusOK {
		return out, ok
	}
	_ = d.tables.Send(now, &out, records) // who asks for the same again is sent it already
	return out, false
}

// take takes the datagrams that are for the SA out of received.
func (w *World) take(m *Manager, received []mad.Datagram) (rest []mad.Datagram) {
	var writes []mad.Datagram
	for i := range received {
		d := received[i]
		switch {
		case d.Packet.MgmtClass() == mad.ClassMirror:
			writes = append(writes, d)
		case d.Packet.MgmtClass() != mad.ClassSA:
			rest = append(rest, d)
		case sa.IsWrite(&d.Packet) || d.TimedOut || d.Packet.IsResponse():
			writes = append(writes, d)
		case rmpp.IsActive(&d.Packet):
			m.desk.tables.Receive(w.Fabric.Now(), &d)
		case sa.IsTable(&d.Packet):
			if out, ok := m.desk.table(w.Fabric.Now(), &d); ok {
				w.send(m, []mad.Datagram{out})
			}
		default:
			var out mad.Datagram
			if m.desk.answerer.Answer(&d, &out, &m.desk.stats) {
				w.send(m, []mad.Datagram{out})
			}
		}
	}
	w.send(m, m.desk.tables.Drain(w.Fabric.Now(), nil))
	if len(writes) > 0 {
		w.register(m, sa.Event{Received: writes})
	}
	return rest
}

// serve does the next thing that is due at the desk.
func (w *World) serve(m *Manager) {
	d, now := m.desk, w.Fabric.Now()
	switch {
	case len(d.asked) > 0:
		ev := d.asked[0]
		d.asked = d.asked[1:]
		w.step(m, ev)
	case len(d.told) > 0:
		ev := d.told[0]
		d.told = d.told[1:]
		w.register(m, ev)
	case len(d.written) > 0 && d.written[0].at <= now:
		seq := d.written[0].seq
		d.written = d.written[1:]
		w.register(m, sa.Event{Durable: seq})
	default:
		d.tables.Expire(now, nil)
		w.send(m, d.tables.Drain(now, nil))
		w.register(m, sa.Event{})
	}
}

// register gives the Registrar an event and does what comes of it.
func (w *World) register(m *Manager, ev sa.Event) {
	w.Steps++
	d, now := m.desk, w.Fabric.Now()
	ends := w.time(m)
	do := d.Step(now, ev)
	ends()
	if do.State != nil {
		d.changed(do.State)
		at := now
		if m.Disk != nil {
			m.Disk.put(now, store.Batch{Changes: slices.Clone(do.Changes), Registry: do.State})
			at += m.Disk.WriteTime
		}
		d.written = append(d.written, written{at, do.State.Seq()})
	}
	if do.Heard.Policy != nil && m.Mirrored != nil {
		m.Mirrored(do.Heard.Policy)
	}
	for _, g := range do.GUIDs {
		d.asked = append(d.asked, manager.Event{WriteGUIDs: &g})
	}
	if do.Heard.Master != 0 {
		heard := do.Heard
		d.asked = append(d.asked, manager.Event{Heard: &heard})
	}
	if do.Reregister != nil {
		d.asked = append(d.asked, manager.Event{Reregister: do.Reregister})
	}
	if do.Complete != 0 {
		d.asked = append(d.asked, manager.Event{Complete: do.Complete})
	}
	w.send(m, do.Send)
}

// Registrar is the half of the manager's SA that changes what is registered; nil for a
// manager whose configuration has no groups.
func (m *Manager) Registrar() *sa.Registrar {
	if m.desk == nil {
		return nil
	}
	return m.desk.Registrar
}
