package sim_test

import (
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep/vports"
	"ibsm/topo/net"
)

// BenchmarkFunctions reports what vPorts cost where all hosts have 127 functions, with IBSM_PROOF=1 on 1,024 hosts,
// else on 128: how many SMPs of each kind a function needs to come up, how much CPU time the core takes for it, and
// then what it costs that a rack of 40 hosts starts all its functions again during a heavy sweep. A step is the
// longest time for which the core computes at once, and so for which a request to the SA waits.
func BenchmarkFunctions(b *testing.B) {
	spec := "fattree:k=8"
	if os.Getenv("IBSM_PROOF") != "" {
		spec = "fattree:k=16"
	}
	for b.Loop() {
		measureFunctions(b, spec)
	}
}

func measureFunctions(b *testing.B, spec string) {
	const functionsPerHost, rack = 127, 40
	w := newFunctions(b, spec, fabric.VPorts{Functions: functionsPerHost}, fabric.Config{Seed: 1})
	hosts := slices.DeleteFunc(slices.Collect(w.Fabric.EndPorts()), func(at net.End) bool {
		return w.Fabric.NumFunctions(at) == 0
	})
	count := float64(len(hosts) * functionsPerHost)
	runtime.LockOSThread() // its CPU time is what is measured
	defer runtime.UnlockOSThread()
	var longest time.Duration
	w.Clock = threadTime(b)
	w.StepTook = func(_ manager.Event, took time.Duration) { longest = max(longest, took) }
	w.m = w.add(firstHost(w.net), virtualConfig(vports.Enable))
	w.until("all functions are ACTIVE", func() bool { return w.allAre(hosts, smp.PortActive) })
	for attr, name := range map[mad.AttrID]string{
		smp.AttrVirtualizationInfo: "VirtualizationInfo", smp.AttrVPortState: "VPortState", smp.AttrVPortInfo: "VPortInfo",
		smp.AttrVNodeInfo: "VNodeInfo", smp.AttrVPortGUIDInfo: "VPortGUIDInfo", smp.AttrVPortPKeyTable: "VPortP_KeyTable",
		smp.AttrVNodeDescription: "VNodeDescription"} {
		for k, n := range w.Fabric.Stats().SMPs {
			if k.Attr == attr {
				b.ReportMetric(float64(n)/count, k.Method.String()+"("+name+")/function")
			}
		}
	}
	b.ReportMetric(w.m.Busy.Seconds()*1e6/count, "core-us/function")
	b.ReportMetric(w.Fabric.Now().Seconds(), "up-virtual-s")
	b.ReportMetric(longest.Seconds()*1e3, "up-step-ms")

	w.pass(time.Minute)
	w.m.Busy, longest = 0, 0
	gets, writes := w.asked()
	ups, began := len(w.m.ups), w.Fabric.Now()
	w.Ask(w.m.Manager, manager.Heavy)
	for _, at := range hosts[:rack] {
		for i := range w.Fabric.NumFunctions(at) {
			w.Fabric.RebootFunction(fabric.VPort{At: at, Index: uint16(i + 1)})
		}
	}
	w.until("the rack's functions are ACTIVE again", func() bool { return w.allAre(hosts[:rack], smp.PortActive) })
	b.ReportMetric((w.Fabric.Now()-began).Seconds()*1e3, "rack-virtual-ms")
	w.pass(time.Minute)
	moreGets, moreSets := w.asked()
	rackCount := float64(rack * functionsPerHost)
	b.ReportMetric(float64(moreGets-gets)/rackCount, "rack-Gets/function")
	b.ReportMetric(float64(moreSets-writes)/rackCount, "rack-Sets/function")
	b.ReportMetric(float64(len(w.m.ups)-ups), "rack-sweeps")
	b.ReportMetric(w.m.Busy.Seconds()*1e3, "rack-core-ms")
	b.ReportMetric(longest.Seconds()*1e3, "rack-step-ms")
}

// allAre reports whether all functions of some ports are in a state.
func (b *functions) allAre(hosts []net.End, state smp.PortState) bool {
	for _, at := range slices.Backward(hosts) {
		for i := range b.Fabric.NumFunctions(at) {
			if b.state(fabric.VPort{At: at, Index: uint16(i + 1)}) != state {
				return false
			}
		}
	}
	return true
}
