package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/sweep/vports"
)

// A run of one sweep ends when the functions that answer are up, or left as they were found, and shows them; with
// virt_enabled 1 when virtualization is disabled everywhere. What does not answer, or changes without end, does not
// hold it up for long.
func TestOnceFunctions(t *testing.T) {
	for name, c := range map[string]struct {
		vports fabric.VPorts
		quirk  *fabric.Quirk // of one adapter
		most   time.Duration
	}{
		"shared LIDs":        {fabric.VPorts{}, nil, 5 * time.Second},
		"own LIDs":           {fabric.VPorts{OwnLIDs: true}, nil, 5 * time.Second},
		"states lag":         {fabric.VPorts{Lag: 900 * time.Millisecond}, nil, 5 * time.Second},
		"states lag for 2 s": {fabric.VPorts{Lag: 2 * time.Second, OwnLIDs: true}, nil, 20 * time.Second},
		"one does not answer": {fabric.VPorts{}, &fabric.Quirk{Method: mad.MethodGet, Attr: smp.AttrVirtualizationInfo},
			30 * time.Second},
		"one refuses": {fabric.VPorts{}, &fabric.Quirk{Method: mad.MethodSet, Attr: smp.AttrVPortInfo,
			Answer: fabric.AnswersStatus, Status: mad.StatusBadField}, 30 * time.Second},
		"one keeps nothing": {fabric.VPorts{}, &fabric.Quirk{Method: mad.MethodSet, Attr: smp.AttrVPortPKeyTable,
			Answer: fabric.Acknowledges}, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			c.vports.Functions = 3
			b := newFunctions(t, "fattree:k=4,levels=2", c.vports, fabric.Config{})
			odd := host(b.net, 5)
			if c.quirk != nil {
				b.Fabric.SetDefect(odd.Node, c.quirk.Defect())
			}
			cfg := virtualConfig(vports.Enable)
			cfg.Once = true
			b.m = b.add(firstHost(b.net), cfg)
			b.Cleanup(b.m.dump)
			b.Run(c.most, func() bool { return b.m.Exited })
			if !b.m.Exited || b.m.Err != nil {
				t.Fatalf("after %v it has ended: %t, with %v", b.Fabric.Now(), b.m.Exited, b.m.Err)
			}
			for at := range b.functions() {
				if is := b.state(at); is != smp.PortActive && (at.At != odd || c.quirk == nil) {
					t.Errorf("%v is %v", at, is)
				}
			}
			if c.quirk == nil {
				b.mustShow()
			}
		})
	}
	t.Run("one changes without end", func(t *testing.T) {
		b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 3}, fabric.Config{})
		cfg := virtualConfig(vports.Enable)
		cfg.Once = true
		b.m = b.add(firstHost(b.net), cfg)
		for b.Fabric.Now() < 2*time.Minute && !b.m.Exited {
			b.Fabric.RebootFunction(fabric.VPort{At: host(b.net, 5), Index: 1})
			b.pass(10 * time.Millisecond)
		}
		if !b.m.Exited || b.m.Err != nil {
			t.Errorf("after %v it has ended: %t, with %v", b.Fabric.Now(), b.m.Exited, b.m.Err)
		}
	})
	t.Run("disabled", func(t *testing.T) {
		b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 3}, fabric.Config{})
		b.start(virtualConfig(vports.Enable))
		b.mustAllBe(smp.PortActive)
		b.World.Kill(b.m.Manager)
		cfg := virtualConfig(vports.Disable)
		cfg.Once = true
		b.m = b.add(firstHost(b.net), cfg)
		b.pass(5 * time.Second)
		if !b.m.Exited || b.m.Err != nil {
			t.Errorf("it has ended: %t, with %v", b.m.Exited, b.m.Err)
		}
		b.mustAllBe(smp.PortDown)
	})
}
