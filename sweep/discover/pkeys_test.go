package discover

import (
	"slices"
	"testing"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sim/fabric"
	"ibsm/sweep/device"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// write puts keys into a port's table as a manager would.
func (w *walker) write(route mad.Route, mod uint32, keys ...mad.PKey) {
	w.t.Helper()
	var block smp.PKeyTable
	for i, k := range keys {
		block.SetPKey(i, k)
	}
	o := w.ask(&txn.Request{Method: mad.MethodSet, Attr: smp.AttrPKeyTable, Mod: mod, Route: route, Data: block})
	if o.Result != txn.Replied || o.Status != mad.StatusOK {
		w.t.Fatalf("Set(P_KeyTable): %v, %v", o.Result, o.Status)
	}
}

// inUse makes every link ACTIVE, in the fabric's answers and in what a walk found.
func (w *walker) inUse(t *topo.Topo) {
	for i := range t.Ports {
		if t.Ports[i].Peer != topo.None {
			t.Ports[i].Info.SetPortState(smp.PortActive)
		}
	}
	w.meddle = func(req *txn.Request, o *txn.Outcome) {
		if info := (*smp.PortInfo)(&o.Data); req.Attr == smp.AttrPortInfo && info.PortState() > smp.PortDown {
			info.SetPortState(smp.PortActive)
		}
	}
}

// known is a record by which all switches hold their tables, as they say from now on.
func (w *walker) known(t *topo.Topo) *device.Record {
	const top = 9
	meddle := w.meddle
	w.meddle = func(req *txn.Request, o *txn.Outcome) {
		if meddle != nil {
			meddle(req, o)
		}
		if req.Attr == smp.AttrSwitchInfo {
			(*smp.SwitchInfo)(&o.Data).SetLinearFDBTop(top)
		}
	}
	r := &device.Record{}
	for _, n := range t.Switches {
		t.Nodes[n].SwitchInfo.SetLinearFDBTop(top)
		r.Switches = append(r.Switches,
			device.Switch{GUID: t.Nodes[n].GUID, LFT: device.Read(make([]byte, device.BlockSize), nil), Top: top,
				Up: device.PortsUp(t, n)})
	}
	return r
}

func TestPKeys(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	w := newWalker(t, n, firstHost(n), fabric.Config{Caps: func(_ int32, _ *net.Node, c *fabric.Caps) {
		c.PartitionEnforcementCap = 64
	}})
	first := w.walk(New(Config{})).Builder.Freeze()
	host := first.EndPorts[slices.IndexFunc(first.EndPorts, func(p topo.PortIdx) bool {
		return first.Nodes[first.Ports[p].Node].Type == mad.CA && p != first.Self
	})]
	leaf := first.Ports[host].Peer
	toHost, _ := first.RouteTo(host)
	toLeaf, _ := first.RouteTo(leaf)
	long := make([]mad.PKey, 33)
	for i := range long {
		long[i] = mad.PKey(i + 1)
	}
	w.write(toHost, smp.PKeyTableMod(0, 0), long[:32]...)
	w.write(toHost, smp.PKeyTableMod(0, 1), long[32])
	w.write(toLeaf, smp.PKeyTableMod(0, 0), 0x7fff, 0x8005)
	w.write(toLeaf, smp.PKeyTableMod(first.Ports[leaf].Num, 1), 0x8005)

	r := w.walk(New(Config{Conditions: device.Conditions{Enforced: true}})).Builder.Freeze()
	w.mustCount("with external ports", counts{smp.AttrNodeInfo: 49, smp.AttrNodeDescription: 36, smp.AttrSwitchInfo: 20,
		smp.AttrPortInfo:    116,
		smp.AttrGeneralInfo: 20, smp.AttrPKeyTable: 2*36 + 2*16})
	same := r.Ports[r.Self].PKeys
	for p := range r.Ports {
		port, pkeys := &r.Ports[p], r.Ports[p].PKeys
		want := []mad.PKey{mad.DefaultPKey}
		switch topo.PortIdx(p) {
		case host:
			want = long
		case r.EndPort(leaf):
			want = []mad.PKey{0x7fff, 0x8005}
		case leaf:
			want = append(append(want, make([]mad.PKey, 31)...), 0x8005)
		default:
			if port.Peer == topo.None && port.Num != 0 || r.IsSwitchPort(topo.PortIdx(p)) &&
				r.IsSwitchPort(port.Peer) || !port.Seen {
				if pkeys != nil {
					t.Errorf("port %d of %v: a table that nobody needs", port.Num, r.Nodes[port.Node].GUID)
				}
				continue
			}
			if pkeys != same {
				t.Errorf("port %d of %v: equal tables are not one", port.Num, r.Nodes[port.Node].GUID)
			}
		}
		if !slices.Equal(pkeys.Keys(), want) {
			t.Errorf("port %d of %v: %v, want %v", port.Num, r.Nodes[port.Node].GUID, pkeys.Keys(), want)
		}
	}

	// What has been up all along is not asked again; what has been reset is.
	w.inUse(r)
	devices := w.known(r)
	devices.Find(r.Nodes[r.Ports[leaf].Node].GUID).LFT = nil
	for _, quick := range []bool{false, true} {
		again := w.walk(
			New(Config{Prev: r, Quick: quick, Conditions: device.Conditions{Enforced: true}, Devices: devices}))
		if got := w.count[smp.AttrPKeyTable]; got != 2 {
			t.Errorf("quick %v: %d P_Key blocks asked, want those of the switch whose tables are not complete", quick,
				got)
		}
		frozen := again.Builder.Freeze()
		for p := range r.Ports {
			if frozen.Ports[p].PKeys != r.Ports[p].PKeys {
				t.Fatalf("quick %v: another table at port %d", quick, p)
			}
		}
	}
	r.Ports[host].Info.SetPortState(smp.PortInit)
	w.walk(New(Config{Prev: r, Conditions: device.Conditions{Enforced: true}, Devices: devices}))
	if got := w.count[smp.AttrPKeyTable]; got != 4 {
		t.Errorf("%d P_Key blocks asked, want those of a switch and of the host that has come up", got)
	}
}

// TestPKeysNotRead: a table of which a block is missing is not known.
func TestPKeysNotRead(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	w := newWalker(t, n, firstHost(n), fabric.Config{})
	for _, refused := range []bool{false, true} {
		var hit mad.Route
		found := false
		w.meddle = func(req *txn.Request, o *txn.Outcome) {
			if req.Attr != smp.AttrPKeyTable || found && req.Route != hit || req.Mod&0xffff != 1 {
				return
			}
			hit, found = req.Route, true
			if o.Status = mad.StatusBadField; !refused {
				o.Result = txn.TimedOut
			}
		}
		r := w.walk(New(Config{}))
		kind := finding.PKeysUnread
		if refused {
			kind = finding.PKeysRefused
		}
		if len(r.Findings) != 1 || r.Findings[0].Kind != kind || (r.TimedOut == 1) == refused {
			t.Errorf("refused %v: findings %v, %d timed out", refused, r.Findings, r.TimedOut)
		}
		unknown := 0
		top := r.Builder.Freeze()
		for _, p := range top.EndPorts {
			if top.Ports[p].PKeys == nil {
				unknown++
			}
		}
		if unknown != 1 {
			t.Errorf("refused %v: %d unknown tables", refused, unknown)
		}
	}
}
