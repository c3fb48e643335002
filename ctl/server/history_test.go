package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/ctl"
	"ibsm/topo/net"
)

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
		f := bringUp(t, n, nil)
		d.Published(f.m.View)
		synctest.Wait()
		if all := d.Generations(); len(all) != 1 || !all[0].First || len(all[0].Counts) != 0 {
			t.Errorf("after the first view: %+v", all)
		}
		if _, err := d.Diff(0, 0); !errors.Is(err, ctl.ErrNotFound) {
			t.Errorf("after the first view: %v", err)
		}
		host, first := hosts(n)[5], f.m.View.Gen
		leaf := f.leaf(host)
		f.Fabric.Unplug(net.End{Node: host, Port: 1})
		f.pass(time.Minute)
		d.Published(f.m.View)
		synctest.Wait()
		diff, err := d.Diff(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff.From != first || diff.To != f.m.View.Gen || diff.Changes[0].What != "node" || diff.Changes[0].Name != f.desc(host) || diff.Changes[0].To != "" {
			t.Errorf("%+v", diff)
		}
		if again, err := d.Diff(first, 0); err != nil || len(again.Changes) != len(diff.Changes) || again.Entries != diff.Entries {
			t.Errorf("since generation %d: %+v, %v", first, again, err)
		}
		if _, err := d.Diff(first, f.m.View.Gen+1); !errors.Is(err, ctl.ErrNotFound) {
			t.Errorf("a generation to come: %v", err)
		}

		s := newSubnet(f.m.View, nil)
		s.past = d.past
		if g := diagnose(t, s, f.desc(host), ""); g.State != "absent" || g.Port.Desc != f.desc(host) || !has(g, "absent", "last linked to leaf-03 port 2") || !has(g, "absent", "is reserved for it") {
			t.Errorf("%+v", g)
		}
		if g := diagnose(t, s, leaf, ""); !has(g, "link lost", "it was linked to "+f.desc(host)+" port 1 until") {
			t.Errorf("%s: %+v", leaf, g)
		}
	})
}
