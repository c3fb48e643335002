package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// makeFunctions makes the virtual functions of port 1 of adapters.
func makeFunctions(f *fabric.Fabric, args []string) (string, error) {
	nodes, err := findNodes(f, args[0])
	if err != nil {
		return "", err
	}
	n, err := strconv.ParseUint(args[1], 10, 16)
	if err != nil {
		return "", fmt.Errorf("%q: expected a number of functions", args[1])
	}
	guid := mad.GUID(0)
	if len(args) > 2 {
		if guid, err = readGUID(args[2]); err != nil {
			return "", err
		}
	}
	for _, node := range nodes {
		at := net.End{Node: node, Port: 1}
		info := f.NodeInfo(at)
		switch {
		case info.NodeType() == mad.Switch:
			return "", fmt.Errorf("node %q is a switch", f.NodeID(node))
		case len(nodes) > 1 && info.DeviceID() == net.SHARPDevice:
			continue
		}
		if _, has := f.VPorts(node); !has {
			f.SetVPorts(node, fabric.VPorts{})
		}
		had := f.NumFunctions(at)
		if err := f.SetFunctions(at, int(n)); err != nil {
			return "", err
		}
		for i := had + 1; i <= int(n) && guid != 0; i++ {
			f.SetFunctionGUID(fabric.VPort{At: at, Index: uint16(i)}, guid, guid)
			guid++
		}
	}
	return "", nil
}

// readGUID reads a GUID, 0 for none.
func readGUID(text string) (mad.GUID, error) {
	v, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: expected a GUID such as 0x0200000000000001, or 0", text)
	}
	return mad.GUID(v), nil
}

// findFunction finds function K, 1 or more, of port 1 of a node.
func findFunction(f *fabric.Fabric, name, index string) (v fabric.VPort, err error) {
	node, err := findNode(f, name)
	if err != nil {
		return v, err
	}
	v.At = net.End{Node: node, Port: 1}
	k, err := strconv.ParseUint(index, 10, 16)
	if n := f.NumFunctions(v.At); err != nil || k < 1 || int(k) > n {
		return v, fmt.Errorf("function %q of node %q: it has %d; the command functions makes them", index, name, n)
	}
	v.Index = uint16(k)
	return v, nil
}

// onFunction is an act on function K of a node, whose other arguments follow.
func onFunction(do func(f *fabric.Fabric, v fabric.VPort, args []string) error) act {
	return func(f *fabric.Fabric, args []string) (string, error) {
		v, err := findFunction(f, args[0], args[1])
		if err == nil {
			err = do(f, v, args[2:])
		}
		return "", err
	}
}

func setFunctionGUID(f *fabric.Fabric, v fabric.VPort, args []string) error {
	port, err := readGUID(args[0])
	if err != nil {
		return err
	}
	node := port
	if len(args) > 1 {
		if node, err = readGUID(args[1]); err != nil {
			return err
		}
	}
	f.SetFunctionGUID(v, port, node)
	return nil
}

func moveFunctionGUID(f *fabric.Fabric, v fabric.VPort, args []string) error {
	to, err := findFunction(f, args[0], args[1])
	if err == nil {
		f.MoveFunctionGUID(v, to)
	}
	return err
}

func loadFunction(is bool) func(*fabric.Fabric, fabric.VPort, []string) error {
	return func(f *fabric.Fabric, v fabric.VPort, _ []string) error {
		f.SetFunctionLoaded(v, is)
		return nil
	}
}

func rebootFunction(f *fabric.Fabric, v fabric.VPort, _ []string) error {
	f.RebootFunction(v)
	return nil
}

func renameFunction(f *fabric.Fabric, v fabric.VPort, args []string) error {
	f.SetFunctionDescription(v, args[0])
	return nil
}

func setFunctionPolicy(f *fabric.Fabric, v fabric.VPort, args []string) error {
	down, err := oneOf(args[0], "follow", "down")
	if err == nil {
		f.SetFunctionPolicy(v, down)
	}
	return err
}

func setFunctionLID(f *fabric.Fabric, v fabric.VPort, args []string) error {
	if args[0] == "own" {
		f.SetFunctionLID(v, true, 0)
		return nil
	}
	k, err := strconv.ParseUint(args[0], 10, 16)
	if err != nil || int(k) > f.NumFunctions(v.At) {
		return fmt.Errorf("%q: expected own, or the vPort whose LID it shares, 0 for that of the port", args[0])
	}
	f.SetFunctionLID(v, false, uint16(k))
	return nil
}

// oneOf reads one of two words, and reports whether it is the second.
func oneOf(text, first, second string) (isSecond bool, err error) {
	if text != first && text != second {
		return false, fmt.Errorf("%q: expected %s or %s", text, first, second)
	}
	return text == second, nil
}

// vPortQuirk is a way in which adapters differ in what they make of vPorts, or may.
type vPortQuirk struct {
	words string // what may be set, as help shows it
	about string
	set   func(c *fabric.VPorts, text string) error
}

// twoWays is a quirk that an adapter has or not, by two words.
func twoWays(first, second, about string, of func(c *fabric.VPorts) *bool) vPortQuirk {
	return vPortQuirk{first + "|" + second, about, func(c *fabric.VPorts, text string) (err error) {
		*of(c), err = oneOf(text, first, second)
		return err
	}}
}

