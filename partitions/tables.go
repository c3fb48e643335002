package partitions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/topo"
)

// Enforcement is where switches check the P_Keys of packets to and from adapters and
// routers (part_enforce).
type Enforcement uint8

// The zero value is OpenSM's default.
const (
	EnforceBoth Enforcement = iota
	EnforceIn
	EnforceOut
	EnforceOff
)

var enforcementNames = map[Enforcement]string{
	EnforceBoth: "both",
	EnforceIn:   "in",
	EnforceOut:  "out",
}

// String is the word of opensm.conf.
func (e Enforcement) String() string { return cmp.Or(enforcementNames[e], "off") }

// Settings say how a Policy becomes tables.
type Settings struct {
	Enforce       Enforcement
	AllowBoth     bool // Both means two keys rather than a full one (allow_both_pkeys)
	ForgetIndexes bool // the index of a key that was removed is free for any other (keep_pkey_indexes FALSE)
	// Tenants says that hosts may write their own tables: only ports of switches confine them. They also get the key of
	// a full member where they hold that of a limited one.
	Tenants bool
}

// Port names an end port by its GUID, or an external port of a switch by the switch's
// and its number.
type Port struct {
	GUID mad.GUID
	Num  uint8 // of external ports
}

// Indexes remember, for ports that have lost keys, at which index each was. The caller
// keeps them from one Compile to the next.
type Indexes map[Port]*topo.PKeyTable

// maxIndexes limits the ports whose indexes are remembered: a host may be another port in each sweep. It is several
// times as many as a subnet has LIDs.
const maxIndexes = 4 * int(mad.MaxUnicastLID)

// prune forgets the indexes of ports and vPorts that have left, where there are too many.
func (x Indexes) prune(t *topo.Topo) {
	if len(x) > maxIndexes {
		maps.DeleteFunc(x, func(p Port, _ *topo.PKeyTable) bool {
			return t.FindPort(p.GUID) == topo.None && t.FindVPort(p.GUID) == topo.None
		})
	}
}

// Checking is how an external port of a switch checks P_Keys.
type Checking uint8

// What a port does about P_Keys.
const (
	LeaveAsIs Checking = iota // as it does now
	Unchecked
	Checked // as Settings.Enforce says
)

// Tables are the target P_Key tables of a subnet. They are immutable.
type Tables struct {
	Policy   *Policy // nil where nobody chose one
	Settings Settings
	Want     []*topo.PKeyTable // by PortIdx; nil for a table that is left alone
	Checking []Checking        // by PortIdx, of external ports
	// by PortIdx, of external ports: Want lets pass what the port behind may send and get, and nothing else
	Exact     []bool
	Confines  bool // as Policy.Confines says
	Overflows []Overflow
	// VPorts are the target tables of vPorts, by VPortIdx; nil for one that is left alone.
	VPorts   []*topo.PKeyTable
	Remember Indexes        // as the next Compile begins with them
	Claims   []Claim        // hosts that are no members by their names
	Unknown  []topo.PortIdx // end ports whose tables could not be read, so that they cannot be written either
}

// Table is what a port will have: its target, or what it has where its table is left alone, nil if that is not known. t
// may be nil.
func (t *Tables) Table(of *topo.Topo, p topo.PortIdx) *topo.PKeyTable {
	if t != nil && t.Want[p] != nil {
		return t.Want[p]
	}
	return of.Ports[p].PKeys
}

// Overflow is a port that cannot hold all its wanted keys.
type Overflow struct {
	Port  topo.PortIdx
	Size  int           // entries that it has
	Left  []mad.PKey    // keys that found no room; of an external port all, since nothing is cut there
	VPort topo.VPortIdx // the one behind Port that it is about; None where it is about Port
}

// compiler is a Compile under way.
type compiler struct {
	*Tables
	t       *topo.Topo
	members [][]mad.PKey // wanted keys by member, of end ports and vPorts
	absent  []*Member    // that OpenSM does not know, without a port
	first   []mad.PKey   // the key for index 0 by member, where the file asks for one; empty where it never does
	tables  topo.PKeyTables
	scratch scratch
}

