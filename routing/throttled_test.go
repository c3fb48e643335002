package routing

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// TestThrottled: a link is throttled where it runs below what both ends have enabled, and where its ends say
// different things of it.
func TestThrottled(t *testing.T) {
	n, err := net.Generate("mesh:dims=1x2,hosts=1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(near, far *smp.PortInfo)
		want   bool
	}{
		{"as enabled", func(near, far *smp.PortInfo) {}, false},
		{"both narrow", func(near, far *smp.PortInfo) {
			near.SetLinkWidthActive(mad.Width1x)
			far.SetLinkWidthActive(mad.Width1x)
		}, true},
		{"both narrow, as one end has enabled", func(near, far *smp.PortInfo) {
			near.SetLinkWidthActive(mad.Width1x)
			far.SetLinkWidthActive(mad.Width1x)
			far.SetLinkWidthEnabled(mad.Width1x)
		}, false},
		{"one end says that it is narrow", func(near, far *smp.PortInfo) { far.SetLinkWidthActive(mad.Width1x) }, true},
		{"one end says so and has it enabled", func(near, far *smp.PortInfo) {
			far.SetLinkWidthActive(mad.Width1x)
			far.SetLinkWidthEnabled(mad.Width1x)
		}, true},
		{"both slow", func(near, far *smp.PortInfo) { near.SetLinkSpeedActive(1); far.SetLinkSpeedActive(1) }, true},
		{"one end says that it is slow", func(near, far *smp.PortInfo) { far.SetLinkSpeedActive(1) }, true},
		{"both slow, as one end has enabled", func(near, far *smp.PortInfo) {
			near.SetLinkSpeedActive(1)
			far.SetLinkSpeedActive(1)
			far.SetLinkSpeedEnabled(1)
		}, false},
	} {
		subnet, err := netwalk.Topo(n, net.NoEnd)
		if err != nil {
			t.Fatal(err)
		}
		for p := range subnet.Ports {
			subnet.Ports[p].Info = smp.PortInfo{}
			subnet.Ports[p].Info.SetLinkWidthActive(mad.Width4x)
			subnet.Ports[p].Info.SetLinkWidthEnabled(mad.Width1x | mad.Width4x)
			subnet.Ports[p].Info.SetLinkSpeedActive(4)
			subnet.Ports[p].Info.SetLinkSpeedEnabled(7)
			subnet.Ports[p].Info.SetLinkSpeedSupported(7)
		}
		for p := range topo.PortIdx(len(subnet.Ports)) {
			far := subnet.Ports[p].Peer
			if far == topo.None || !subnet.IsSwitchPort(p) || !subnet.IsSwitchPort(far) {
				continue
			}
			c.change(&subnet.Ports[p].Info, &subnet.Ports[far].Info)
			for _, end := range []topo.PortIdx{p, far} {
				if got := Throttled(subnet, end); got != c.want {
					t.Errorf("%s, port %d: %t", c.name, end, got)
				}
			}
			break
		}
	}
}
