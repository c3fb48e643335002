package main

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"ibsm/mad"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// lieSwitch has a node say that it is a switch.
func lieSwitch(f *fabric.Fabric, args []string) (string, error) {
	node, err := findNode(f, args[0])
	if err != nil {
		return "", err
	}
	ports, err := strconv.ParseUint(args[1], 10, 8)
	if err != nil || ports < 1 || ports > 254 {
		return "", fmt.Errorf("%q: expected a number of ports, 1 to 254", args[1])
	}
	info := f.NodeInfo(net.End{Node: node, Port: 1})
	own := info.NodeGUID()
	if len(args) > 2 {
		v, err := strconv.ParseUint(args[2], 0, 64)
		if err != nil || v == 0 {
			return "", fmt.Errorf("%q: expected a GUID such as 0x1234", args[2])
		}
		own = mad.GUID(v)
	}
	f.SetLie(node, &fabric.Lie{Self: fabric.SwitchClaim(own, uint8(ports))})
	return "", nil
}

// changeLie changes what a node that lies already says.
func changeLie(f *fabric.Fabric, name string, change func(l *fabric.Lie) error) (string, error) {
	node, err := findNode(f, name)
	if err != nil {
		return "", err
	}
	lie, ok := f.Lie(node)
	if !ok {
		lie.Self = f.ClaimOf(node, 1)
	}
	if err := change(&lie); err != nil {
		return "", err
	}
	f.SetLie(node, &lie)
	return "", nil
}

func lieAs(f *fabric.Fabric, args []string) (string, error) {
	return changeLie(f, args[0], func(l *fabric.Lie) error {
		as, err := findNode(f, args[1])
		if err == nil {
			l.Self = f.ClaimOf(as, 1)
		}
		return err
	})
}

func lieBehind(f *fabric.Fabric, args []string) (string, error) {
	return changeLie(f, args[0], func(l *fabric.Lie) error {
		port, err := strconv.ParseUint(args[1], 10, 8)
		if err != nil || l.Self.Info.NodeType() != mad.Switch || port < 1 || port > uint64(l.Self.Info.NumPorts()) {
			return fmt.Errorf("%q: expected a port of a node that claims to be a switch", args[1])
		}
		far, err := findPort(f, args[2], args[3])
		if err != nil {
			return err
		}
		if l.Behind = maps.Clone(l.Behind); l.Behind == nil {
			l.Behind = map[uint8]fabric.Claim{}
		}
		l.Behind[uint8(port)] = f.ClaimOf(far.Node, far.Port)
		return nil
	})
}

func lieEndless(f *fabric.Fabric, args []string) (string, error) {
	return changeLie(f, args[0], func(l *fabric.Lie) error {
		if l.Self.Info.NodeType() != mad.Switch {
			return fmt.Errorf("node %q does not claim to be a switch: first lie switch %[1]s PORTS", args[0])
		}
		l.Endless = true
		return nil
	})
}

func lieDelay(f *fabric.Fabric, args []string) (string, error) {
	return changeLie(f, args[0], func(l *fabric.Lie) error {
		d, err := time.ParseDuration(args[1])
		if err != nil || d < 0 {
			return fmt.Errorf("%q: expected a time such as 700ms", args[1])
		}
		l.Delay = d
		return nil
	})
}

func lieCapacity(f *fabric.Fabric, args []string) (string, error) {
	return changeLie(f, args[0], func(l *fabric.Lie) error {
		n, err := strconv.ParseUint(args[1], 10, 16)
		if err != nil {
			return fmt.Errorf("%q: expected a number of P_Keys, 0 to 65535", args[1])
		}
		l.Self.Info.SetPartitionCap(uint16(n))
		return nil
	})
}

func honest(f *fabric.Fabric, node int32) { f.SetLie(node, nil) }
