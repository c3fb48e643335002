package ufm

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/partitions/callers"
	"ibsm/registry"
)

// QoS is how packets in a partition travel. A partition for which nobody has said it has 2, 0 and 2.5.
type QoS struct {
	MTU  int     `json:"mtu_limit"` // in KiB: 2 or 4
	SL   uint8   `json:"service_level"`
	Rate float64 `json:"rate_limit"` // in Gb/s, of knownRates
}

// knownRates are those that clients accept, ascending: a partition with another one would have them refuse the whole
// list.
var knownRates = []float64{2.5, 5, 10, 14, 20, 25, 30, 40, 56, 60, 80, 100, 112, 120, 168, 200, 300}

// qosOf is how packets in a partition travel: values that clients do not accept are answered as the next lower ones.
func qosOf(p *ctl.Partition) *QoS {
	q := &QoS{MTU: 2, SL: p.SL, Rate: knownRates[0]}
	if p.MTU >= 4096 {
		q.MTU = 4
	}
	for _, r := range knownRates {
		if r <= p.Rate {
			q.Rate = r
		}
	}
	return q
}

const (
	expectedMTU  = "2 or 4 (KiB)"
	expectedRate = "Gb/s, such as 2.5, 100 or 200"
	expectedSL   = "0 to 15"
)

func (w *wanted) parseMTU(raw json.RawMessage) error {
	n, err := parseNumber(raw, expectedMTU)
	switch {
	case err != nil:
		return err
	case n == 2:
		w.mtu = mad.MTU2048
	case n == 4:
		w.mtu = mad.MTU4096
	default:
		return errors.New(shown(raw) + " is not valid: expected " + expectedMTU)
	}
	return nil
}

func (w *wanted) parseRate(raw json.RawMessage) error {
	n, err := parseNumber(raw, expectedRate)
	if err != nil {
		return err
	}
	if n == 2 { // as some write 2.5
		n = knownRates[0]
	}
	for rank := 1; rank <= mad.MaxRank; rank++ {
		if r := mad.RateOfRank(rank); r.Gbps() == n {
			w.rate = r
			return nil
		}
	}
	return errors.New(shown(raw) + " is not the rate of a link: expected " + expectedRate)
}

func (w *wanted) parseSL(raw json.RawMessage) error {
	n, err := parseNumber(raw, expectedSL)
	if err != nil {
		return err
	}
	if !slices.Contains([]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, n) {
		return errors.New(shown(raw) + " is not valid: expected " + expectedSL)
	}
	sl := uint8(n)
	w.sl = &sl
	return nil
}

// change sets what a body says of a partition.
func (w *wanted) change(p *callers.Wanted) {
	if w.ipoib != nil {
		if p.IPoIB = *w.ipoib; !p.IPoIB {
			p.Scope, p.QKey = 0, 0 // of the group that it has no more
		}
	}
	if w.mtu != 0 {
		p.MTU = w.mtu
	}
	if w.rate != 0 {
		p.Rate = w.rate
	}
	if w.sl != nil {
		p.SL = *w.sl
	}
}

// agrees reports whether a partition is what a body says: what is not stored is the default, as qosOf answers it.
func (w *wanted) agrees(p *registry.Partition) bool {
	return (w.name == "" || w.name == p.Name) && (w.ipoib == nil || *w.ipoib == p.IPoIB) &&
		(w.mtu == 0 || w.mtu == cmp.Or(p.MTU, mad.MTU2048)) &&
		(w.rate == 0 || w.rate.Gbps() == cmp.Or(p.Rate.Gbps(), knownRates[0])) && (w.sl == nil || *w.sl == p.SL)
}
