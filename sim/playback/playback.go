package playback

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"ibsm/mad"
	"ibsm/mad/capture"
	"ibsm/mad/smp"
	"ibsm/plural"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// Scheme begins the name of a fabric that is a capture, before the name of the file.
const Scheme = "capture:"

// Devices are those of a capture.
type Devices struct {
	Net *net.Net
	At  net.End // the port that the manager had

	file    *capture.File
	devices []device
	lost    int

	recorded, plain atomic.Uint64
}

// IsSpec reports whether the name of a fabric is that of a capture.
func IsSpec(spec string) bool { return strings.HasPrefix(spec, Scheme) }

// Load makes the devices of a file, whose name may begin with Scheme.
func Load(name string) (*Devices, error) {
	name = strings.TrimPrefix(name, Scheme)
	src, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	f, err := capture.Read(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d, err := Make(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// errNothing is the error of a capture without a device.
var errNothing = errors.New("the capture does not have the NodeInfo of any device")

// Make makes the devices of a capture, which must not change any more.
func Make(f *capture.File) (*Devices, error) {
	all := exchangesOf(f)
	b := &builder{
		net: &net.Net{Profile: net.RealDevices}, byGUID: map[mad.GUID]int32{}, places: map[mad.Route]place{},
		lids: map[mad.LID]int32{},
	}
	for i := range all {
		if err := b.find(&all[i]); err != nil {
			return nil, err
		}
	}
	if len(b.devices) == 0 {
		return nil, errNothing
	}
	own, err := b.own(all)
	if err != nil {
		return nil, err
	}
	for i := range all {
		b.cable(&all[i])
	}
	for i := range all {
		b.learn(&all[i])
	}
	for i := range all {
		if err := b.tape(&all[i]); err != nil {
			return nil, err
		}
	}
	for i := range b.devices {
		b.dress(i)
	}
	at := net.End{Node: own.device, Port: own.in}
	if b.net.Nodes[own.device].Type == mad.Switch {
		at.Port = 0
	}
	return &Devices{Net: b.net, At: at, file: f, devices: b.devices, lost: b.lost}, nil
}

// Counts is how many requests were answered, or not, as recorded, and how many as by plain devices. Any goroutine may
// call it.
func (d *Devices) Counts() (recorded, plain uint64) { return d.recorded.Load(), d.plain.Load() }

// Answered is Counts in a sentence.
func (d *Devices) Answered() string {
	recorded, plain := d.Counts()
	return fmt.Sprintf("%s as recorded, %d of which the capture has nothing as by plain devices",
		plural.With(int(recorded), "request was answered", "requests were answered"), plain)
}

// String says what the capture holds, in a line.
func (d *Devices) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s", plural.Of(len(d.devices), "device"), plural.Of(len(d.file.Records), "packet"))
	if d.file.Program != "" {
		fmt.Fprintf(&b, " of %s", d.file.Program)
	}
	if n := d.lost; n > 0 {
		fmt.Fprintf(&b, "; %s not played back", plural.With(n, "request is", "requests are"))
	}
	if d.file.End == "" {
		b.WriteString("; the file does not say why it ends")
	} else {
		b.WriteString("; end: " + d.file.End)
	}
	return b.String()
}

// Fabric makes a fabric of the devices. Of cfg Caps is applied after what is known of the devices. What tapes have
// played back is not forgotten: call it once.
func (d *Devices) Fabric(cfg fabric.Config) *fabric.Fabric {
	further := cfg.Caps
	cfg.Caps = func(i int32, n *net.Node, c *fabric.Caps) {
		d.devices[i].caps(c)
		c.Agent = func(in uint8, p *mad.Packet, obey func() (mad.Status, bool)) fabric.Reply {
			return d.answer(i, in, p, obey)
		}
		if further != nil {
			further(i, n, c)
		}
	}
	f := fabric.New(d.Net, cfg)
	for i := range d.devices {
		d.devices[i].preset(f, int32(i))
	}
	for _, state := range []smp.PortState{smp.PortArmed, smp.PortActive} {
		for i := range d.devices {
			d.devices[i].raise(f, int32(i), state)
		}
	}
	return f
}

// caps is what a plain device like this one can do.
func (d *device) caps(c *fabric.Caps) {
	c.PartitionCap = cmp.Or(d.info.PartitionCap(), c.PartitionCap)
	if s := d.sw; s != nil {
		c.LinearFDBCap, c.MulticastFDBCap, c.PartitionEnforcementCap = s.LinearFDBCap(), s.MulticastFDBCap(),
			s.PartitionEnforcementCap()
		c.OptimizedSLtoVL = s.OptimizedSLtoVLMappingProgramming()
		c.SwitchPowerUp = func(info *smp.SwitchInfo) { *info = *s }
	}
	c.EmptyPort0 = c.EmptyPort0 && d.ports[0] == nil
	c.PowerUp = func(num uint8, info *smp.PortInfo) {
		read := d.ports[num]
		if read == nil {
			return
		}
		*info = *read
		info.SetMKey(0) // so that requests find their tapes
		info.SetMKeyProtectBits(0)
		info.SetMKeyLeasePeriod(0)
		if d.info.NodeType() == mad.Switch && num == 0 {
			return
		}
		if info.SetPortState(smp.PortDown); info.PortPhysicalState() == smp.PhysLinkUp {
			info.SetPortPhysicalState(smp.PhysPolling) // until the link trains
		}
		if info.LinkDownDefaultState() == smp.PhysNoChange {
			info.SetLinkDownDefaultState(smp.PhysPolling)
		}
	}
}

// preset gives the node the tables that were read of it.
func (d *device) preset(f *fabric.Fabric, node int32) {
	tables := []mad.AttrID{smp.AttrSwitchInfo, smp.AttrLinearForwardingTable, smp.AttrMulticastForwardingTable,
		smp.AttrGUIDInfo, smp.AttrPKeyTable,
		smp.AttrSLtoVLMappingTable, smp.AttrVLArbitrationTable}
	order := func(a, b key) int {
		return cmp.Or(cmp.Compare(slices.Index(tables, a.attr), slices.Index(tables, b.attr)),
			cmp.Compare(a.mod, b.mod), cmp.Compare(a.port, b.port))
	}
	for _, k := range slices.SortedFunc(maps.Keys(d.tapes), order) {
		first := &d.tapes[k].exchanges[0]
		if k.class == mad.ClassDirected && slices.Contains(tables, k.attr) && !first.isSet() && first.succeeded() {
			data := *first.response.Data()
			f.Preset(net.End{Node: node, Port: k.port}, k.attr, k.mod, &data)
		}
	}
}

// raise brings the ports that were read in a state, or a higher one, to that state.
func (d *device) raise(f *fabric.Fabric, node int32, state smp.PortState) {
	for _, num := range slices.Sorted(maps.Keys(d.ports)) {
		if d.ports[num].PortState() < state {
			continue
		}
		in := net.End{Node: node, Port: num}
		info := f.PortInfo(in)
		info.KeepStates()
		info.SetPortState(state)
		if d.info.NodeType() != mad.Switch {
			f.Preset(in, smp.AttrPortInfo, 0, (*[mad.DataSize]byte)(&info))
		} else if num > 0 {
			in.Port = 0
			f.Preset(in, smp.AttrPortInfo, uint32(num), (*[mad.DataSize]byte)(&info))
		}
	}
}

// answer answers a request that came in by a port of a device.
func (d *Devices) answer(i int32, in uint8, p *mad.Packet, obey func() (mad.Status, bool)) fabric.Reply {
	dev := &d.devices[i]
	var e *exchange
	if t := dev.tapes[keyOf(p, d.Net.Nodes[i].Type == mad.Switch, in)]; t != nil {
		if p.Method() == mad.MethodSet {
			e = t.set(p)
		} else {
			e = t.get()
		}
	}
	if e == nil {
		d.plain.Add(1)
		if !dev.known || p.AttrID() == smp.AttrSMInfo && p.MgmtClass().IsSubnet() {
			return fabric.Reply{None: true}
		}
		status, answers := obey()
		return fabric.Reply{Status: status, None: !answers}
	}
	d.recorded.Add(1)
	return e.replay(p, obey)
}

// replay makes a request the recorded response.
func (e *exchange) replay(p *mad.Packet, obey func() (mad.Status, bool)) fabric.Reply {
	isPortInfo := p.MgmtClass().IsSubnet() && p.AttrID() == smp.AttrPortInfo
	set := p.Method() == mad.MethodSet
	if set && e.succeeded() || isPortInfo && e.succeeded() {
		obey()
	}
	if e.response == nil {
		return fabric.Reply{None: true}
	}
	held := (*smp.PortInfo)(p.Data()).MKey() // where it is a PortInfo that the plain device obeyed
	p.SetAttrID(e.response.AttrID())
	p.SetAttrMod(e.response.AttrMod())
	if !p.MgmtClass().IsSubnet() {
		*p.PerfData() = *e.response.PerfData()
		return fabric.Reply{Status: e.response.Status(), After: e.after}
	}
	*p.Data() = *e.response.Data()
	if info := (*smp.PortInfo)(p.Data()); isPortInfo && info.MKey() == capture.BlankKey && held != 0 && e.succeeded() {
		info.SetMKey(held)
	}
	return fabric.Reply{Status: e.response.Status(), After: e.after}
}
