// Package sarec holds the records of subnet administration (IBA 15.2.5): each is
// its bytes on the wire with an accessor for each field, as long as the stride at
// which a table packs it. The header in front of them is in package mad.
//
//	want := (*sarec.PathRecord)(pkt.SAData()[:])
//	if pkt.ComponentMask().Has(sarec.PathDGID) {
//		find(want.DGID())
//	}
//
// Each record has its file: the type, the component-mask bits, the accessors and,
// where requests are matched field by field, the mask of the fields asked for.
package sarec
