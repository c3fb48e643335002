package plan

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/lanes"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// LaneRules are how ports divide packets among lanes once a plan is carried out: what the proof of
// routes starts from. They are immutable.
type LaneRules struct {
	// Lanes is as Lanes returns it.
	Lanes []uint8
	// Maps are the SLtoVLMappingTables. Where a port's is neither written nor known, each SL is on the
	// lane of its number.
	Maps *routing.Maps
	// Turns is, by PortIdx, a bit for each VL that the VL arbitration of the port gives turns; all of
	// them where that is neither written nor known.
	Turns []uint16
}

// NewLaneRules are those of ports that use their lanes as uses says, where a plan writes that, and
// of others by what they hold. engine are the SLtoVLMappingTables that the routing engine wants in place
// of those of uses, nil without any, and links is as Lanes returns it. Nil rules say that all SLs of paths are on
// the lanes of their numbers, as far as anybody knows: nothing is written, and nothing was read.
func NewLaneRules(t *topo.Topo, links []uint8, uses *lanes.Uses, engine *routing.Maps, held *device.Ports,
	optional device.Optional) *LaneRules {
	if uses == nil && !held.Holds(smp.AttrSLtoVLMappingTable) {
		return nil
	}
	r := laneRuleBuilder{t: t, links: links, uses: uses, engine: engine, held: held, optional: optional,
		written: map[laneRow]*routing.SLToVL{}, read: map[*byte][]*routing.SLToVL{}}
	rules := &LaneRules{Lanes: links, Maps: &routing.Maps{Of: make([][]*routing.SLToVL, len(t.Ports))},
		Turns: make([]uint16, len(t.Ports))}
	for i := range t.Ports {
		p := topo.PortIdx(i)
		rules.Turns[i] = everyTurn
		if t.Ports[i].Peer != topo.None && t.Ports[i].Info.PortState() != smp.PortDown {
			rules.Maps.Of[i], rules.Turns[i] = r.tables(p), r.turns(p)
		}
	}
	return rules
}

// Same reports whether two rules divide all packets alike.
func (r *LaneRules) Same(o *LaneRules) bool {
	if r == nil || o == nil || r == o {
		return r == o
	}
	sameList := func(a, b []*routing.SLToVL) bool {
		return slices.EqualFunc(a, b, func(x, y *routing.SLToVL) bool { return x.Equal(y) })
	}
	return slices.Equal(r.Lanes, o.Lanes) && slices.Equal(r.Turns, o.Turns) &&
		slices.EqualFunc(r.Maps.Of, o.Maps.Of, sameList)
}

// everyTurn is the Turns of a port that lets no lane wait for ever.
const everyTurn = 1<<routing.DropVL - 1

// laneRuleBuilder makes the rules.
type laneRuleBuilder struct {
	t      *topo.Topo
	links  []uint8
	uses   *lanes.Uses
	engine *routing.Maps // of the routing engine, in place of those of uses; nil without
	held   *device.Ports
	// optional has the ports that do not take their tables.
	optional device.Optional
	written  map[laneRow]*routing.SLToVL
	read     map[*byte][]*routing.SLToVL
}

// oneLane is the table of a port that has none: it has one data VL.
var oneLane = []*routing.SLToVL{{}}

// tables are the SLtoVLMappingTables of a port with a link.
func (r *laneRuleBuilder) tables(p topo.PortIdx) []*routing.SLToVL {
	node := &r.t.Nodes[r.t.Ports[p].Node]
	agent := p
	if node.Type == mad.Switch {
		agent = node.First
	}
	kind, own := Kind(r.t, p)
	at := r.place(smp.AttrSLtoVLMappingTable, p)
	switch use := r.use(p, at); {
	case !r.t.Ports[agent].Info.CapabilityMask().Has(smp.IsSLMappingSupported):
		return oneLane
	case use != nil && r.engine != nil:
		return r.ofEngine(p, node)
	case use != nil:
		port := lanes.Port{OperationalVLs: r.code(p)}
		name := laneRow{kind: kind, port: port}
		if r.written[name] == nil {
			r.written[name] = decoded(use.Table(port))
		}
		return []*routing.SLToVL{r.written[name]}
	case own:
		return r.known(r.held.Blocks(at))
	}
	return nil
}

