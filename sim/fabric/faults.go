package fabric

import (
	"time"

	"ibsm/mad"
)

// Faults are what happens at random to each packet on each of its ways, request
// and reply apart. Rates are probabilities, 0 to 1.
type Faults struct {
	Loss      float64
	SMPLoss   float64 // of SMPs, besides Loss, but for those to the agent of the sender's own port
	Duplicate float64
	Reorder   float64       // takes ReorderBy longer than others
	ReorderBy time.Duration // 0: ten times Latency
	Jitter    time.Duration // up to so much longer than Latency
}

// SetFaults changes the random faults from now on.
func (f *Fabric) SetFaults(x Faults) { f.cfg.Faults = x }

// SetLatency changes the time from one end of a path to the other. What is on its
// way keeps the old one.
func (f *Fabric) SetLatency(d time.Duration) { f.cfg.Latency = d }

// SetTrainTime changes the time from a cable being in order to the port's Initialize.
func (f *Fabric) SetTrainTime(d time.Duration) { f.cfg.TrainTime = d }

// SetLoss has a station lose packets on the cable of its port from now on, at random in each
// direction, besides what Faults lose. rate is a probability, 0 to 1. What the station asks the
// agent of its own port does not go over the cable, and is not lost.
func (s *Station) SetLoss(rate float64) { s.loss = rate }

// losesOnCable reports whether a packet is lost on the cable of the station at a port.
func (f *Fabric) losesOnCable(port int32, d *mad.Datagram) bool {
	s := f.ports[port].station
	return s != nil && !stays(d) && f.chance(s.loss)
}

// stays reports whether a packet goes over no cable.
func stays(d *mad.Datagram) bool {
	return d.Packet.MgmtClass() == mad.ClassDirected && d.Packet.HopCount() == 0
}

// Faults are the random faults in force, and the latency.
func (f *Fabric) Faults() (Faults, time.Duration) { return f.cfg.Faults, f.cfg.Latency }

func (f *Fabric) chance(rate float64) bool { return rate > 0 && f.random.Float64() < rate }

// onWire lets a packet happen at port after its way over the fabric, or lose it.
// d is used up.
func (f *Fabric) onWire(kind eventKind, port int32, d *mad.Datagram) {
	f.onWireAfter(0, kind, port, 0, d)
}

// onWireAfter is onWire for a packet of a vPort of port that begins its way after a time.
func (f *Fabric) onWireAfter(after time.Duration, kind eventKind, port int32, vPort uint16, d *mad.Datagram) {
	x := &f.cfg.Faults
	if f.chance(x.Loss) || f.losesOnCable(port, d) || d.QP() == 0 && !stays(d) && f.chance(x.SMPLoss) {
		f.drop(DropLoss, d)
		return
	}
	if f.chance(x.Duplicate) {
		e := f.queue.push(f.now + after + f.delay())
		e.kind, e.port, e.serial, e.d = kind, port, uint64(vPort), *d
	}
	if delay := after + f.delay(); delay > 0 {
		e := f.queue.push(f.now + delay)
		e.kind, e.port, e.serial, e.d = kind, port, uint64(vPort), *d
		return
	}
	f.happen(kind, port, uint64(vPort), d)
}

func (f *Fabric) delay() time.Duration {
	x := &f.cfg.Faults
	d := f.cfg.Latency
	if x.Jitter > 0 {
		d += time.Duration(f.random.Int64N(int64(x.Jitter)))
	}
	if f.chance(x.Reorder) {
		by := x.ReorderBy
		if by == 0 {
			by = 10 * f.cfg.Latency
		}
		d += by
	}
	return d
}
