package server

import (
	"context"
	"errors"
	"testing"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/topo"
)

// TestQuality: flows between all hosts, and within a partition only those of its members. In a whole tree that OpenSM's
// min-hop routes by the lowest port, the hosts of one leaf meet nobody; those of two leaves share the links of a leaf.
func TestQuality(t *testing.T) {
	v := newView(t, "fattree:k=4")
	leaf := topo.SwitchIdx(topo.None)
	inLeaf := 0
	for _, p := range v.Topo.EndPorts {
		if v.Topo.Nodes[v.Topo.Ports[p].Node].Type == mad.Switch {
			continue
		}
		keys := []mad.PKey{0xffff, 0x7fff}
		if s := v.Topo.SwitchOf(p); leaf == topo.None || s == leaf {
			leaf, keys = s, append(keys, 0x8005, 0x0005)
			inLeaf++
		}
		v.Topo.Ports[p].PKeys = topo.NewPKeyTable(keys)
	}
	q, err := newSubnet(v, nil).Quality(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if q.Links != 64 || q.Fullest == 0 || q.All.Hosts != 16 || q.All.Shifts != 15 || q.All.Worst < 1 ||
		q.All.Bisection <= 0 || q.All.Bisection > 1 {
		t.Errorf("%+v", q)
	}
	want := ctl.PartitionQuality{PKey: "0x0005", Pattern: ctl.Pattern{Hosts: inLeaf, Shifts: inLeaf - 1, Bisection: 1}}
	if len(q.Partitions) != 2 || q.Partitions[0] != want || q.Partitions[1].Pattern != q.All ||
		q.Partitions[1].PKey != "0x7fff" {
		t.Errorf("%+v", q.Partitions)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newSubnet(v, nil).Quality(done); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
