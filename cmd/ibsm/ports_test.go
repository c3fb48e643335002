package main_test

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/fabric"
	"ibsm/mad/fabric/net"
	"ibsm/mad/smp"
)

// What settings make of ports is the same under OpenSM and under ibsm.

// bothManagers are started on fabrics that are alike, with one configuration.
var bothManagers = []struct {
	name string
	argv func(t *testing.T) []string
}{
	{"opensm", func(*testing.T) []string { return []string{"ibsim-run", "opensm"} }},
	{"ibsm", func(t *testing.T) []string { return []string{program(t, "ibsm"), "--ibsim"} }},
}

// smInfo asks the port where managers can be for its SMInfo, from the first client, which
// is at the same switch.
func (w *twin) smInfo() (info smp.SMInfo) {
	w.t.Helper()
	w.server.Do(func(f *fabric.Fabric) {
		at, _ := f.FindNode(w.hosts[0])
		route := mad.MakeRoute(w.ends[0].Port, f.Peer(at).Port)
		var d mad.Datagram
		d.LID = mad.PermissiveLID
		d.Packet.SetDirected(&route, mad.MethodGet, smp.AttrSMInfo, 0)
		w.tid++
		w.marker = w.tid
		d.Packet.SetTID(w.tid)
		w.clients[0].Send([]mad.Datagram{d})
	})
	return *w.await().Data()
}

// A manager that starts NOT-ACTIVE says so in its log, and writes nothing. What it answers
// is not to be compared: OpenSM does not before it has swept, and cannot be woken.
func TestInactiveAlike(t *testing.T) {
	for _, m := range bothManagers {
		n, err := net.Generate("fattree:k=4")
		if err != nil {
			t.Fatal(err)
		}
		w := newTwin(t, n)
		w.manager = w.start(w.hosts[0], append(m.argv(t), "-I", "-p", "7", "-f", "stdout", "-s", "1")...)
		w.manager.await("Entering NOTACTIVE state")
		if m.name == "ibsm" {
			if said := w.smInfo(); said.SMState() != smp.NotActive || said.Priority() != 7 {
				t.Errorf("it is %v of priority %d", said.SMState(), said.Priority())
			}
		}
		w.server.Do(func(f *fabric.Fabric) {
			for k, count := range f.Stats().SMPs {
				if k.Method == mad.MethodSet {
					t.Errorf("%s: %d of %+v", m.name, count, k)
				}
			}
		})
	}
}
