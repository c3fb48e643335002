package main

import (
	"fmt"
	"math/rand/v2"

	"ibsm/mad"
	"ibsm/sim/fabric"
	"ibsm/sim/fluid"
	"ibsm/topo/net"
)

// traffic is the load of the fabric, as a fluid along the routes at the time of the last command.
type traffic struct {
	flows  []demand
	drains map[net.End]float64 // by adapter's port: the part of its link's rate that it takes
}

// demand is a flow that wants a part of the rate of its source's link.
type demand struct {
	from, to net.End
	part     float64
}

// hostPorts are the end ports of adapters with a cable.
func hostPorts(f *fabric.Fabric) (ports []net.End) {
	for at := range f.EndPorts() {
		if f.NodeType(at.Node) != mad.Switch && f.Powered(at.Node) && f.Peer(at).Node >= 0 {
			ports = append(ports, at)
		}
	}
	return ports
}

// loadShift has each adapter send to the one that comes half of them later.
func loadShift(c *console, args []string) (string, error) {
	return c.load(args[0], func(ports []net.End, part float64) {
		for i, from := range ports {
			c.traffic.add(from, ports[(i+len(ports)/2)%len(ports)], part)
		}
	})
}

// loadRandom has each adapter send to another one, and each receive from one.
func loadRandom(c *console, args []string) (string, error) {
	seed, err := readSeed(args[1:])
	if err != nil {
		return "", err
	}
	return c.load(args[0], func(ports []net.End, part float64) {
		to := rand.New(rand.NewPCG(seed, 0x10ad)).Perm(len(ports))
		for i, from := range ports {
			c.traffic.add(from, ports[to[i]], part)
		}
	})
}

// loadPair has one adapter send to another.
func loadPair(c *console, args []string) (answer string, err error) {
	var ends [2]net.End
	c.server.Do(func(f *fabric.Fabric) {
		for i := range ends {
			if ends[i], err = findHost(f, args[i]); err != nil {
				return
			}
		}
	})
	if err != nil {
		return "", err
	}
	return c.load(args[2], func(_ []net.End, part float64) { c.traffic.add(ends[0], ends[1], part) })
}

func loadNone(c *console, _ []string) (string, error) {
	c.traffic.flows = nil
	return c.flow(), nil
}

// setDrain has an adapter take only a part of what its link can bring.
func setDrain(c *console, args []string) (answer string, err error) {
	part, err := readRate(args[1])
	if err != nil {
		return "", err
	}
	var at net.End
	c.server.Do(func(f *fabric.Fabric) { at, err = findHost(f, args[0]) })
	if err != nil {
		return "", err
	}
	if c.traffic.drains == nil {
		c.traffic.drains = map[net.End]float64{}
	}
	c.traffic.drains[at] = part
	return c.flow(), nil
}

// findHost finds the first port of an adapter that has a cable.
func findHost(f *fabric.Fabric, name string) (net.End, error) {
	node, err := findNode(f, name)
	if err != nil {
		return net.NoEnd, err
	}
	for num := range f.NumPorts(node) {
		if at := (net.End{Node: node, Port: num + 1}); f.NodeType(node) != mad.Switch && f.Peer(at).Node >= 0 {
			return at, nil
		}
	}
	return net.NoEnd, fmt.Errorf("node %q is not an adapter with a cable", name)
}

// load adds flows that want a part of their links.
func (c *console) load(part string, add func(ports []net.End, part float64)) (string, error) {
	rate, err := readRate(part)
	if err != nil {
		return "", err
	}
	var ports []net.End
	c.server.Do(func(f *fabric.Fabric) { ports = hostPorts(f) })
	add(ports, rate)
	return c.flow(), nil
}

func (t *traffic) add(from, to net.End, part float64) {
	if from != to {
		t.flows = append(t.flows, demand{from, to, part})
	}
}

// flow finds the routes of all flows and has ports count what comes of them.
func (c *console) flow() string {
	n := &fluidNet{index: map[net.End]int32{}}
	lost := 0
	c.server.Do(func(f *fabric.Fabric) {
		for _, d := range c.traffic.flows {
			if !n.route(f, d) {
				lost++
			}
		}
		for at, part := range c.traffic.drains {
			if i, used := n.index[f.Peer(at)]; used {
				n.links[i].Drain = max(part, 1e-6) * n.links[i].Rate
			}
		}
	})
	uses := fluid.Run(n.links, n.flows) // takes seconds in a large fabric: not while the server waits
	c.server.Do(func(f *fabric.Fabric) {
		f.NoTraffic()
		for i, at := range n.ports {
			f.SetTraffic(at, fabric.Traffic{Words: uses[i].Rate / 4, Packets: uses[i].Rate / packetSize,
				Waited: uses[i].Waited})
		}
	})
	return fmt.Sprintf("%d flows, %d without a route\n", len(n.flows), lost)
}

// packetSize is that of a packet with 4096 octets of data.
const packetSize = 4096 + 30

// fluidNet is the links that flows take.
type fluidNet struct {
	index map[net.End]int32 // by the port that sends
	ports []net.End
	links []fluid.Link
	flows []fluid.Flow
	hops  []fabric.Hop // scratch
}

// route adds a flow; it reports false if it does not arrive.
func (n *fluidNet) route(f *fabric.Fabric, d demand) bool {
	to := f.PortInfo(d.to)
	hops, why := f.Probe(d.from, to.LID(), mad.DefaultPKey, 0, n.hops[:0])
	if n.hops = hops; why != fabric.Delivered {
		return false
	}
	var path []int32
	for _, h := range hops {
		if h.Out != 0 {
			path = append(path, n.link(f, net.End{Node: h.Node, Port: h.Out}))
		}
	}
	n.flows = append(n.flows, fluid.Flow{Path: path, Rate: d.part * n.links[path[0]].Rate})
	return true
}

// link is the index of the link out of a port.
func (n *fluidNet) link(f *fabric.Fabric, at net.End) int32 {
	i, known := n.index[at]
	if !known {
		i = int32(len(n.links))
		n.index[at] = i
		n.ports = append(n.ports, at)
		n.links = append(n.links, fluid.Link{Rate: f.BitRate(at) / 8})
	}
	return i
}
