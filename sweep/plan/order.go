package plan

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// Stage is a part of a plan. A stage begins when every step of the stages before it has its
// outcome.
type Stage uint8

// Stages in their order. The order keeps data from passing a table that is not programmed,
// and gives two ports that share a P_Key before and after the plan a common one all the time.
const (
	Prepare      Stage = iota // Sets that depend on nothing
	SwitchInfos               // LinearFDBTop before the blocks that it covers
	LaneSwitches              // tables of lanes before paths get SLs: for all ports of a switch,
	LaneOutputs               // for a port that differs,
	LanePairs                 // and for each way into a port
	// before any link of the switch is ARMED, but for those that its table of before does not lead over:
	ForwardingTables
	// these come up in a subnet in use when the switches over which nothing passes yet have their tables,
	ArmLinks
	// and then the others get the tables that lead over these links, whether all of them have come up or not
	ActivateLinks
	RelaxEnforcement // before P_Keys are added: data that they allow would be dropped
	AddSwitchPKeys   // new P_Keys everywhere before any old one is removed
	AddHostPKeys
	RemoveSwitchPKeys // the first stage that removes P_Keys
	RemoveHostPKeys
	MoveSwitchPKeys // blocks that lose a key that another block has gained by now
	MoveHostPKeys
	// our own port, which needs its LID before anything is sent by LID; switches whose M_Key changes, because requests
	// to their other ports need the new one then
	FirstPorts
	Ports       // LIDs and parameters, with ARMED
	Activations // ACTIVE, when both ends are ARMED
	MKeyRacks   // M_Keys of which each port has its own, after all else; see mkeysLast
	stages
)

// Op is what a step does.
type Op uint8

// Attr is the attribute that an operation sets or reads.
func (o Op) Attr() mad.AttrID { return operations[o].attr }

// Operations.
const (
	ClearChange  Op = iota + 1 // SwitchInfo: clear PortStateChange
	DisableAR                  // ARInfo: turn adaptive routing off
	SetSwitch                  // SwitchInfo: LinearFDBTop and LifeTimeValue
	SetLFT                     // one block of LinearForwardingTable
	AddPKeys                   // one block of P_KeyTable: new keys beside the present ones
	SetPKeys                   // the target of the same block
	SetPort                    // PortInfo: LID and parameters, no change of state
	Arm                        // PortInfo: the same, and INIT to ARMED
	Activate                   // PortInfo: ARMED to ACTIVE
	TakeDown                   // PortInfo: DOWN
	ShutOff                    // PortInfo: DOWN and Disabled
	TurnOn                     // PortInfo: Polling
	SetFDR10                   // ExtendedPortInfo: whether FDR10 is enabled
	SetSLtoVLAll               // SLtoVLMappingTable of all external ports of a switch
	SetSLtoVLOut               // SLtoVLMappingTable of a port, from all others
	SetSLtoVL                  // SLtoVLMappingTable of a port, from one
	SetTurns                   // one block of VLArbitrationTable
	ReadSLtoVL                 // Get of SLtoVLMappingTable of a port, from one
	SetMKey                    // PortInfo: M_Key, lease period and protection, nothing else
	ReadMKey                   // Get of PortInfo with the M_Key that was set
	ReadHeldMKey               // the same with the one before
	ops
)

// operation is how the steps of an Op are written and shown.
type operation struct {
	attr     mad.AttrID
	modifier func(*Plan, Step) uint32 // nil: 0
	// data is the value to write; ok is false when the device holds it already, or it must not
	// be written now.
	data     func(*Plan, Step) (data device.Data, ok bool)
	describe func(*Plan, Step) string // the change as text, which follows a colon
}

var operations [ops]operation

