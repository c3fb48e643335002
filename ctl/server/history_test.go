package server

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"ibsm/ctl"
	"ibsm/ctl/ctltest"
	"ibsm/topo/net"
	"ibsm/view"
	"ibsm/view/viewtest"
)

// viewOf is the view of a fabric that was just powered on.
func viewOf(t *testing.T, n *net.Net, gen uint64) *view.View {
	t.Helper()
	v := viewtest.Of(t, n, 0)
	v.Gen = gen
	return v
}

// TestHistory follows a host that is unplugged from the publication of the views to what
// is reported it.
func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d := New(Config{})
		go d.Run(ctx)
		if _, err := d.Diff(0, 0); !errors.Is(err, ctl.ErrNotNow) {
			t.Errorf("before the first view: %v", err)
		}
		n := generate(t, "fattree:k=4")
		v := viewOf(t, n, 1)
		d.Published(v)
		synctest.Wait()
		if all := d.Generations(); len(all) != 1 || !all[0].First || len(all[0].Counts) != 0 {
			t.Errorf("after the first view: %+v", all)
		}
		if _, err := d.Diff(0, 0); !errors.Is(err, ctl.ErrNotFound) {
			t.Errorf("after the first view: %v", err)
		}
		host := &n.Nodes[len(n.Nodes)-1] // which has the last LID
		end, port := host.Ports[1].Peer, v.Topo.FindPort(host.Ports[1].GUID)
		leaf := fmt.Sprintf("%s:%d", n.Nodes[end.Node].Desc, end.Port)
		n.Nodes[end.Node].Ports[end.Port].Peer, host.Ports[1].Peer = net.NoEnd, net.NoEnd
		first, lid := v.Gen, v.LIDs.Base[port]
		v = viewOf(t, n, first+1)
		v.Absent = []view.Absent{{Port: host.Ports[1].GUID, Base: lid}}
		d.Published(v)
		synctest.Wait()
		diff, err := d.Diff(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff.From != first || diff.To != v.Gen || diff.Changes[0].What != "node" || diff.Changes[0].Name != host.Desc || diff.Changes[0].To != "" {
			t.Errorf("%+v", diff)
		}
		if again, err := d.Diff(first, 0); err != nil || len(again.Changes) != len(diff.Changes) || again.Entries != diff.Entries {
			t.Errorf("since generation %d: %+v, %v", first, again, err)
		}
		if _, err := d.Diff(first, v.Gen+1); !errors.Is(err, ctl.ErrNotFound) {
			t.Errorf("a generation to come: %v", err)
		}

		s := newSubnet(v, nil)
		s.past = d.past
		if g := ctltest.Diagnose(t, s, host.Desc, ""); g.State != "absent" || g.Port.Desc != host.Desc || !ctltest.HasReason(g, "absent", fmt.Sprintf("last linked to %s port %d", n.Nodes[end.Node].Desc, end.Port)) || !ctltest.HasReason(g, "absent", "is reserved for it") {
			t.Errorf("%+v", g)
		}
		if g := ctltest.Diagnose(t, s, leaf, ""); !ctltest.HasReason(g, "link lost", "it was linked to "+host.Desc+" port 1 until") {
			t.Errorf("%s: %+v", leaf, g)
		}
	})
}
