package main

import (
	"context"
	"fmt"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// measureFlood measures the latency of path queries alone, beside a host that sends many more to another host, and
// beside one that sends them to the manager. The difference of the last two is the manager's work, and that of
// handing it the packets: otherwise the simulated fabric carries the same.
func (b *benchSA) measureFlood(ctx context.Context, l *load, flood *flooder) error {
	var manager, host mad.LID
	var err error
	l.place.server.Do(func(*fabric.Fabric) { manager, host, err = flood.attach() })
	if err != nil {
		return err
	}
	for _, part := range []struct {
		to   string
		lid  mad.LID
		rate int
	}{{"", 0, 0}, {" to another host", host, b.flood}, {" to the manager", manager, b.flood}} {
		if err := l.finish(ctx); err != nil {
			return err
		}
		l.take()
		flood.sent = 0
		asked := 0
		began := time.Now()
		err := l.last(ctx, b.lasts, func() {
			n := due(began, b.rate) - asked
			l.crowd.Ask(n)
			asked += n
			flood.send(part.lid, due(began, part.rate)-flood.sent)
		})
		l.show(b.out, fmt.Sprintf("latency at %d/s, flood of %.0f/s%s", b.rate,
			float64(flood.sent)/time.Since(began).Seconds(), part.to))
		if err != nil {
			return err
		}
	}
	return nil
}

// flooder is a host that asks for the same path again and again, and needs no answer.
type flooder struct {
	f       *fabric.Fabric
	at, to  net.End // where it is, and the other end of the path
	station *fabric.Station
	ask     []mad.Datagram
	sent    int
}

// attach places it in the fabric, and returns the LIDs of the manager and of the other end.
func (l *flooder) attach() (manager, other mad.LID, err error) {
	if l.station, err = l.f.Attach(l.at); err != nil {
		return 0, 0, err
	}
	l.station.OnReceive(func(mad.Datagram) {})
	info, to := l.f.PortInfo(l.at), l.f.PortInfo(l.to)
	l.ask = []mad.Datagram{{Addr: mad.Addr{QPN: 1, SL: info.MasterSMSL()}}}
	p := &l.ask[0].Packet
	p.SetHeader(mad.ClassSA, mad.MethodGet, sarec.AttrPathRecord, 0)
	rec := (*sarec.PathRecord)(p.SAData()[:64])
	rec.SetSGID(mad.MakeGID(info.GidPrefix(), l.f.PortGUID(l.at)))
	rec.SetDGID(mad.MakeGID(to.GidPrefix(), l.f.PortGUID(l.to)))
	rec.SetNumbPath(1)
	p.SetComponentMask(sarec.PathSGID | sarec.PathDGID | sarec.PathNumbPath)
	return info.MasterSMLID(), to.LID(), nil
}

// send sends n more requests, each of a transaction of its own.
func (l *flooder) send(to mad.LID, n int) {
	l.ask[0].Addr.LID = to
	for range n {
		l.sent++
		l.ask[0].Packet.SetTID(mad.TID(l.sent))
		l.station.Send(l.ask)
	}
}