// vPortQuirks by name.
var vPortQuirks = map[string]vPortQuirk{
	"layout": {"high|low|mixed", "where attribute modifiers have the index of a vPort",
		func(c *fabric.VPorts, text string) (err error) {
			c.Layout, err = smp.ParseVPortLayout(text)
			return err
		}},
	"lag": {"TIME", "VPortState shows each state so much later", func(c *fabric.VPorts, text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return fmt.Errorf("%q: expected a time such as 2s", text)
		}
		c.Lag = d
		return nil
	}},
	"modifier": twoWays("strict", "any", "whether meaningless bits of modifiers are refused",
		func(c *fabric.VPorts) *bool { return &c.AnyModifier }),
	"readonly": twoWays("strict", "any", "whether a Set with other values in read-only fields is refused",
		func(c *fabric.VPorts) *bool { return &c.AnyReadOnly }),
	"portinfo": twoWays("yes", "no", "whether PortInfo announces vPorts",
		func(c *fabric.VPorts) *bool { return &c.NotInPortInfo }),
	"generalinfo": twoWays("yes", "no", "whether GeneralInfo announces vPorts",
		func(c *fabric.VPorts) *bool { return &c.NotInGeneral }),
	"change": twoWays("0", "1", "which value of a Set clears VPortStateChange",
		func(c *fabric.VPorts) *bool { return &c.ClearedByOne }),
	"vport0": twoWays("port", "own", "whose state vPort 0 has",
		func(c *fabric.VPorts) *bool { return &c.OwnVPort0 }),
	"top": twoWays("all", "up", "which functions VPortIndexTop covers",
		func(c *fabric.VPorts) *bool { return &c.TopOfUp }),
	"early": twoWays("yes", "no", "whether vPorts can be read before virtualization is enabled",
		func(c *fabric.VPorts) *bool { return &c.OffUntilEnabled }),
	"restart": twoWays("forgets", "keeps", "what a function that restarts does with its LID and P_Keys",
		func(c *fabric.VPorts) *bool { return &c.Remembers }),
}

// vPortQuirkHelp lists the quirks.
func vPortQuirkHelp() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(vPortQuirks)) {
		q := vPortQuirks[name]
		fmt.Fprintf(&b, "  %-28s %s\n", name+" "+q.words, q.about)
	}
	return b.String()
}

// setVPortQuirk changes what adapters make of vPorts.
func setVPortQuirk(f *fabric.Fabric, args []string) (string, error) {
	nodes, err := findNodes(f, args[0])
	if err != nil {
		return "", err
	}
	q, ok := vPortQuirks[args[1]]
	if !ok {
		return "", fmt.Errorf("no quirk %q: expected one of %s", args[1],
			strings.Join(slices.Sorted(maps.Keys(vPortQuirks)), ", "))
	}
	changed := false
	for _, node := range nodes {
		c, has := f.VPorts(node)
		if !has {
			continue
		}
		changed = true
		if err := q.set(&c, args[2]); err != nil {
			return "", err
		}
		f.SetVPorts(node, c)
	}
	if !changed {
		return "", fmt.Errorf("%q has no vPorts; the command functions makes them", args[0])
	}
	return "", nil
}

// showFunctions lists the functions of port 1 of a node.
func showFunctions(f *fabric.Fabric, args []string) (string, error) {
	node, err := findNode(f, args[0])
	if err != nil {
		return "", err
	}
	at := net.End{Node: node, Port: 1}
	virtual := f.VirtualizationInfo(at)
	enabled := map[bool]string{true: "enabled", false: "not enabled"}[virtual.VirtualizationEnable()]
	var b strings.Builder
	fmt.Fprintf(&b, "node %q functions %d virtualization %s\n", f.NodeID(node), f.NumFunctions(at), enabled)
	for i := 1; i <= f.NumFunctions(at); i++ {
		v := fabric.VPort{At: at, Index: uint16(i)}
		info := f.VPortInfo(v)
		lid := "shared"
		if info.LIDRequired() {
			lid = "own"
		}
		fmt.Fprintf(&b, "function %d %v %v lid %d %s pkeys", i, info.PortGUID(), info.VPortState(), f.VPortLID(v), lid)
		for _, k := range f.VPortPKeys(v) {
			fmt.Fprintf(&b, " 0x%04x", uint16(k))
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// probeFunctions sends a data packet from a function to another, by the LID and GID of the latter.
func probeFunctions(f *fabric.Fabric, args []string) (string, error) {
	from, err := findFunction(f, args[0], args[1])
	if err != nil {
		return "", err
	}
	to, err := findFunction(f, args[2], args[3])
	if err != nil {
		return "", err
	}
	k, err := strconv.ParseUint(cmp.Or(append(args[4:], "")[0], "0xffff"), 0, 16)
	if err != nil {
		return "", fmt.Errorf("%q: expected a P_Key such as 0x8001", args[4])
	}
	_, why := f.ProbeVPort(from, f.VPortLID(to), f.VPortGID(to), mad.PKey(k), 0, nil)
	return why.String() + "\n", nil
}
