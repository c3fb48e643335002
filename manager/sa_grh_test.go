package manager

import (
	"testing"
	"testing/synctest"
	"time"

	"ibsm/congestioncontrol"
	"ibsm/mad"
	"ibsm/mad/cc"
	"ibsm/mad/sarec"
	"ibsm/mad/txn"
	"ibsm/perf"
	"ibsm/registry"
)

// toAgents are the requests of a class that have been sent since, by LID: how many with a GRH, and how many without.
func (c *clients) toAgents(class mad.Class, to mad.LID, want mad.GRH) (with, without int) {
	c.t.Helper()
	for {
		select {
		case d := <-c.fromSA:
			switch {
			case d.Packet.MgmtClass() != class:
			case d.LID == to && d.GRH == want:
				with++
			case d.GRH.Present:
				c.t.Errorf("%v to LID %d with %+v", class, d.LID, d.GRH)
			case d.LID == to:
				without++
			}
		default:
			return with, without
		}
	}
}

// TestGRHToAgents: requests for counters and of congestion control have a GRH to a port that demands one, as soon as
// it has asked the SA anything, to no other port, and also when this manager is not master any more.
func TestGRHToAgents(t *testing.T) {
	cfg := Config{Queries: txn.Config{Timeout: time.Second, MaxWindow: 100},
		Counters:   perf.Settings{Interval: time.Minute, Window: 100, Keep: time.Hour},
		Congestion: congestioncontrol.Settings{Enabled: true, Window: 100, Table: make([]cc.Entry, 3)}}
	serveIn(t, cfg, servedView(), func(c *clients) {
		p := c.v.Topo.EndPorts[3]
		guid, lid := c.v.Topo.Ports[p].GUID, c.v.LIDs.Base[p]
		grh := mad.GRH{Present: true, GID: mad.MakeGID(mad.DefaultPrefix, guid), HopLimit: 2}
		pass := func() {
			for range 70 {
				time.Sleep(time.Second)
				synctest.Wait()
			}
		}
		pass()
		if with, without := c.toAgents(mad.ClassPerf, lid, grh); with > 0 || without == 0 {
			t.Errorf("before the port has asked anything: %d with a GRH, %d without", with, without)
		}
		d := mad.Datagram{Addr: mad.Addr{LID: lid, QPN: 1, GRH: mad.GRH{Present: true, HopLimit: 64}}}
		d.Packet.SetHeader(mad.ClassSA, mad.MethodGet, sarec.AttrClassPortInfo, 0)
		c.ask(d)
		if got := c.registrar.state.Load(); !got.DemandsGRH(guid) || got.Counts().GRHPorts != 1 {
			t.Fatalf("%+v are registered", got.Counts())
		}
		c.congested.Forget()
		c.congested.Follow(c.v)
		pass()
		if with, without := c.toAgents(mad.ClassCongestion, lid, grh); with == 0 || without > 0 {
			t.Errorf("congestion control: %d with a GRH, %d without", with, without)
		}
		for _, master := range []bool{true, false} {
			if !master {
				c.publish(nil)
			}
			pass()
			if with, without := c.toAgents(mad.ClassPerf, lid, grh); with == 0 || without > 0 {
				t.Errorf("counters, master %t: %d with a GRH, %d without", master, with, without)
			}
		}
		other := registry.New()
		c.shell.sa.setRegistry(other.Freeze())
		pass()
		if with, without := c.toAgents(mad.ClassPerf, lid, grh); with > 0 || without == 0 {
			t.Errorf("of a registry without the port: %d with a GRH, %d without", with, without)
		}
	})
}
