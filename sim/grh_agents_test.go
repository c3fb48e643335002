package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/cc"
	"ibsm/mad/pma"
	"ibsm/sa"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// TestGRHAgents: agents of a port that demands a GRH drop requests for counters and of congestion control without
// one, as adapters do, and answer those to which the SA adds one, with a GRH.
func TestGRHAgents(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.add(host(n, 0), registrarConfig())
	b.pass(settling)
	at := host(n, 5)
	b.joinWithGRH(5)
	responder := sa.New(m.View, m.Registrar().State())
	st, err := b.Fabric.Attach(host(n, 3))
	if err != nil {
		t.Fatal(err)
	}
	var came []mad.Datagram
	st.OnReceive(func(d mad.Datagram) { came = append(came, d) })
	pi := b.Fabric.PortInfo(at)
	for _, c := range []struct {
		class mad.Class
		attr  mad.AttrID
	}{{mad.ClassPerf, pma.AttrClassPortInfo}, {mad.ClassCongestion, cc.AttrClassPortInfo}} {
		d := mad.Datagram{Addr: mad.Addr{LID: pi.LID(), QPN: 1}}
		d.Packet.SetHeader(c.class, mad.MethodGet, c.attr, 0)
		d.Packet.SetTID(5)
		drops := b.Fabric.Stats().Drops[fabric.DropGRH]
		came = nil
		st.Send([]mad.Datagram{d})
		b.pass(time.Second)
		if got := b.Fabric.Stats().Drops[fabric.DropGRH] - drops; len(came) != 0 || got != 1 {
			t.Errorf("%v without a GRH: %d answers, %d dropped", c.class, len(came), got)
		}
		ds := []mad.Datagram{d}
		responder.AddGRH(ds)
		st.Send(ds)
		b.pass(time.Second)
		if len(came) != 1 || came[0].Packet.Status() != mad.StatusOK || !came[0].GRH.Present ||
			came[0].GRH.GID.GUID() != b.Fabric.PortGUID(at) {
			t.Errorf("%v with a GRH: %+v", c.class, came)
		}
	}
}
