package baddays

import (
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// AskEvery is the time between two requests of an Asker.
const AskEvery = 10 * time.Millisecond

// Asker is a host that asks the SA for the path to another host all the time, each request once. It belongs to whoever
// owns the fabric.
type Asker struct {
	f        *fabric.Fabric
	at, to   net.End
	station  *fabric.Station
	requests []request     // by transaction ID - 1
	answered time.Duration // when it was last answered
	longest  time.Duration
	took     []time.Duration
}

type request struct {
	sent     time.Duration
	answered bool
}

// NewAsker places an Asker at a port.
func NewAsker(f *fabric.Fabric, at, to net.End) (*Asker, error) {
	a := &Asker{f: f, at: at, to: to, answered: f.Now()}
	var err error
	if a.station, err = f.Attach(at); err != nil {
		return nil, err
	}
	a.station.OnReceive(a.received)
	return a, nil
}

// Step asks if it is time to. Call it often.
func (a *Asker) Step() {
	if n := len(a.requests); n == 0 || a.f.Now() >= a.requests[n-1].sent+AskEvery {
		a.ask()
	}
}

func (a *Asker) ask() {
	a.requests = append(a.requests, request{sent: a.f.Now()})
	info := a.f.PortInfo(a.at)
	d := mad.Datagram{Addr: mad.Addr{LID: info.MasterSMLID(), QPN: 1, SL: info.MasterSMSL()}}
	p := &d.Packet
	p.SetHeader(mad.ClassSA, mad.MethodGet, sarec.AttrPathRecord, 0)
	p.SetComponentMask(sarec.PathSGID | sarec.PathDGID | sarec.PathNumbPath)
	p.SetTID(mad.TID(len(a.requests)))
	rec := (*sarec.PathRecord)(p.SAData()[:64])
	rec.SetSGID(mad.MakeGID(info.GidPrefix(), a.f.PortGUID(a.at)))
	rec.SetDGID(mad.MakeGID(info.GidPrefix(), a.f.PortGUID(a.to)))
	rec.SetNumbPath(1)
	a.station.Send([]mad.Datagram{d})
}

// received takes an answer.
func (a *Asker) received(d mad.Datagram) {
	i := int(uint32(d.Packet.TID())) - 1
	if d.Packet.MgmtClass() != mad.ClassSA || d.Packet.Method() != mad.MethodGetResp ||
		d.Packet.Status() != mad.StatusOK || i < 0 || i >= len(a.requests) || a.requests[i].answered {
		return
	}
	now := a.f.Now()
	a.longest = max(a.longest, now-a.answered)
	a.answered = now
	a.took = append(a.took, now-a.requests[i].sent)
	a.requests[i].answered = true
}

// Close takes it away from its port.
func (a *Asker) Close() { a.station.Detach() }

// Longest is the longest time without an answer, until now.
func (a *Asker) Longest() time.Duration { return max(a.longest, a.f.Now()-a.answered) }

// IsAnswered reports whether one of the last few requests was answered.
func (a *Asker) IsAnswered() bool { return a.f.Now()-a.answered < 10*AskEvery }

// Asked is the number of requests.
func (a *Asker) Asked() int { return len(a.requests) }

// Answered is the number of answers.
func (a *Asker) Answered() int { return len(a.took) }

// Quantile is the time that a share of the answers took at most, 0 where there are none.
func (a *Asker) Quantile(share float64) time.Duration {
	if len(a.took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(a.took))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}
