package plan

import (
	"fmt"

	"ibsm/plural"
)

// summaries are what a summary calls the Sets of each operation, in its order.
var summaries = []struct {
	op   Op
	text string
}{
	{Activate, "to make ports ACTIVE"},
	{Arm, "to make ports ARMED"},
	{SetPort, "of parameters of ports"},
	{TakeDown, "to take ports down"},
	{SetMKey, "of M_Keys"},
	{ShutOff, "to disable ports"},
	{TurnOn, "to enable ports"},
	{SetFDR10, "of FDR10"},
	{SetSwitch, "of parameters of switches"},
	{SetLFT, "of forwarding table blocks"},
	{SetSLtoVLAll, "of SLtoVLMappingTables of whole switches"},
	{SetSLtoVLOut, "of SLtoVLMappingTables of ports"},
	{SetSLtoVL, "of SLtoVLMappingTables"},
	{SetTurns, "of VLArbitrationTable blocks"},
	{AddPKeys, "that add P_Keys"},
	{SetPKeys, "of P_Key table blocks"},
	{DisableAR, "that turn adaptive routing off"},
	{ClearChange, "that clear PortStateChange"},
}

// Counts are how many steps of each operation a plan has that has not begun.
func (p *Plan) Counts() map[Op]int {
	defer p.Rewind()
	counts := map[Op]int{}
	for more := true; more; more = p.Advance() {
		for st, ok := p.Next(); ok; st, ok = p.Next() {
			counts[st.Op]++
		}
	}
	return counts
}

// Summary has a line with the number of Sets of each operation of a plan that has not begun.
func (p *Plan) Summary() (lines []string) {
	counts := p.Counts()
	for _, s := range summaries {
		if n := counts[s.op]; n > 0 {
			lines = append(lines, fmt.Sprintf("%s %s", plural.Of(n, "Set"), s.text))
		}
	}
	return lines
}