// ofEngine are the tables that the routing engine wants of a port, on the lanes that it has.
func (r *laneRuleBuilder) ofEngine(p topo.PortIdx, node *topo.Node) (tables []*routing.SLToVL) {
	port, ins := lanes.Port{OperationalVLs: r.code(p)}, uint8(0)
	if node.Type == mad.Switch && len(r.engine.Of[p]) > 1 {
		ins = node.NumPorts
	}
	for in := range ins + 1 {
		tables = append(tables, decoded(port.Table(r.engine.Table(in, p).VL)))
	}
	return tables
}

func (r *laneRuleBuilder) place(attr mad.AttrID, p topo.PortIdx) device.Place {
	return device.Place{Attr: attr, Node: r.t.Nodes[r.t.Ports[p].Node].GUID, Port: r.t.Ports[p].Num}
}

// use is the wanted use of a port's lanes; nil where the tables at a place are left as they are.
func (r *laneRuleBuilder) use(p topo.PortIdx, at device.Place) *lanes.Use {
	kind, ok := Kind(r.t, p)
	if !ok || r.uses == nil || r.optional.GivenUp(at) || private(r.t, p) || !r.t.Ports[p].Seen ||
		r.t.Nodes[r.t.Ports[p].Node].Missed > 0 {
		return nil
	}
	return &r.uses[kind]
}

// code is the OperationalVLs of a link by the number of its lanes.
func (r *laneRuleBuilder) code(p topo.PortIdx) uint8 {
	n := r.links[p]
	if n == 0 {
		n = r.links[r.t.Ports[p].Peer]
	}
	for code := uint8(1); code < 5; code++ {
		if n == 1<<(code-1) {
			return code
		}
	}
	return 5
}

func decoded(t smp.SLtoVLMappingTable) *routing.SLToVL {
	var m routing.SLToVL
	for sl := range m {
		m[sl] = t.VL(uint8(sl))
	}
	return &m
}

// known are the tables of blocks, one where all are equal.
func (r *laneRuleBuilder) known(b *device.Blocks) (tables []*routing.SLToVL) {
	row := b.Row()
	if len(row) == 0 {
		return nil
	}
	if b.Complete() && r.read[&row[0]] != nil {
		return r.read[&row[0]]
	}
	same := true
	for in := range len(row) / device.BlockSize {
		var m *routing.SLToVL
		if b.State(in) == device.Known {
			m = decoded(smp.SLtoVLMappingTable(b.Known(in)))
		}
		tables = append(tables, m)
		same = same && m.Equal(tables[0])
	}
	if same {
		tables = tables[:1]
	}
	if b.Complete() {
		r.read[&row[0]] = tables
	}
	return tables
}

// turns are those of a port with a link. One that shows no turns at all, as after power-up, works all
// the same.
func (r *laneRuleBuilder) turns(p topo.PortIdx) (turns uint16) {
	port := &r.t.Ports[p]
	can := lanes.Of(&port.Info, r.code(p))
	at := r.place(smp.AttrVLArbitrationTable, p)
	held, use := r.held.Blocks(at), r.use(p, at)
	var of *routing.LaneOfTurn
	if r.engine != nil && r.engine.Turns != nil {
		of = r.engine.Turns[p]
	}
	for b := range lanes.Blocks {
		var table smp.VLArbitrationTable
		switch n := can.Turns(b); {
		case n == 0:
			continue
		case use != nil:
			table = use.Arbitration(can, b, of)
		case held.State(b) == device.Known:
			table = smp.VLArbitrationTable(held.Known(b))
		default:
			return everyTurn
		}
		for i := range can.Turns(b) {
			if vl, weight := table.Entry(i); weight > 0 {
				turns |= 1 << vl
			}
		}
	}
	if turns == 0 {
		return everyTurn
	}
	return turns
}
