package sim

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/gsi"
	"ibsm/mad/rmpp"
	"ibsm/manager"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/sa/mirror"
	"ibsm/store"
	"ibsm/topo/net"
)

// saServer is a manager's SA: its Registrar, and a Responder to the requests that change
// nothing.
type saServer struct {
	*sa.Registrar
	state     *registry.State
	responder *sa.Responder
	tables    *rmpp.Machine // that are sent
	stats     sa.Stats

	events  []sa.Event      // for the Registrar
	forCore []manager.Event // for the core
	written []written       // what the disk is writing, oldest first
}

// written is when changes up to a number are on disk.
type written struct {
	at  time.Duration
	seq uint64
}

// newSAServer begins with a registry, which is nil for an empty one.
func newSAServer(cfg sa.RegistrarConfig, reg *registry.Registry) *saServer {
	if reg == nil {
		reg = registry.New()
	}
	s := &saServer{tables: rmpp.New(rmpp.Config{})}
	s.Registrar = sa.NewRegistrar(cfg, reg, &s.stats)
	s.changed(s.State())
	return s
}

// salt differs for each manager, at each start.
func (w *World) salt(at net.End) (salt mirror.Salt) {
	binary.BigEndian.PutUint64(salt[:], uint64(w.Fabric.PortGUID(at)))
	binary.BigEndian.PutUint64(salt[8:], uint64(w.Fabric.Now())<<8|uint64(len(w.Managers)&0xff))
	return salt
}

// changed has requests answered from a state, and the core notified of it.
func (s *saServer) changed(state *registry.State) {
	s.state = state
	if s.responder != nil {
		s.responder = s.responder.WithRegistry(state)
	}
	s.forCore = append(s.forCore, manager.RegistryChanged{State: state})
}

// notify takes an action of the core that is for the Registrar.
func (s *saServer) notify(a manager.Action) {
	switch a := a.(type) {
	case manager.Publish:
		if a.View == nil {
			s.events = append(s.events, sa.ViewWithdrawn{})
			s.responder = nil
		} else {
			s.events = append(s.events, sa.ViewPublished{View: a.View})
			s.responder = s.responder.WithView(a.View).WithRegistry(s.state)
		}
	case manager.Forwarded:
		s.events = append(s.events, sa.Forwarded{Seq: a.Seq})
	case manager.ForRegistrar:
		s.events = append(s.events, a.Event)
	}
}

// due is when there is something for the Registrar, or of it for the core.
func (s *saServer) due() (at time.Duration, ok bool) {
	if len(s.events)+len(s.forCore) > 0 {
		return 0, true
	}
	at, ok = s.Deadline()
	if len(s.written) > 0 && (!ok || s.written[0].at < at) {
		at, ok = s.written[0].at, true
	}
	if due, waits := s.tables.Deadline(); waits && (!ok || due < at) {
		at, ok = due, true
	}
	return at, ok
}

// table answers a request for a table.
func (s *saServer) table(now time.Duration, in *mad.Datagram) (out mad.Datagram, ok bool) {
	records, ok := s.responder.Table(context.Background(), in, &out, &s.stats)
	if !ok || out.Packet.Status() != mad.StatusOK {
		return out, ok
	}
	_ = s.tables.Send(now, &out, records) // a client that asks for the same again is sent it already
	return out, false
}

// take takes the datagrams of QP1 out of received, as gsi.Port does.
func (w *World) take(m *Manager, received []mad.Datagram) (rest []mad.Datagram) {
	var forRegistrar []mad.Datagram
	for i := range received {
		d := received[i]
		switch gsi.Classify(&d) {
		case gsi.Subnet:
			rest = append(rest, d)
		case gsi.SARequest:
			if ports := m.sa.responder.Heard(received[i : i+1]); ports != nil {
				m.sa.events = append(m.sa.events, sa.GRHDemanded{Ports: ports})
			}
			if w.answer(m, &d) {
				forRegistrar = append(forRegistrar, d)
			}
		case gsi.SAReport, gsi.SAClient, gsi.Mirror:
			forRegistrar = append(forRegistrar, d)
		case gsi.Unserved:
			var out mad.Datagram
			gsi.Refuse(&d, &out)
			w.send(m, []mad.Datagram{out})
		}
	}
	w.send(m, m.sa.tables.Drain(w.Fabric.Now(), nil))
	if len(forRegistrar) > 0 {
		w.register(m, sa.Received{Datagrams: forRegistrar})
	}
	return rest
}

// answer answers a request to the SA, or reports that it is for the Registrar.
func (w *World) answer(m *Manager, d *mad.Datagram) (forRegistrar bool) {
	var out mad.Datagram
	var ok bool
	switch sa.WayOf(&d.Packet) {
	case sa.Recording:
		return true
	case sa.AsTable:
		if d.Packet.IsRMPP() {
			m.sa.tables.Receive(w.Fabric.Now(), d)
		} else {
			out, ok = m.sa.table(w.Fabric.Now(), d)
		}
	default:
		ok = m.sa.responder.Answer(d, &out, &m.sa.stats)
	}
	if ok {
		w.send(m, []mad.Datagram{out})
	}
	return false
}

// serve does the next thing that is due for the SA.
func (w *World) serve(m *Manager) {
	d, now := m.sa, w.Fabric.Now()
	switch {
	case len(d.forCore) > 0:
		ev := d.forCore[0]
		d.forCore = d.forCore[1:]
		w.step(m, ev)
	case len(d.events) > 0:
		ev := d.events[0]
		d.events = d.events[1:]
		w.register(m, ev)
	case len(d.written) > 0 && d.written[0].at <= now:
		seq := d.written[0].seq
		d.written = d.written[1:]
		w.register(m, sa.Durable{Seq: seq})
	default:
		d.tables.Expire(now, nil)
		w.send(m, d.tables.Drain(now, nil))
		w.register(m, sa.TimePassed{})
	}
}

// register gives the Registrar an event and does what comes of it.
func (w *World) register(m *Manager, ev sa.Event) {
	w.Steps++
	d, now := m.sa, w.Fabric.Now()
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
	for _, o := range do.Answered {
		o.To(o.Answer)
	}
	for _, g := range do.GUIDs {
		d.forCore = append(d.forCore, manager.WriteGUIDs{Block: g})
	}
	if do.Heard.Master != 0 {
		d.forCore = append(d.forCore, manager.MirrorHeard{Heard: do.Heard})
	}
	if do.OtherVersion.Manager != 0 {
		d.forCore = append(d.forCore, manager.OtherVersion{OtherVersion: do.OtherVersion})
	}
	if do.Reregister != nil {
		d.forCore = append(d.forCore, manager.Reregister{Ports: do.Reregister})
	}
	if do.Complete != 0 {
		d.forCore = append(d.forCore, manager.StandbyComplete{GUID: do.Complete})
	}
	w.send(m, do.Send)
}

// Registrar is the half of the manager's SA that changes what is registered; nil for a
// manager whose configuration has no groups.
func (m *Manager) Registrar() *sa.Registrar {
	if m.sa == nil {
		return nil
	}
	return m.sa.Registrar
}
