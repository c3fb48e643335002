package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// showState counts the links with power at both ends and a cable that is not cut.
func showState(f *fabric.Fabric, _ []string) (string, error) {
	links, active, first := linkState(f)
	if links == active {
		return fmt.Sprintf("active %d of %d links\n", active, links), nil
	}
	pi := f.PortInfo(first)
	return fmt.Sprintf("not active %d of %d links, the first at %q port %d: %v, %v\n", links-active, links,
		f.NodeID(first.Node),
		first.Port, pi.PortState(), pi.PortPhysicalState()), nil
}

// linkState counts the links that should be up, those that are Active at both ends,
// and finds an end of the first that is not.
func linkState(f *fabric.Fabric) (links, active int, first net.End) {
	first = net.NoEnd
	for at := range f.Ports() {
		peer := f.Peer(at)
		if peer.Node < 0 || peer.Node < at.Node || peer.Node == at.Node && peer.Port < at.Port || !f.CableGood(at) {
			continue
		}
		links++
		a, b := f.PortInfo(at), f.PortInfo(peer)
		switch {
		case a.PortState() == smp.PortActive && b.PortState() == smp.PortActive:
			active++
		case first.Node >= 0:
		case a.PortState() == smp.PortActive:
			first = peer
		default:
			first = at
		}
	}
	return links, active, first
}

func showNode(f *fabric.Fabric, args []string) (string, error) {
	node, err := findNode(f, args[0])
	if err != nil {
		return "", err
	}
	var b strings.Builder
	info := f.NodeInfo(net.End{Node: node, Port: 1})
	fmt.Fprintf(&b, "node %q %v %v\n", f.NodeID(node), info.NodeType(), info.NodeGUID())
	for num := range f.NumPorts(node) + 1 {
		at := net.End{Node: node, Port: num}
		if num == 0 && f.NodeType(node) != mad.Switch {
			continue
		}
		pi := f.PortInfo(at)
		fmt.Fprintf(&b, "port %d lid %d %v %v", num, pi.LID(), pi.PortState(), pi.PortPhysicalState())
		if peer := f.Peer(at); peer.Node >= 0 {
			fmt.Fprintf(&b, " to %q %d", f.NodeID(peer.Node), peer.Port)
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// maxProbes bounds a command, during which the server does nothing else.
const maxProbes = 1_000_000

func probe(f *fabric.Fabric, args []string) (string, error) {
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 1 || n > maxProbes {
		return "", fmt.Errorf("%q: expected a number from 1 to %d", args[0], maxProbes)
	}
	seed, err := readSeed(args[1:])
	if err != nil {
		return "", err
	}
	arrived, lost := probePairs(f, n, seed)
	var b strings.Builder
	fmt.Fprintf(&b, "arrived %d of %d\n", arrived, n)
	for _, l := range lost {
		fmt.Fprintln(&b, l)
	}
	return b.String(), nil
}

// readSeed reads a seed that may be left out.
func readSeed(args []string) (seed uint64, err error) {
	if len(args) == 0 {
		return 1, nil
	}
	if seed, err = strconv.ParseUint(args[0], 0, 64); err != nil {
		return 0, fmt.Errorf("seed %q: expected a number of 64 bits", args[0])
	}
	return seed, nil
}

// probePairs sends a data packet between random pairs of different end ports. lost
// names the first one of each reason.
func probePairs(f *fabric.Fabric, n int, seed uint64) (arrived int, lost []string) {
	ends := hostPorts(f)
	if len(ends) < 2 {
		return 0, []string{"lost: there are fewer than two end ports"}
	}
	random := rand.New(rand.NewPCG(seed, 0x9406e))
	var seen [256]bool
	var hops []fabric.Hop
	for range n {
		i, j := random.IntN(len(ends)), random.IntN(len(ends)-1)
		if j >= i {
			j++
		}
		to := f.PortInfo(ends[j])
		var why fabric.Drop
		hops, why = f.Probe(ends[i], to.LID(), mad.DefaultPKey, 0, hops[:0])
		if why == fabric.Delivered {
			arrived++
		} else if !seen[why] {
			seen[why] = true
			lost = append(lost, fmt.Sprintf("lost %q to %q LID %d: %v", f.NodeID(ends[i].Node), f.NodeID(ends[j].Node),
				to.LID(), why))
		}
	}
	return arrived, lost
}
