package fabric

import (
	"math"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
)

// Perf is what a node's agent of performance management can do.
type Perf struct {
	CapabilityMask  uint16
	CapabilityMask2 uint32
	Optional        []mad.AttrID // of pma.Arrays and PortExtendedSpeedsCounters, those that it answers
	// Defect is nil for a sound agent. It may also answer in the agent's place, for example
	// with a redirection.
	Defect Defect
}

// atGSA has the node's agent of performance management or congestion control answer a request
// that came in by port at, sent to dlid, and sends the answer.
func (f *Fabric) atGSA(at int32, dlid mad.LID, d *mad.Datagram) {
	n := f.nodeOf(at)
	if n.unresponsive {
		f.drop(DropUnresponsive, d)
		return
	}
	p := &d.Packet
	var status mad.Status
	var answers bool
	if p.MgmtClass() == mad.ClassCongestion {
		status, answers = f.congestionAgent(at, p)
	} else {
		status, answers = f.obeyPerf(n, p)
	}
	if !answers {
		f.drop(DropUnresponsive, d)
		return
	}
	p.SetMethod(mad.MethodGetResp)
	p.SetStatus(status)
	f.replyGSA(at, dlid, d, 0)
}

// replyGSA sends an answer of a general service from port at to the LID that its request came from, after a time.
func (f *Fabric) replyGSA(at int32, dlid mad.LID, d *mad.Datagram, after time.Duration) {
	from := f.mgmt(at)
	asker := d.LID
	d.LID = f.sourceLID(from, uint8(dlid))
	to, p, why := f.carry(from, nil, asker, d)
	if why != Delivered {
		f.drop(why, d)
		return
	}
	f.onWireAfter(after, evDeliver, to, p.indexOf(), d)
}

// obeyPerf does what a request asks for, as far as the agent is sound.
func (f *Fabric) obeyPerf(n *node, p *mad.Packet) (status mad.Status, answers bool) {
	defect := n.caps.Perf.Defect
	if defect == nil {
		return f.perf(n, p), true
	}
	q := *p // lest every packet be allocated for the defect's sake
	status, answers = defect(&q, func() mad.Status { return f.perf(n, &q) })
	*p = q
	return status, answers
}

// perf is the agent proper: it resets what a Set asks for, and fills in the attribute.
func (f *Fabric) perf(n *node, p *mad.Packet) mad.Status {
	set := p.Method() == mad.MethodSet
	attr, d := p.AttrID(), p.PerfData()
	array, isArray := pma.ArrayOf(attr)
	optional := isArray || attr == pma.AttrPortExtendedSpeedsCounters
	switch {
	case p.ClassVersion() != 1:
		return mad.StatusBadVersion
	case !set && p.Method() != mad.MethodGet:
		return mad.StatusBadMethod
	case optional && !slices.Contains(n.caps.Perf.Optional, attr),
		attr == pma.AttrPortCountersExtended && n.has64() == 0:
		return mad.StatusBadMethodAttr
	case p.AttrMod() != 0:
		return mad.StatusBadField
	case attr == pma.AttrClassPortInfo:
		return n.classPortInfo(set, d)
	}
	first, last, ok := n.selected(pma.SelectOf(d).PortSelect())
	switch {
	case attr == pma.AttrPortSamplesControl && !set:
		if !ok || first != last {
			return mad.StatusBadField
		}
		samplesControl((*pma.PortSamplesControl)(d[:]))
		return mad.StatusOK
	case attr != pma.AttrPortCounters && attr != pma.AttrPortCountersExtended && !optional:
		return mad.StatusBadMethodAttr
	case !ok:
		return mad.StatusBadField
	}
	for i := first; i <= last; i++ {
		f.accrue(i)
	}
	switch {
	case attr == pma.AttrPortCounters:
		f.portCounters(n, first, last, set, (*pma.PortCounters)(d[:]))
	case attr == pma.AttrPortCountersExtended:
		f.portCountersExtended(n, first, last, set, (*pma.PortCountersExtended)(d[:]))
	case isArray:
		f.arrayCounters(first, last, set, array, d)
	default:
		clear(d[16:]) // lanes have no errors of their own
	}
	return mad.StatusOK
}