// Compile makes of a Policy the tables of a subnet, of its ports and vPorts, whose Topo has the tables as they
// are. A key that stays keeps its index, because queue pairs name their key by its index. Only
// indx0 moves keys: the one that it is about, and the one that is at index 0. A key that comes goes
// where it was before, if it was, else behind all that ever were, else into a hole; that of
// the default partition goes to index 0 if no key stays there.
//
// A nil Policy leaves what stands: only a port without a single key becomes a full member
// of the default partition, and nothing is remembered. One with Owned leaves all keys that are not owned.
func Compile(policy *Policy, settings Settings, t *topo.Topo, remembered Indexes) *Tables {
	c := &compiler{
		Tables: &Tables{Policy: policy, Settings: settings, Want: make([]*topo.PKeyTable, len(t.Ports)),
			Checking: make([]Checking, len(t.Ports)), Exact: make([]bool, len(t.Ports))},
		t: t,
	}
	if n := t.VPorts.Len(); n > 0 {
		c.VPorts = make([]*topo.PKeyTable, n)
	}
	if policy == nil {
		c.fill()
		return c.Tables
	}
	c.members = make([][]mad.PKey, len(t.Ports)+t.VPorts.Len())
	c.Confines = len(policy.Owned) == 0 && policy.Confines()
	if c.Remember = maps.Clone(remembered); c.Remember == nil {
		c.Remember = Indexes{}
	}
	c.join()
	c.ask()
	for _, p := range t.EndPorts {
		c.endPort(p)
	}
	for v := range c.VPorts {
		c.vPort(topo.VPortIdx(v))
	}
	c.Remember.prune(t)
	for p := range t.Ports {
		if t.IsSwitchPort(topo.PortIdx(p)) && t.Ports[p].Peer != topo.None {
			c.external(topo.PortIdx(p))
		}
	}
	return c.Tables
}

// fill gives ports that are in no partition the default one.
func (c *compiler) fill() {
	var full *topo.PKeyTable
	for _, p := range c.t.EndPorts {
		if held := c.t.Ports[p].PKeys; held != nil && len(held.Keys()) == 0 {
			if full == nil {
				full = topo.NewPKeyTable([]mad.PKey{mad.DefaultPKey})
			}
			c.Want[p] = full
		}
	}
	for v := range c.VPorts {
		held := c.t.VPorts.At(topo.VPortIdx(v))
		if held.PKeys != nil && len(held.PKeys.Keys()) == 0 && c.hasTable(held) {
			c.VPorts[v] = topo.NewPKeyTable([]mad.PKey{mad.DefaultPKey})
		}
	}
}

// inTableOrder is the order in which OpenSM gives keys that are new their indexes: that
// of the numbers with their octets swapped.
func inTableOrder(a, b *Partition) int {
	return cmp.Compare(a.Key<<8|a.Key>>8, b.Key<<8|b.Key>>8)
}

// join finds the members of each partition.
func (c *compiler) join() {
	order := make([]*Partition, len(c.Policy.Partitions))
	for i := range order {
		order[i] = &c.Policy.Partitions[i]
	}
	if len(c.Policy.Owned) > 0 { // no file says who is in the others
		order = slices.DeleteFunc(order, func(p *Partition) bool { return p.Number == 0 })
	}
	slices.SortStableFunc(order, inTableOrder)
	last := make([]*Member, len(c.members)) // that names the port
	var named []member
	for _, part := range order {
		named = named[:0]
		for i := range part.Members {
			c.claim(part, &part.Members[i])
		}
		var seen [OfGroup + 1]bool // sets of ports
		for i := range slices.Backward(part.Members) {
			m := &part.Members[i]
			if m.isSet() && seen[m.Who] {
				continue
			}
			seen[m.Who] = true
			for _, p := range c.who(m) {
				if last[p] == nil {
					named = append(named, p)
					last[p] = m
				}
			}
		}
		for _, p := range named {
			c.enter(p, part.Key, last[p])
			last[p] = nil
		}
	}
}

// who are the end ports and vPorts that a Member names and that are there.
func (c *compiler) who(m *Member) []member {
	s := &c.scratch
	switch m.Who {
	case OnePort:
		s.one[0] = c.find(m.Port)
	case Self:
		s.one[0] = c.t.Self
	case All:
		return c.all()
	case AllVCAs:
		return c.virtual()
	case AllCAs:
		return c.ofType(mad.CA)
	case AllSwitches:
		return c.ofType(mad.Switch)
	case AllRouters:
		return c.ofType(mad.Router)
	case InRange, Hosts, OfGroup:
		ports, claimed := c.lookUp(m)
		ports = c.withRange(m, ports)
		if len(ports)+len(claimed) == 0 {
			c.absent = append(c.absent, m)
		}
		return ports
	default:
		return nil
	}
	if s.one[0] == topo.None {
		return nil
	}
	return s.one[:]
}

// ofType are the end ports of nodes of a type.
func (c *compiler) ofType(typ mad.NodeType) []topo.PortIdx {
	s := &c.scratch
	if s.ofType == nil {
		s.ofType = map[mad.NodeType][]topo.PortIdx{}
		for _, p := range c.t.EndPorts {
			node := &c.t.Nodes[c.t.Ports[p].Node]
			s.ofType[node.Type] = append(s.ofType[node.Type], p)
		}
	}
	return s.ofType[typ]
}

