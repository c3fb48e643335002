package sa

import (
	"ibsm/mad"
	"ibsm/registry"
	"ibsm/sa/mirror"
	"ibsm/topo"
)

// asClient takes what the SA of a master of another kind sends us, its client.
func (r *Registrar) asClient(d *mad.Datagram) {
	m := &r.mirrored
	if d.TimedOut || d.Packet.IsResponse() {
		if x, ended := m.reader.Receive(r.now, d); ended {
			r.read(x)
		}
		return
	}
	ack, known, ok := m.reader.Report(r.now, d)
	if !ok {
		r.stats.Drop(DropNotMaster)
		return
	}
	r.effects.Send = append(r.effects.Send, ack)
	if !known {
		r.effects.Heard = Heard{Master: m.reader.Stats().Master, Less: true}
	}
}

// read does as the master has done that was read.
func (r *Registrar) read(x *mirror.Reading) {
	was := r.reg.Freeze()
	reg := x.Registry(was, r.wall())
	if !r.applyRemote(was.ChangesTo(&reg.State)) {
		return
	}
	if x.HasSubscribers() {
		r.mirrored.subscribers = x.Subscribers
	}
	h := Heard{Master: x.Master, Incomplete: x.Incomplete, Some: x.Some(), Less: !x.Unanswered}
	if x.Incomplete == "" && !x.Overtaken {
		h.Known = x.Began
	}
	r.effects.Heard = h
}

// address registers the subscribers that were read: where they are is known now. By which
// P_Key they subscribed is not shown; all that reach the SA are in the default partition.
func (r *Registrar) address() {
	for _, key := range r.mirrored.subscribers {
		key.Filter = r.filter(key.Filter)
		p := r.portOf(key.Subscriber.GUID())
		if p == topo.None || !r.onSubnet(key.Subscriber) {
			continue
		}
		r.apply(registry.PutSubscription{Subscription: registry.Subscription{
			SubscriptionKey: key,
			Destination: registry.Destination{Addr: r.reaching(p, key.Subscriber, mad.Addr{QPN: key.QPN}),
				PKey: mad.DefaultPKey},
		}})
	}
	r.mirrored.subscribers = nil
}