// selected are the ports that a PortSelect means: port 0 of a switch has no cable, and is not
// among all ports.
func (n *node) selected(port uint8) (first, last int32, ok bool) {
	switch {
	case port == pma.AllPorts && n.caps.Perf.CapabilityMask&pma.AllPortSelect != 0:
		return n.first + 1, n.first + int32(n.numPorts), true
	case port > n.numPorts || port == 0 && n.sw == nil:
		return 0, 0, false
	}
	return n.first + int32(port), n.first + int32(port), true
}

func (n *node) classPortInfo(set bool, d *[mad.PerfDataSize]byte) mad.Status {
	if set {
		return mad.StatusBadMethodAttr
	}
	clear(d[:])
	c := (*pma.ClassPortInfo)(d[:])
	c.SetBaseVersion(1)
	c.SetClassVersion(1)
	c.SetCapabilityMask(n.caps.Perf.CapabilityMask)
	c.SetCapabilityMask2(n.caps.Perf.CapabilityMask2)
	c.SetRespTimeValue(n.caps.RespTimeValue)
	return mad.StatusOK
}

// has64 is the set of counters in the node's PortCountersExtended.
func (n *node) has64() pma.Counters {
	return pma.Has64(n.caps.Perf.CapabilityMask, n.caps.Perf.CapabilityMask2)
}

// samplesControl is that of a port where nothing is sampled, and cannot be.
func samplesControl(c *pma.PortSamplesControl) {
	port := c.PortSelect()
	*c = pma.PortSamplesControl{}
	c.SetPortSelect(port)
	c.SetSampleStatus(pma.SampleDone)
}

// portCounters resets and reads the counters of 32 bits and fewer. A sum of ports stays at the
// largest value, too.
func (f *Fabric) portCounters(n *node, first, last int32, set bool, p *pma.PortCounters) {
	var sum [pma.NumCounters]uint64
	chosen, has := p.CounterSelect(), pma.HasShort(n.caps.Perf.CapabilityMask)
	for i := first; i <= last; i++ {
		for c := range has.All {
			value := f.counted(i, c)
			if set && chosen.Has(c) {
				f.resetsOf(i).short[c] = value
			}
			if r := f.counts[i]; r != nil && r.resets != nil {
				value -= r.resets.short[c]
			}
			sum[c] += min(value, pma.MaxShort(c))
		}
	}
	clear(p[4:]) // PortSelect and CounterSelect stay
	p.Select(chosen)
	for c := range has.All {
		p.SetCounter(c, sum[c])
	}
}

// portCountersExtended does so for counters of 64 bits.
func (f *Fabric) portCountersExtended(n *node, first, last int32, set bool, p *pma.PortCountersExtended) {
	var sum [pma.NumCounters]uint64
	chosen, has := p.CounterSelect(), n.has64()
	for i := first; i <= last; i++ {
		for c := range has.All {
			value := f.counted(i, c)
			if set && chosen.Has(c) {
				f.resetsOf(i).extended[c] = value
			}
			if r := f.counts[i]; r != nil && r.resets != nil {
				value -= r.resets.extended[c]
			}
			sum[c] += min(value, math.MaxUint64-sum[c])
		}
	}
	clear(p[8:])
	for c := range has.All {
		p.SetCounter(c, sum[c])
	}
}

// arrayCounters does so for counters of one width.
func (f *Fabric) arrayCounters(first, last int32, set bool, a *pma.Array, d *[mad.PerfDataSize]byte) {
	index, chosen := arrayIndex(a.Attr), pma.SelectOf(d).CounterSelect()
	var sum [16]uint64
	for i := first; i <= last; i++ {
		for x := range a.Len {
			value := f.countedDetail(i, index, x)
			if set && chosen>>x&1 != 0 {
				f.resetsOf(i).arrays[index][x] = value
			}
			if r := f.counts[i]; r != nil && r.resets != nil {
				value -= r.resets.arrays[index][x]
			}
			sum[x] += min(value, a.Max())
		}
	}
	clear(d[4:])
	for x := range a.Len {
		a.SetCounter(d, x, sum[x])
	}
}
