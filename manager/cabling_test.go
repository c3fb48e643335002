package manager

import (
	"fmt"
	"slices"
	"testing"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/topo/cabling"
	"ibsm/view"
)

// TestCablingLog: a difference is logged when it appears and when it is gone, and not in between; of very many a part;
// that the plan is one of another subnet is one line.
func TestCablingLog(t *testing.T) {
	full := func(first mad.GUID) *cabling.Cabling { // 100 pairs
		c := &cabling.Cabling{}
		for i := range int32(200) {
			c.Devices = append(c.Devices, cabling.Device{GUID: first + mad.GUID(i), Name: fmt.Sprint("device ", i)})
			if i%2 == 1 {
				c.Cables = append(c.Cables,
					cabling.Cable{Ends: [2]cabling.End{{Device: i - 1, Port: 1}, {Device: i, Port: 1}}})
			}
		}
		return c
	}
	plan := full(0x1000)
	without := func(from, to int) *view.Cabling {
		c := full(0x1000)
		c.Cables = slices.Delete(c.Cables, from, to)
		return &view.Cabling{Comparison: cabling.Compare(plan, c), Enforced: true}
	}
	held := without(0, 0)
	held.Held = []view.HeldCable{{Switch: true}}
	other := &view.Cabling{Comparison: cabling.Compare(plan, full(0x9000))}
	ignored := &view.Cabling{Comparison: other.Comparison, Enforced: true}
	differs, held1 := finding.CablingDiffers.Text(), finding.CableHeldBack.Text()
	gone := "ended: " + differs
	further := "further findings of a kind"
	set, fx := finding.Set{}, &effects{}
	for i, c := range []struct {
		view *view.Cabling
		want []string
	}{
		{nil, nil},
		{without(0, 0), nil},
		{without(3, 5), []string{differs, differs}},
		{without(3, 5), nil},
		{without(4, 6), []string{differs, gone}},
		{without(0, 0), []string{gone, gone}},
		{held, []string{held1}},
		{held, nil},
		{nil, []string{"ended: " + held1}},
		{without(0, 90), append(slices.Repeat([]string{differs}, maxLogged), further)},
		{without(0, 0), append(slices.Repeat([]string{gone}, maxLogged), further)},
		{other, []string{finding.PlanOfOther.Text()}},
		{other, nil},
		{ignored, []string{finding.PlanIgnored.Text(), "ended: " + finding.PlanOfOther.Text()}},
		{ignored, nil},
	} {
		replace(fx, &set, cablingFindings(c.view), func(mad.GUID) string { return "" })
		if got := fx.logged(); !slices.Equal(got, c.want) {
			t.Errorf("step %d: %q, want %q", i, got, c.want)
		}
	}
}
