package main

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/pma"
	"ibsm/sim/fabric"
	"ibsm/sim/ibsim"
	"ibsm/topo/net"
)

// counted is a fabric that Debian's OpenSM has brought up, whose counters Debian's perfquery
// reads.
type counted struct {
	t      *testing.T
	server *ibsim.Server
	sock   string
	host   string  // where perfquery runs
	sw, ca net.End // ports whose counters have values
}

func newCounted(t *testing.T, profile net.Profile) *counted {
	n, err := loadNet("fattree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	n.Profile = profile
	c := &counted{t: t, host: firstHost(n), sw: net.End{Node: -1}}
	c.server, c.sock = serveNet(t, n, true)
	startOpenSM(t, c.sock, c.host)
	for i := range n.Nodes {
		switch {
		case n.Nodes[i].Type == mad.Switch && c.sw.Node < 0:
			c.sw = net.End{Node: int32(i), Port: 3}
		case n.Nodes[i].Type == mad.CA:
			c.ca = net.End{Node: int32(i), Port: 1} // the last, far from the host
		}
	}
	c.server.Do(func(f *fabric.Fabric) {
		for _, at := range []net.End{c.sw, c.ca} {
			for counter := range pma.AllCounters.All {
				f.Count(at, counter, 1+uint64(counter))
			}
			f.Count(at, pma.PortXmitData, 1<<40)
			for _, a := range pma.Arrays() {
				for i := range a.Len {
					f.CountDetail(at, a.Attr, i, uint64(i+3)%(a.Max()+1))
				}
			}
		}
	})
	return c
}

// lid is that of a node.
func (c *counted) lid(at net.End) string {
	lid := mad.LID(0)
	c.server.Do(func(f *fabric.Fabric) {
		if f.NodeType(at.Node) == mad.Switch {
			at.Port = 0
		}
		pi := f.PortInfo(at)
		lid = pi.LID()
	})
	return strconv.Itoa(int(lid))
}

// truth is what a port has counted.
func (c *counted) truth(at net.End) (n [pma.NumCounters]uint64) {
	c.server.Do(func(f *fabric.Fabric) {
		for counter := range pma.AllCounters.All {
			n[counter] = f.Counter(at, counter)
		}
	})
	return n
}

var printed = regexp.MustCompile(`(?m)^([A-Za-z0-9]+):\.+(0x[0-9a-fA-F]+|[0-9]+)$`)

// perfquery runs it, and returns the values that it prints under each name, one for each port.
// ok is false when it fails.
func (c *counted) perfquery(args ...string) (values map[string][]uint64, ok bool) {
	c.t.Helper()
	var out, errs bytes.Buffer
	cmd := madtest.Peer(c.t, c.t.TempDir(), c.sock, c.host, append([]string{"perfquery"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	values = map[string][]uint64{}
	for _, m := range printed.FindAllStringSubmatch(out.String(), -1) {
		v, err := strconv.ParseUint(m[2], 0, 64)
		if err != nil {
			c.t.Errorf("%v prints %s", args, m[0])
		}
		values[m[1]] = append(values[m[1]], v)
	}
	return values, err == nil
}

// garbled are counters that libumad2sim does not deliver: it copies 224 of 256 bytes.
const garbled = 1<<pma.VL15Dropped | 1<<pma.PortXmitWait | 1<<pma.QP1Dropped

// compare reads a port in one way, and checks each counter that is printed: MADs, perfquery's
// own ones, may be counted meanwhile.
func (c *counted) compare(at net.End, width func(pma.Counter) uint64, want pma.Counters, args ...string) {
	c.t.Helper()
	before := c.truth(at)
	values, ok := c.perfquery(append(args, c.lid(at), strconv.Itoa(int(at.Port)))...)
	after := c.truth(at)
	if !ok {
		c.t.Errorf("perfquery %v fails at %v", args, at)
		return
	}
	for counter := range want.All {
		low, high := min(before[counter], width(counter)), min(after[counter], width(counter))
		if got := values[counter.String()]; len(got) != 1 || got[0] < low || got[0] > high {
			c.t.Errorf("perfquery %v at %v: %v is %d, want %d to %d", args, at, counter, got, low, high)
		}
	}
}

// TestPerfquery: Debian's perfquery, in each of its forms, prints what ports have counted.
func TestPerfquery(t *testing.T) {
	for _, profile := range []net.Profile{net.Ideal, net.RealDevices} {
		t.Run(profile.String(), func(t *testing.T) {
			c := newCounted(t, profile)
			for _, at := range []net.End{c.sw, c.ca} {
				// perfquery 44 prints VL15Dropped as QP1Dropped of PortCounters.
				c.compare(at, pma.MaxShort, pma.PortCountersOnly&^pma.Of(pma.QP1Dropped))
				has := pma.ExtendedCounters
				if at == c.sw || profile == net.Ideal {
					has = pma.AllCounters
				}
				c.compare(at, func(pma.Counter) uint64 { return 1<<64 - 1 }, has&^garbled, "-x")
				c.details(at, profile)
			}
			c.ports()
			c.resets()
		})
	}
}

// details: the forms of optional attributes; those that a device lacks are refused.
func (c *counted) details(at net.End, profile net.Profile) {
	c.t.Helper()
	const everyDevice, ideal, none = 0, 1, 2
	for _, form := range []struct {
		option string
		attr   mad.AttrID
		where  int
	}{
		{"-X", pma.AttrPortXmitDataSL, everyDevice}, {"-S", pma.AttrPortRcvDataSL, everyDevice},
		{"-D", pma.AttrPortXmitDiscardDetails, everyDevice}, {"-E", pma.AttrPortRcvErrorDetails, everyDevice},
		{"--vlxmitcounters", pma.AttrPortVLXmitWaitCounters, everyDevice},
		{"-T", pma.AttrPortExtendedSpeedsCounters, everyDevice},
		{"-c", pma.AttrPortSamplesControl, everyDevice},
		{"--oprcvcounters", pma.AttrPortOpRcvCounters, ideal},
		{"--flowctlcounters", pma.AttrPortFlowCtlCounters, ideal},
		{"--vloppackets", pma.AttrPortVLOpPackets, ideal}, {"--vlopdata", pma.AttrPortVLOpData, ideal},
		{"--vlxmitflowctlerrors", pma.AttrPortVLXmitFlowCtlUpdateErrors, ideal},
		{"--swportvlcong", pma.AttrSwPortVLCongestion, none}, {"--rcvcc", pma.AttrPortRcvConCtrl, none},
		{"--slrcvfecn", pma.AttrPortSLRcvFECN, none}, {"--slrcvbecn", pma.AttrPortSLRcvBECN, none},
		{"--xmitcc", pma.AttrPortXmitConCtrl, none}, {"--vlxmittimecc", pma.AttrPortVLXmitTimeCong, none},
	} {
		has := form.where == everyDevice || form.where == ideal && profile == net.Ideal
		values, ok := c.perfquery(form.option, c.lid(at), strconv.Itoa(int(at.Port)))
		if ok != has {
			c.t.Errorf("perfquery %s at %v: succeeds %t, want %t", form.option, at, ok, has)
		}
		a, isArray := pma.ArrayOf(form.attr)
		for i := 0; has && isArray && i < a.Len; i++ {
			name := strings.Replace(a.Name(i), "PacketErrors", "PktErrors", 1)
			if got, want := values[name], uint64(i+3)%(a.Max()+1); len(got) != 1 || got[0] != want {
				c.t.Errorf("perfquery %s at %v: %s is %d, want %d", form.option, at, name, got, want)
			}
		}
		if got := values["PortSelect"]; has && (len(got) != 1 || got[0] != uint64(at.Port)) {
			c.t.Errorf("perfquery %s at %v: PortSelect %v", form.option, at, got)
		}
	}
}

// ports: all ports together, one after the other, and a list of them.
func (c *counted) ports() {
	c.t.Helper()
	want := c.truth(c.sw)
	lid := c.lid(c.sw)
	for _, args := range [][]string{{lid, "255"}, {"-a", lid}, {"-a", lid, "2-4"}, {"-a", lid, "1,3"}} {
		values, ok := c.perfquery(args...)
		if got := values["PortXmitDiscards"]; !ok || len(got) != 1 || got[0] != want[pma.PortXmitDiscards] {
			c.t.Errorf("perfquery %v: %v, want the sum of all ports, %d", args, got, want[pma.PortXmitDiscards])
		}
	}
	values, ok := c.perfquery("-l", lid, "2-4")
	if got := values["PortXmitDiscards"]; !ok || len(got) != 3 || got[0] != 0 || got[1] != want[pma.PortXmitDiscards] ||
		got[2] != 0 {
		c.t.Errorf("perfquery -l: %v", got)
	}
	if values, ok := c.perfquery("-a", c.lid(c.ca)); !ok || len(values["PortXmitDiscards"]) != 1 {
		c.t.Error("perfquery does not iterate over the ports of an adapter")
	}
	if _, ok := c.perfquery(c.lid(c.ca), "9"); ok {
		c.t.Error("perfquery reads a port that does not exist")
	}
}

// resets: what is selected is zero then, what is not has its value.
func (c *counted) resets() {
	c.t.Helper()
	lid, port := c.lid(c.sw), strconv.Itoa(int(c.sw.Port))
	value := func(name string, args ...string) uint64 {
		c.t.Helper()
		values, ok := c.perfquery(append(args, lid, port)...)
		if !ok || len(values[name]) != 1 {
			c.t.Fatalf("perfquery %v: %v", args, values[name])
		}
		return values[name][0]
	}
	run := func(args ...string) {
		c.t.Helper()
		if _, ok := c.perfquery(args...); !ok {
			c.t.Errorf("perfquery %v fails", args)
		}
	}
	run("-R", lid, port, "0x0001")
	if s, e := value("SymbolErrorCounter"), value("PortRcvErrors"); s != 0 || e != uint64(pma.PortRcvErrors)+1 {
		c.t.Errorf("after -R 0x0001: SymbolErrorCounter %d, PortRcvErrors %d", s, e)
	}
	if s := value("SymbolErrorCounter", "-x"); s != 1 {
		c.t.Errorf("-R reset the counter of 64 bits: %d", s)
	}
	run("-x", "-R", lid, port)
	if d, m := value("PortXmitData", "-x"), value("PortMulticastRcvPkts", "-x"); d > 1<<20 || m != 0 {
		c.t.Errorf("after -x -R: PortXmitData %d, PortMulticastRcvPkts %d", d, m)
	}
	if d := value("PortXmitData"); d != 1<<32-1 {
		c.t.Errorf("-x -R reset the counter of 32 bits: %d", d)
	}
	if e := value("PortRcvErrors", "-r"); e == 0 {
		c.t.Error("-r reset before it read")
	}
	if e, d, w := value("PortRcvErrors"), value("PortXmitData"), value("PortXmitWait"); e != 0 || d > 1<<20 || w != 0 {
		c.t.Errorf("after -r: PortRcvErrors %d, PortXmitData %d, PortXmitWait %d", e, d, w)
	}
	run("-R", "-E", lid, port, "0x2")
	if a, b := value("PortLocalPhysicalErrors", "-E"), value("PortMalformedPktErrors", "-E"); a != 3 || b != 0 {
		c.t.Errorf("after -R -E 0x2: %d %d", a, b)
	}
	c.server.Do(func(f *fabric.Fabric) { f.Count(c.sw, pma.PortRcvErrors, 5) })
	run("-R", lid, "255")
	if e := value("PortRcvErrors"); e != 0 {
		c.t.Errorf("after the reset of all ports: PortRcvErrors %d", e)
	}
}

// TestIbqueryerrors: Debian's ibqueryerrors finds the port with errors, and no other.
func TestIbqueryerrors(t *testing.T) {
	n, err := loadNet("fattree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	n.Profile = net.RealDevices
	host := firstHost(n)
	server, sock := serveNet(t, n, false)
	startOpenSM(t, sock, host)
	c := &console{server: server}
	for _, line := range []string{"count leaf-02 3 SymbolErrorCounter 20", "count leaf-02 3 PortRcvErrors 700",
		"count leaf-02 3 PortLocalPhysicalErrors 700"} {
		if _, err := c.command(line); err != nil {
			t.Fatal(err)
		}
	}
	ibqueryerrors := func(args ...string) string { // which fails when there are errors
		out, _ := madtest.Peer(t, t.TempDir(), sock, host, append([]string{"ibqueryerrors"}, args...)...).Output()
		return string(out)
	}
	out := ibqueryerrors("--details", "--suppress-common")
	rows := regexp.MustCompile(`(?m)^ +GUID 0x[0-9a-f]+ port (\d+): (.*)$`).FindAllStringSubmatch(out, -1)
	found := 0
	for _, row := range rows {
		if row[1] == "ALL" {
			continue
		}
		found++
		// ibqueryerrors 44 calls PortLocalPhysicalErrors PortInactiveDiscards.
		if row[1] != "3" ||
			row[2] != "[SymbolErrorCounter == 20] [PortRcvErrors == 700] [PortInactiveDiscards == 700]" {
			t.Errorf("row %q", row[0])
		}
	}
	if found != 1 || !strings.Contains(out, `"leaf-02"`) || !strings.Contains(out, "36 nodes checked") {
		t.Errorf("%d rows of ports:\n%s", found, out)
	}
	ibqueryerrors("--clear-errors", "--clear-counts")
	if out := ibqueryerrors("--details"); strings.Contains(out, "SymbolErrorCounter") ||
		!strings.Contains(out, "36 nodes checked") {
		t.Errorf("after --clear-errors:\n%s", out)
	}
}