func init() { // they refer to Plan's methods, which refer to them
	portInfo := operation{attr: smp.AttrPortInfo, modifier: (*Plan).portMod, data: (*Plan).portData,
		describe: (*Plan).describePort}
	pkeys := operation{attr: smp.AttrPKeyTable, modifier: (*Plan).pkeyMod, data: (*Plan).pkeyData,
		describe: (*Plan).describePKeys}
	mapping := operation{attr: smp.AttrSLtoVLMappingTable, modifier: (*Plan).laneMod, data: (*Plan).laneData,
		describe: (*Plan).describeMapping}
	operations = [ops]operation{
		ClearChange: {attr: smp.AttrSwitchInfo, data: (*Plan).clearChange, describe: fixed("clear PortStateChange")},
		DisableAR:   {attr: smp.AttrARInfo, data: (*Plan).disableAR, describe: fixed("turn adaptive routing off")},
		SetSwitch:   {attr: smp.AttrSwitchInfo, data: (*Plan).switchData, describe: (*Plan).describeSwitch},
		SetLFT: {attr: smp.AttrLinearForwardingTable, modifier: blockMod, data: (*Plan).lftData,
			describe: (*Plan).describeLFT},
		AddPKeys: pkeys,
		SetPKeys: pkeys,
		SetPort:  portInfo,
		Arm:      portInfo,
		Activate: portInfo,
		TakeDown: portInfo,
		ShutOff:  portInfo,
		TurnOn:   portInfo,
		SetFDR10: {attr: smp.AttrExtendedPortInfo, modifier: (*Plan).portNumber, data: (*Plan).fdr10Data,
			describe: (*Plan).describeFDR10},
		SetSLtoVLAll: mapping,
		SetSLtoVLOut: mapping,
		SetSLtoVL:    mapping,
		SetMKey: {attr: smp.AttrPortInfo, modifier: (*Plan).portMod, data: (*Plan).mkeyData,
			describe: (*Plan).describeMKey},
		ReadMKey: {attr: smp.AttrPortInfo, modifier: (*Plan).portMod, data: (*Plan).mkeyData,
			describe: fixed("read it back")},
		ReadHeldMKey: {attr: smp.AttrPortInfo, modifier: (*Plan).portMod, data: (*Plan).mkeyData,
			describe: fixed("read it back")},
		SetTurns: {attr: smp.AttrVLArbitrationTable, modifier: (*Plan).laneMod, data: (*Plan).laneData,
			describe: (*Plan).describeTurns},
	}
	operations[ReadSLtoVL] = mapping
	operations[ReadSLtoVL].data = func(*Plan, Step) (data device.Data, ok bool) { return data, true }
	operations[TakeDown].describe = fixed("take the link down: nothing answers behind it, or it is held back")
	operations[ShutOff].describe = fixed("disable the port: it babbles, or its link is sick")
	operations[TurnOn].describe = fixed("enable the port")
}

func fixed(text string) func(*Plan, Step) string {
	return func(*Plan, Step) string { return " " + text }
}

func blockMod(_ *Plan, st Step) uint32 { return uint32(st.Block) }

func (p *Plan) portNumber(st Step) uint32 { return uint32(p.in.Topo.Ports[st.Port].Num) }

func (p *Plan) portMod(st Step) uint32 {
	port := &p.in.Topo.Ports[st.Port]
	return smp.PortInfoMod(port.Num, p.in.Topo.Nodes[port.Node].SetsExtended)
}

func (p *Plan) pkeyMod(st Step) uint32 {
	return device.Of(smp.AttrPKeyTable).Modifier(p.node(st), p.in.Topo.Ports[st.Port].Num, st.Block)
}

// node is the node of a step.
func (p *Plan) node(st Step) *topo.Node { return &p.in.Topo.Nodes[p.in.Topo.Ports[st.Port].Node] }

func (p *Plan) clearChange(st Step) (device.Data, bool) {
	info := p.node(st).SwitchInfo
	info.SetPortStateChange(true)
	return info, true
}

func (p *Plan) disableAR(st Step) (device.Data, bool) {
	info := *p.node(st).ARInfo
	info.TurnOff()
	return info, true
}

func (p *Plan) switchData(st Step) (device.Data, bool) {
	return p.SwitchSent(p.in.Topo.Ports[st.Port].Node), true
}

func (p *Plan) lftData(st Step) (data device.Data, ok bool) {
	copy(data[:], p.in.Tables.LFT[p.node(st).Switch][int(st.Block)*routing.BlockSize:])
	return data, true
}

func (p *Plan) describeLFT(st Step) string {
	s := p.node(st).Switch
	text := describeBlock(p.in.Known[s], p.in.Tables.LFT[s], int(st.Block))
	if p.node(st).AR == topo.AROn && !slices.Contains(p.in.DisableAR, s) {
		text += "; adaptive routing goes off"
	}
	return text
}

func (p *Plan) fdr10Data(st Step) (device.Data, bool) { return p.extended(st.Port), true }

func (p *Plan) describeFDR10(Step) string {
	if p.in.Values.FDR10 == EnableFDR10 {
		return " enable FDR10"
	}
	return " disable FDR10"
}

// describePort is the change of a PortInfo as text.
func (p *Plan) describePort(st Step) (text string) {
	if st.Op == Activate {
		return " PortState -> Active"
	}
	w := p.Wanted(st.Port)
	for _, c := range changes(&p.in.Topo.Ports[st.Port].Info, &w) {
		text += " " + c
	}
	if p.Reregisters(st.Port) {
		text += " ClientReregister"
	}
	if st.Op == Arm {
		text += " PortState -> Armed"
	}
	return text
}
