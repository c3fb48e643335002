package routes

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"slices"

	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/sweep/engines"
	"ibsm/topo"
)

// Record says which engine computed the routes in force where nobody chose one, and which tables these are. It is
// kept over a restart, and mirrored to standbys: a manager that finds these tables goes on with the engine. That these
// are interim routes is recorded whoever chose the engine they serve for. The zero value is for other routes.
type Record struct {
	Engine string
	Sum    uint64 // of the forwarding tables of all switches
}

// Text is the record as it is stored.
func (r Record) Text() []byte { return fmt.Appendf(nil, "%s %016x\n", r.Engine, r.Sum) }

// ParseRecord is the inverse of Text. It returns the zero value for what Text does not write.
func ParseRecord(text []byte) (r Record) {
	if n, err := fmt.Sscanf(string(text), "%s %x\n", &r.Engine, &r.Sum); n != 2 || err != nil ||
		!bytes.Equal(r.Text(), text) {
		return Record{}
	}
	return r
}

var tablesPolynomial = crc64.MakeTable(crc64.ECMA)

// sumOf is the sum of the forwarding tables of the switches of a subnet. Entries without a port behind the last one
// with one do not matter.
func sumOf(t *topo.Topo, rows func(s topo.SwitchIdx) []uint8) (sum uint64) {
	for _, n := range t.Switches { // by GUID
		row := rows(t.Nodes[n].Switch)
		for len(row) > 0 && row[len(row)-1] == routing.NoPath {
			row = row[:len(row)-1]
		}
		sum = crc64.Update(crc64.Update(sum, tablesPolynomial, guidOf(t, n)), tablesPolynomial, row)
	}
	return sum
}

func guidOf(t *topo.Topo, n topo.NodeIdx) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(t.Nodes[n].GUID))
}

// interimRoutes is what stands for an engine in the record of interim routes.
const interimRoutes = "interim"

// record is the record of the routes of a plan.
func (a *attempt) record(r *routed) Record {
	d, engine := &a.next, r.engine.Name
	switch {
	case d.interim != nil && d.whose == recordedRoutes:
		return a.was.record // which stay in force as far as they work
	case d.interim != nil && !d.whose.adopted():
		engine = interimRoutes
	case d.by == byChosen || d.whose.adopted() || r.engine.IsMinHop():
		return Record{}
	}
	return Record{engine, sumOf(a.Topo, func(s topo.SwitchIdx) []uint8 { return r.tables.LFT[s] })}
}

// found reports whether switches have the tables of a record.
func (r Record) found(t *topo.Topo, switches []device.Walked) bool {
	return r.Engine != "" && r.Sum == sumOf(t, func(s topo.SwitchIdx) []uint8 { return switches[s].LFT.Row() })
}

// from is a chain without the engines before that of a record, if it has this one: then they refused the subnet.
func (r Record) from(c engines.Chain) engines.Chain {
	if at := slices.IndexFunc(c, func(e engines.Engine) bool { return e.Name == r.Engine }); at >= 0 {
		return c[at:]
	}
	return c
}