// MaxKeys is how many partitions a port can be a member of. Ports have tables of 128 entries and fewer.
const MaxKeys = 1024

// enter notes a port's membership, of two keys the limited one first, as OpenSM does.
func (c *compiler) enter(p member, key mad.PKey, m *Member) {
	if len(c.members[p]) >= MaxKeys {
		return
	}
	if c.limited(m) {
		c.members[p] = append(c.members[p], key)
	}
	if m.Membership != Limited {
		c.members[p] = append(c.members[p], key|mad.FullMember)
	}
}

// limited reports whether a Member gives ports the limited key.
func (c *compiler) limited(m *Member) bool {
	return m.Membership == Limited || m.Membership == Both && c.Settings.AllowBoth
}

// ask finds the keys that the file wants at index 0 (indx0). As with OpenSM the last item of the file that
// names a port with indx0 decides, unless a later one names it in the same partition without. Of two
// keys of one partition it is the limited one. Callers come before the file, in the order of their changes.
func (c *compiler) ask() {
	type item struct {
		*Member
		key mad.PKey
	}
	var items []item
	asks := false
	for i := range c.Policy.Partitions {
		part := &c.Policy.Partitions[i]
		for j := range part.Members {
			items = append(items, item{&part.Members[j], part.Key})
			asks = asks || part.Members[j].Index0
		}
	}
	if !asks {
		return
	}
	slices.SortStableFunc(items, func(a, b item) int {
		// that of the file, 0, becomes the highest
		return cmp.Or(cmp.Compare(a.Number-1, b.Number-1), cmp.Compare(a.Position.Line, b.Position.Line),
			cmp.Compare(a.Position.Col, b.Position.Col))
	})
	type ofSet struct {
		who    Who
		index0 bool
		key    mad.PKey
	}
	last := map[ofSet]int{} // an earlier item that says the same changes nothing
	for i, it := range items {
		if it.isSet() {
			last[ofSet{it.Who, it.Index0, it.key}] = i
		}
	}
	c.first = make([]mad.PKey, len(c.members))
	for i, it := range items {
		if it.isSet() && last[ofSet{it.Who, it.Index0, it.key}] != i {
			continue
		}
		key := it.key
		if !c.limited(it.Member) {
			key |= mad.FullMember
		}
		for _, p := range c.who(it.Member) {
			if it.Index0 {
				c.first[p] = key
			} else if c.first[p].Base() == it.key {
				c.first[p] = 0
			}
		}
	}
}

// endPort decides the table of a port that has a LID.
func (c *compiler) endPort(p topo.PortIdx) {
	port := &c.t.Ports[p]
	if port.PKeys == nil {
		c.Unknown = append(c.Unknown, p)
		return
	}
	at := place{
		port: Port{GUID: port.GUID}, held: port.PKeys, want: c.members[p],
		size: c.t.Nodes[port.Node].PKeyTableSize(port.Num), forget: c.Settings.ForgetIndexes,
	}
	c.complete(p, &at)
	c.settle(p, &at)
}

// complete completes the place of a member: with the keys that stay beside those of callers, and those for index 0.
func (c *compiler) complete(p member, at *place) {
	if c.first != nil {
		at.first = c.first[p]
	}
	if len(c.Policy.Owned) > 0 {
		at.want = c.others(at.held, at.want)
		if len(at.held.Keys()) == 0 {
			at.want = append(at.want, mad.DefaultPKey)
		}
	}
	for _, k := range at.want {
		if k.Base() == DefaultKey {
			at.home = k // the full member's if there are both
		}
	}
}

// owns reports whether a key is one of Owned.
func (p *Policy) owns(k mad.PKey) bool {
	_, is := slices.BinarySearch(p.Owned, k.Base())
	return is
}

// others are the keys of a table that are not owned, and then wanted ones.
func (c *compiler) others(held *topo.PKeyTable, wanted []mad.PKey) (keys []mad.PKey) {
	for _, k := range held.Keys() {
		if k.Valid() && !c.Policy.owns(k) {
			keys = append(keys, k)
		}
	}
	return append(keys, wanted...)
}

