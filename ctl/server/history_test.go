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
		if diff.From != first || diff.To != v.Gen || diff.Changes[0].What != "node" ||
			diff.Changes[0].Name != host.Desc || diff.Changes[0].To != "" {
			t.Errorf("%+v", diff)
		}
		if again, err := d.Diff(first, 0); err != nil || len(again.Changes) != len(diff.Changes) ||
			again.Entries != diff.Entries {
			t.Errorf("since generation %d: %+v, %v", first, again, err)
		}
		if _, err := d.Diff(first, v.Gen+1); !errors.Is(err, ctl.ErrNotFound) {
			t.Errorf("a generation to come: %v", err)
		}

		s := newSubnet(v, nil)
		s.past = d.past
		if g := ctltest.Diagnose(t, s, host.Desc, ""); g.State != "absent" || g.Port.Desc != host.Desc ||
			!ctltest.HasReason(g, "absent", fmt.Sprintf("last linked to %s port %d", n.Nodes[end.Node].Desc,
				end.Port)) || !ctltest.HasReason(g, "absent", "is reserved for it") {
			t.Errorf("%+v", g)
		}
		gone := rows[ctl.Node](t, s, ctl.Nodes, ctl.Filter{Absent: true})
		if last := gone[len(gone)-1]; len(gone) != len(rows[ctl.Node](t, s, ctl.Nodes, ctl.Filter{}))+1 ||
			last.Desc != host.Desc || last.Absent == nil || last.LID != lid {
			t.Errorf("the last of %d nodes is %+v", len(gone), last)
		}
		lost := rows[ctl.Link](t, s, ctl.Links, ctl.Filter{Absent: true})
		if l := lost[len(lost)-1]; l.State != ctl.Absent || l.From.Desc != n.Nodes[end.Node].Desc ||
			l.From.Port != uint8(end.Port) || l.To.Desc != host.Desc || l.To.Port != 1 {
			t.Errorf("the last of %d links is %+v", len(lost), l)
		}
		all, err := s.Diagnose("", "")
		if err != nil {
			t.Fatal(err)
		}
		for g := range all {
			if g.State != "absent" || g.Port.Desc != host.Desc {
				t.Errorf("the first diagnosis is %+v", g)
			}
			break
		}
		if g := ctltest.Diagnose(t, s, leaf, ""); !ctltest.HasReason(g, "absent neighbour",
			fmt.Sprintf("%q, at the other end of the cable, has been absent since", host.Desc)) {
			t.Errorf("%s: %+v", leaf, g)
		}
	})
}
