package conf

import (
	"fmt"
	"strings"
)

// LaneKeys are the settings of how a kind of port uses its lanes. A list that no port can hold
// counts as unset; see Invalid.
type LaneKeys struct {
	HighLimit Accessor[*uint8]   // nil if unset
	High, Low Accessor[[]VLTurn] // nil if unset
	SLtoVL    Accessor[[]uint8]  // VL by SL, nil if unset
}

// VLTurn is an entry of a list of VL arbitration.
type VLTurn struct{ VL, Weight uint8 }

// LanesOf are the settings of a kind of port: "" for all kinds, ca, sw0, swe, sw2sw or rtr.
func LanesOf(kind string) LaneKeys {
	prefix := "qos_"
	if kind != "" {
		prefix += kind + "_"
	}
	return LaneKeys{
		HighLimit: accessor(prefix+"high_limit", highLimit, func(k *Key) bool { return k.Kind == I32 }),
		High:      turns(prefix + "vlarb_high"),
		Low:       turns(prefix + "vlarb_low"),
		SLtoVL: accessor(prefix+"sl2vl", func(v Value) []uint8 {
			vls, _ := parseSLtoVL(v)
			return vls
		}, func(k *Key) bool { return k.Kind == List }),
	}
}

func highLimit(v Value) *uint8 {
	if int64(v.Num) < 0 {
		return nil
	}
	n := uint8(v.Num)
	return &n
}

func turns(name string) Accessor[[]VLTurn] {
	return accessor(name, func(v Value) []VLTurn {
		list, _ := parseTurns(v)
		return list
	}, func(k *Key) bool { return k.Kind == List })
}

// parseSLtoVL reads a VL for each SL. As with OpenSM, missing ones are VL 0, and more than there
// are SLs do not matter.
func parseSLtoVL(v Value) (vls []uint8, err error) {
	for _, e := range v.list() {
		n, err := within(e, 15)
		if err != nil {
			return nil, fmt.Errorf("VL %s: %w", shown(e), err)
		}
		vls = append(vls, uint8(n))
	}
	return vls[:min(len(vls), slCount)], nil
}

// vlArbLength is how many entries a VL arbitration table has (IBA 7.6.9.1).
const vlArbLength = 64

// parseTurns reads entries vl:weight.
func parseTurns(v Value) (list []VLTurn, err error) {
	for i, e := range v.list() {
		vl, weight, found := strings.Cut(e, ":")
		n, errVL := within(vl, 14)
		w, errWeight := within(weight, 255)
		switch {
		case !found || errVL != nil || errWeight != nil:
			return nil, fmt.Errorf("%s: expected vl:weight, 0 to 14 and 0 to 255", shown(e))
		case i == vlArbLength:
			return nil, fmt.Errorf("%d pairs listed; expected %d at most", len(v.list()), vlArbLength)
		}
		list = append(list, VLTurn{uint8(n), uint8(w)})
	}
	return list, nil
}

// checkLanes rejects lists that no port can hold.
func (c *Config) checkLanes(report *Report) {
	for i := range table {
		k, s := &table[i], &c.settings[i]
		var err error
		switch {
		case strings.HasSuffix(k.Name, "_sl2vl"):
			var vls []uint8
			if vls, err = parseSLtoVL(s.Value); err == nil && vls != nil && len(s.Value.list()) != slCount {
				report.add(Warning, s.Position, k.Name, "%s: %d VLs listed; expected %d, one for each SL", k.Name,
					len(s.Value.list()), slCount)
			}
		case strings.Contains(k.Name, "_vlarb_"):
			_, err = parseTurns(s.Value)
		case strings.HasSuffix(k.Name, "_max_vls") && s.Value.Num != 0:
			report.add(Note, s.Position, k.Name,
				"%s has no effect, as with OpenSM, which reads it and does not use it; max_op_vls limits the VLs of links", k.Name)
		}
		if err != nil {
			report.add(Invalid, s.Position, k.Name, "%s: %v", k.Name, err)
		}
	}
}

// within reads a number from 0 to a highest one.
func within(text string, highest uint64) (uint64, error) {
	n, err := parseNumber(strings.Trim(text, blanks), 32)
	if err == nil && n > highest {
		err = fmt.Errorf("expected 0 to %d", highest)
	}
	return n, err
}