// external decides the table of a switch's port and whether it checks: it lets pass what
// the adapter or router behind it may send or receive by its target table. Between switches
// nothing is checked.
//
// Towards a limited member OpenSM writes the limited key. This suffices where a switch checks inbound
// packets otherwise than an end port does (IBA 1.2 o18-14), and so it stays where it stands. A switch that compares
// as an end port does (IBA 10.9.3) lets in nothing from such a member then. The key of a full member suffices for both,
// and so new ports get this one, and others where the settings say so.
func (c *compiler) external(p topo.PortIdx) {
	port := &c.t.Ports[p]
	node := &c.t.Nodes[port.Node]
	size := node.PKeyTableSize(port.Num)
	switch {
	case size == 0:
		return
	case c.t.IsSwitchPort(port.Peer) || c.Settings.Enforce == EnforceOff:
		c.Checking[p] = Unchecked
		return
	case port.PKeys == nil || !c.t.Ports[port.Peer].Seen: // or whose keys they are is not known
		return
	}
	at := place{port: Port{node.GUID, port.Num}, held: port.PKeys, size: size, forget: true}
	keys := c.behind(port.Peer)
	if len(c.Policy.Owned) > 0 {
		c.externalBesideOthers(p, &at)
		return
	}
	c.Exact[p] = true
	for i, key := range keys {
		full := key | mad.FullMember
		if key != full && i+1 < len(keys) && keys[i+1] == full {
			continue // it lets pass what the limited key does
		}
		if c.Settings.Tenants || port.PKeys.Has(full) || !port.PKeys.Has(key) {
			c.Exact[p] = c.Exact[p] && key == full
			key = full
		}
		at.want = append(at.want, key)
	}
	if len(at.want) > size {
		c.Overflows = append(c.Overflows, Overflow{p, size, at.want, topo.None})
		c.Checking[p] = Unchecked
		return
	}
	c.Checking[p] = Checked
	c.settle(p, &at)
}

// externalBesideOthers decides the table of a switch's port where no file says who else may pass: if it checks, it lets
// pass what it did, and what the partitions of callers say about the port behind it.
func (c *compiler) externalBesideOthers(p topo.PortIdx, at *place) {
	port := &c.t.Ports[p]
	if !port.Info.PartitionEnforcementInbound() && !port.Info.PartitionEnforcementOutbound() {
		return
	}
	keys := c.behind(port.Peer)
	full := make([]mad.PKey, 0, len(keys))
	for _, key := range keys {
		if key |= mad.FullMember; !slices.Contains(full, key) {
			full = append(full, key)
		}
	}
	at.want = c.others(port.PKeys, full)
	if len(at.want) > at.size {
		c.Overflows = append(c.Overflows, Overflow{p, at.size, at.want, topo.None})
		return
	}
	c.settle(p, at)
}

// settle gives each key of a place its index.
func (c *compiler) settle(p topo.PortIdx, at *place) {
	var left []mad.PKey
	if c.Want[p], left = c.layOut(at); len(left) > 0 {
		c.Overflows = append(c.Overflows, Overflow{p, at.size, left, topo.None})
	}
}

// layOut is the target table of a place, and the keys that find no room in it.
func (c *compiler) layOut(at *place) (want *topo.PKeyTable, left []mad.PKey) {
	at.ever = c.Remember[at.port]
	if at.settled() {
		return at.held, nil
	}
	table, left := at.assign(&c.scratch)
	want = c.tables.Of(table, at.held)
	if at.forget {
		return want, left
	}
	if ever := c.tables.Of(at.outlived(table), at.ever); ever != want {
		c.Remember[at.port] = ever
	} else {
		delete(c.Remember, at.port)
	}
	return want, left
}

// Name is the key with the name of its partition, for a message.
func (p *Policy) Name(key mad.PKey) string {
	if p != nil {
		if part := p.Find(key); part != nil && part.Name != "" {
			return fmt.Sprintf("%v (%s)", key, part.Name)
		}
	}
	return key.String()
}

// maxNamed is how many keys of an Overflow are named.
const maxNamed = 8

// Explain describes an Overflow, and what to do.
func (t *Tables) Explain(o Overflow, subnet *topo.Topo) string {
	port := &subnet.Ports[o.Port]
	node := &subnet.Nodes[port.Node]
	var names []string
	for _, k := range o.Left[:min(len(o.Left), maxNamed)] {
		names = append(names, t.Policy.Name(k))
	}
	if more := len(o.Left) - maxNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if subnet.IsSwitchPort(o.Port) {
		return fmt.Sprintf(
			"port %d of switch %v %q has room for %[5]d of %[4]d P_Keys: it enforces none. Remove the host behind it from a partition",
			port.Num, node.GUID, node.Desc.String(), len(o.Left), o.Size)
	}
	what := fmt.Sprintf("port %v", port.GUID)
	if o.VPort != topo.None {
		v := subnet.VPorts.At(o.VPort)
		what = fmt.Sprintf("vPort %d, %v,", v.Index, v.GUID)
	}
	return fmt.Sprintf("%s of %q holds %d P_Keys, and no room is left for %s: take it out of a partition",
		what, node.Desc.String(), o.Size, strings.Join(names, ", "))
}
