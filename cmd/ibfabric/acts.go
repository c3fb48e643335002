package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

func onPort(do func(*fabric.Fabric, net.End)) act {
	return func(f *fabric.Fabric, args []string) (string, error) {
		at, err := findPort(f, args[0], args[1])
		if err != nil {
			return "", err
		}
		if f.Peer(at).Node < 0 {
			return "", fmt.Errorf("node %q port %d has no cable", args[0], at.Port)
		}
		do(f, at)
		return "", nil
	}
}

func onNode(do func(*fabric.Fabric, int32)) act {
	return func(f *fabric.Fabric, args []string) (string, error) {
		node, err := findNode(f, args[0])
		if err == nil {
			do(f, node)
		}
		return "", err
	}
}

func unresponsive(is bool) func(*fabric.Fabric, int32) {
	return func(f *fabric.Fabric, node int32) { f.SetUnresponsive(node, is) }
}

// findNodes finds a node, or all switches or adapters.
func findNodes(f *fabric.Fabric, name string) (nodes []int32, err error) {
	types := map[string]mad.NodeType{"switches": mad.Switch, "adapters": mad.CA}
	kind, all := types[name]
	if !all {
		node, err := findNode(f, name)
		return []int32{node}, err
	}
	for i := range int32(f.NumNodes()) {
		if f.NodeType(i) == kind {
			nodes = append(nodes, i)
		}
	}
	return nodes, nil
}

func setDefect(f *fabric.Fabric, args []string) (string, error) {
	nodes, err := findNodes(f, args[0])
	if err != nil {
		return "", err
	}
	quirk, err := fabric.ParseQuirk(args[1], args[2], args[3])
	if err != nil {
		return "", err
	}
	for _, node := range nodes {
		f.SetDefect(node, quirk.Defect())
	}
	return "", nil
}

func setSound(f *fabric.Fabric, args []string) (string, error) {
	nodes, err := findNodes(f, args[0])
	if err != nil {
		return "", err
	}
	for _, node := range nodes {
		f.SetDefect(node, nil)
	}
	return "", nil
}

// findNode finds a node by ID, description, or GUID of it or of a port of it.
func findNode(f *fabric.Fabric, name string) (int32, error) {
	if at, ok := f.FindNode(name); ok {
		return at.Node, nil
	}
	if v, err := strconv.ParseUint(name, 0, 64); err == nil {
		for i := range int32(f.NumNodes()) {
			info := f.NodeInfo(net.End{Node: i, Port: 1})
			if info.NodeGUID() == mad.GUID(v) {
				return i, nil
			}
		}
		if at, ok := f.Find(mad.GUID(v)); ok {
			return at.Node, nil
		}
	}
	return 0, fmt.Errorf("no node %q", name)
}

// findPort finds a port that can have a cable.
func findPort(f *fabric.Fabric, name, number string) (net.End, error) {
	node, err := findNode(f, name)
	if err != nil {
		return net.NoEnd, err
	}
	num, err := strconv.Atoi(number)
	if err != nil || num < 1 || num > int(f.NumPorts(node)) {
		return net.NoEnd, fmt.Errorf("port %q of node %q: expected 1 to %d", number, name, f.NumPorts(node))
	}
	return net.End{Node: node, Port: uint8(num)}, nil
}

func recable(f *fabric.Fabric, args []string) (string, error) {
	a, err := findPort(f, args[0], args[1])
	if err != nil {
		return "", err
	}
	b, err := findPort(f, args[2], args[3])
	if err != nil {
		return "", err
	}
	f.Plug(a, b, mad.Width4x, mad.XDR) // as fast as the ports are
	return "", nil
}

// readRate reads a probability.
func readRate(text string) (float64, error) {
	digits, percent := strings.CutSuffix(text, "%")
	rate, err := strconv.ParseFloat(digits, 64)
	if percent {
		rate /= 100
	}
	if err != nil || !(rate >= 0 && rate <= 1) {
		return 0, fmt.Errorf("%q: expected a share such as 0.01 or 1%%", text)
	}
	return rate, nil
}

func setLoss(f *fabric.Fabric, args []string) (string, error) {
	rate, err := readRate(args[0])
	if err == nil {
		faults, _ := f.Faults()
		faults.Loss = rate
		f.SetFaults(faults)
	}
	return "", err
}

func setBitErrors(f *fabric.Fabric, args []string) (string, error) {
	at, err := findPort(f, args[0], args[1])
	if err != nil {
		return "", err
	}
	rate, err := readRate(args[2])
	if err == nil {
		f.SetBitErrorRate(at, rate)
	}
	return "", err
}

// addCount adds to a counter that PortCounters or PortCountersExtended has, or one of those with
// details.
func addCount(f *fabric.Fabric, args []string) (string, error) {
	at, err := findPort(f, args[0], args[1])
	if err != nil {
		return "", err
	}
	n, err := strconv.ParseUint(args[3], 0, 63)
	if err != nil {
		return "", fmt.Errorf("%q: expected a number below 2^63", args[3])
	}
	for c := range pma.AllCounters.All {
		if c.String() == args[2] {
			f.Count(at, c, n)
			return "", nil
		}
	}
	arrays := pma.Arrays()
	for i := range arrays {
		for x := range arrays[i].Len {
			if arrays[i].Name(x) == args[2] {
				f.CountDetail(at, arrays[i].Attr, x, n)
				return "", nil
			}
		}
	}
	return "", fmt.Errorf("no counter %q; perfquery prints their names", args[2])
}

func setLatency(f *fabric.Fabric, args []string) (string, error) {
	d, err := time.ParseDuration(args[0])
	if err != nil || d < 0 {
		return "", fmt.Errorf("%q: expected a time such as 5us", args[0])
	}
	f.SetLatency(d)
	return "", nil
}

// showCounters lists what there is of each kind, most first.
func showCounters(f *fabric.Fabric, _ []string) (string, error) {
	return countersText(f.Stats()), nil
}

func countersText(stats fabric.Stats) string {
	kinds := make([]fabric.Kind, 0, len(stats.SMPs))
	total := uint64(0)
	for k, n := range stats.SMPs {
		kinds = append(kinds, k)
		total += n
	}
	slices.SortFunc(kinds, func(a, b fabric.Kind) int {
		return cmp.Or(cmp.Compare(stats.SMPs[b], stats.SMPs[a]), cmp.Compare(a.Method, b.Method),
			cmp.Compare(a.Attr, b.Attr))
	})
	var b strings.Builder
	fmt.Fprintf(&b, "smps %d\n", total)
	for _, k := range kinds {
		fmt.Fprintf(&b, "smp %v %s %d\n", k.Method, smp.AttrName(k.Attr), stats.SMPs[k])
	}
	for why, n := range stats.Drops {
		if n > 0 {
			fmt.Fprintf(&b, "lost %d %v\n", n, fabric.Drop(why))
		}
	}
	return b.String()
}

func resetCounters(f *fabric.Fabric, _ []string) (string, error) {
	f.ResetStats()
	return "", nil
}
