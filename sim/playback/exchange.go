package playback

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/capture"
	"ibsm/mad/pma"
	"ibsm/mad/smp"
)

// exchange is a request of the manager, and what came back.
type exchange struct {
	request  *capture.Record
	response *mad.Packet // nil for none
	after    time.Duration
}

// isSet reports whether the request was a Set.
func (e *exchange) isSet() bool { return e.request.Packet.Method() == mad.MethodSet }

// succeeded reports whether the response says that the request was obeyed.
func (e *exchange) succeeded() bool { return e.response != nil && e.response.Status() == mad.StatusOK }

// transaction distinguishes requests under way. Only the lower half of a transaction ID is the manager's.
type transaction struct {
	class mad.Class
	tid   uint32
}

func transactionOf(p *mad.Packet) transaction { return transaction{p.MgmtClass(), uint32(p.TID())} }

// exchangesOf pairs requests with responses. It leaves out requests of which the recording does not show whether they
// were answered.
func exchangesOf(f *capture.File) []exchange {
	var all []exchange
	open, early := map[transaction]int{}, map[transaction]*mad.Packet{}
	for i := range f.Records {
		r := &f.Records[i]
		p := &r.Packet
		switch m := p.Method(); {
		case r.Sent && (m == mad.MethodGet || m == mad.MethodSet):
			t := transactionOf(p)
			all = append(all, exchange{request: r, response: early[t]})
			if open[t] = len(all) - 1; early[t] != nil {
				delete(open, t)
				delete(early, t)
			}
		case !r.Sent && m == mad.MethodGetResp:
			if e, is := open[transactionOf(p)]; is {
				all[e].response, all[e].after = p, r.At-all[e].request.At
				delete(open, transactionOf(p))
			} else {
				early[transactionOf(p)] = p // or a second response, whose transaction does not come again soon
			}
		}
	}
	kept := all[:0]
	for _, e := range all {
		if e.response != nil || f.Ended-e.request.At >= capture.Tail {
			kept = append(kept, e)
		}
	}
	return kept
}

// key is an attribute of a device. A response may depend on the port that a request came in by: that of NodeInfo
// does, and all those of end nodes.
type key struct {
	class mad.Class // ClassDirected stands for both of subnet management
	attr  mad.AttrID
	mod   uint32
	port  uint8 // that it came in by, or is about
}

func keyOf(p *mad.Packet, isSwitch bool, in uint8) key {
	k := key{class: p.MgmtClass(), attr: p.AttrID(), mod: p.AttrMod()}
	switch {
	case k.class.IsSubnet():
		k.class = mad.ClassDirected
		if k.attr == smp.AttrNodeInfo || !isSwitch {
			k.port = in
		}
	case k.class == mad.ClassPerf:
		k.port = pma.SelectOf(p.PerfData()).PortSelect()
	}
	return k
}
