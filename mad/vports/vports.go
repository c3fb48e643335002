// Package vports finds out how an adapter's port addresses its vPorts: which of smp.VPortLayouts its agent has. It
// sends Gets only, in every layout, and compares what comes: an index in the wrong bits is refused, or shows vPort 0
// where another one was asked for.
package vports

import (
	"fmt"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// Answer is the outcome of a Get.
type Answer struct {
	Answered bool // there was a response in time
	Status   mad.Status
	Data     [mad.DataSize]byte
}

func (a *Answer) ok() bool { return a.Answered && a.Status == mad.StatusOK }

func (a *Answer) String() string {
	switch {
	case !a.Answered:
		return "no answer"
	case a.Status != mad.StatusOK:
		return fmt.Sprintf("status 0x%02x (%v)", uint16(a.Status), a.Status)
	}
	return "answered"
}

// Ask sends a Get of subnet management to the port, and returns the outcome. An error ends the probe.
type Ask func(attr mad.AttrID, mod uint32) (Answer, error)

// Request is a Get that was sent, and its outcome.
type Request struct {
	Attr mad.AttrID
	Mod  uint32
	Answer
}

// Verdict is what the answer to a request says of the layout in which its modifier was written.
type Verdict uint8

// Verdicts.
const (
	Fits     Verdict = 0 // it is about the vPort that was asked for
	Unclear  Verdict = 1 // it may be about another one
	Other    Verdict = 2 // it is about another vPort
	Refused  Verdict = 3
	NoAnswer Verdict = 4 // there was no answer
)

var verdictNames = map[Verdict]string{Fits: "fits", Unclear: "unclear", Other: "another vPort", Refused: "refused",
	NoAnswer: "no answer"}

func (v Verdict) String() string { return mad.NameOf(verdictNames, v, "verdict %d") }

// Test is the verdict on a request that was written in a layout.
type Test struct {
	Attr    mad.AttrID
	Index   uint16 // of the vPort that was asked for
	Layout  smp.VPortLayout
	Verdict Verdict
}

// Report is what a probe found. It has no M_Keys.
type Report struct {
	Node       smp.NodeInfo
	Desc       string
	State      smp.PortState
	LID        mad.LID
	CapMask    smp.CapMask
	CapMask2   smp.CapMask2
	General    Answer // GeneralInfo, not answered where it was not requested
	Virtual    smp.VirtualizationInfo
	Requests   []Request // in the order in which they were sent, PortInfo apart
	Tests      []Test
	Layouts    []smp.VPortLayout // that nothing speaks against; usually one
	Conclusion string            // a sentence
}

// probe is a Probe under way.
type probe struct {
	Report
	ask Ask
}

// Probe probes a port. The error is that of ask, or says that the port does not answer at all.
func Probe(ask Ask) (*Report, error) {
	p := &probe{ask: ask}
	why, err := p.begin()
	if err != nil {
		return nil, err
	}
	if p.Conclusion = why; why == "" {
		if err := p.test(); err != nil {
			return nil, err
		}
		p.conclude()
	}
	return &p.Report, nil
}

// get sends a request, unless it was sent before.
func (p *probe) get(attr mad.AttrID, mod uint32) (Answer, error) {
	for _, r := range p.Requests {
		if r.Attr == attr && r.Mod == mod {
			return r.Answer, nil
		}
	}
	a, err := p.ask(attr, mod)
	if err == nil && attr != smp.AttrPortInfo { // which has an M_Key
		p.Requests = append(p.Requests, Request{attr, mod, a})
	}
	return a, err
}

// begin asks what every port answers, and VirtualizationInfo if the port announces it. why is the reason not to ask
// more.
func (p *probe) begin() (why string, err error) {
	node, err := p.get(smp.AttrNodeInfo, 0)
	switch {
	case err != nil:
		return "", err
	case !node.ok():
		return "", fmt.Errorf("NodeInfo: %v: there is no such port, or it demands an M_Key", &node)
	}
	p.Node = node.Data
	desc, err := p.get(smp.AttrNodeDescription, 0)
	if err != nil {
		return "", err
	}
	p.Desc = smp.NodeDescription(desc.Data).String()
	port, err := p.get(smp.AttrPortInfo, 0)
	switch {
	case err != nil:
		return "", err
	case !port.ok():
		return "", fmt.Errorf("PortInfo: %v", &port)
	}
	info := smp.PortInfo(port.Data)
	p.State, p.LID, p.CapMask, p.CapMask2 = info.PortState(), info.LID(), info.CapabilityMask(), info.CapabilityMask2()
	switch vendor := p.Node.VendorID(); {
	case p.Node.NodeType() != mad.CA:
		return fmt.Sprintf("The node is a %v. Only ports of adapters have vPorts.", p.Node.NodeType()), nil
	case !smp.NVIDIAVendor(vendor):
		return fmt.Sprintf("No attribute of vPorts was requested: vendor 0x%06x does not define them.", vendor), nil
	}
	if p.General, err = p.get(smp.AttrGeneralInfo, smp.GeneralInfoCapabilities); err != nil {
		return "", err
	}
	if !smp.AnnouncesVirtualization(p.CapMask, p.CapMask2) && !p.announcedInGeneral() {
		return "The port does not announce vPorts: its firmware has no virtual functions, or they are switched off.", nil
	}
	virtual, err := p.get(smp.AttrVirtualizationInfo, 0)
	if err != nil {
		return "", err
	}
	if !virtual.ok() {
		return fmt.Sprintf("The port announces vPorts, but VirtualizationInfo: %v.", &virtual), nil
	}
	p.Virtual = virtual.Data
	if p.Virtual.VPortCap() < 2 {
		return fmt.Sprintf("The port has room for no function: VPortCap is %d.", p.Virtual.VPortCap()), nil
	}
	return "", nil
}

// announcedInGeneral reports whether GeneralInfo announces vPorts.
func (p *Report) announcedInGeneral() bool {
	g := smp.GeneralInfo(p.General.Data)
	return p.General.ok() && g.Has(smp.CapVirtualization)
}

// tested are the attributes that have the index of a vPort in their modifiers.
var tested = []mad.AttrID{smp.AttrVPortInfo, smp.AttrVNodeInfo, smp.AttrVNodeDescription, smp.AttrVPortGUIDInfo,
	smp.AttrVPortPKeyTable}

// test requests each of these attributes of vPort 0, where all layouts are the same, and then of some others in each
// layout.
func (p *probe) test() error {
	states, err := p.get(smp.AttrVPortState, 0)
	if err != nil {
		return err
	}
	if p.Virtual.VPortIndexTop() >= smp.VPortsPerBlock { // which half of the modifier the block is in
		for _, mod := range []uint32{1, 1 << 16} {
			if _, err := p.get(smp.AttrVPortState, mod); err != nil {
				return err
			}
		}
	}
	for _, attr := range tested {
		if _, err := p.get(attr, 0); err != nil {
			return err
		}
	}
	for _, index := range indexes(&p.Virtual, &states) {
		for _, attr := range tested {
			if p.unanswered(attr) {
				continue
			}
			for _, l := range smp.VPortLayouts {
				if _, err := p.get(attr, l.Mod(attr, index, 0)); err != nil {
					return err
				}
			}
		}
		p.judge(index)
	}
	return nil
}

// mostUnanswered is after how many requests without an answer an attribute is requested no longer.
const mostUnanswered = 3

// unanswered reports whether requests for an attribute are not answered at all.
func (p *probe) unanswered(attr mad.AttrID) bool {
	n := 0
	for _, r := range p.Requests {
		if r.Attr == attr && r.Answered {
			return false
		} else if r.Attr == attr {
			n++
		}
	}
	return n >= mostUnanswered
}

// indexes are the vPorts that are asked for: the first two that are above Down, the first two, and the one at the top,
// whose index is no block of another table.
func indexes(v *smp.VirtualizationInfo, states *Answer) (list []uint16) {
	top := max(1, min(v.VPortIndexTop(), v.VPortCap()-1))
	add := func(i uint16) {
		if i <= top && !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	table := smp.VPortState(states.Data)
	for i := uint16(1); i <= top && i < smp.VPortsPerBlock && len(list) < 2; i++ {
		if states.ok() && table.State(i) > smp.PortDown {
			add(i)
		}
	}
	add(1)
	add(2)
	add(top)
	return list
}

// judge adds the tests of the answers about one vPort.
func (p *probe) judge(index uint16) {
	var guid mad.GUID // of the vPort, from the VPortInfo that fits
	for _, attr := range tested {
		for _, l := range smp.VPortLayouts {
			i := slices.IndexFunc(p.Requests, func(r Request) bool {
				return r.Attr == attr && r.Mod == l.Mod(attr, index, 0)
			})
			if i < 0 {
				continue // not requested, as it is not answered
			}
			v := p.verdict(&p.Requests[i], guid)
			if attr == smp.AttrVPortInfo && v == Fits {
				info := smp.VPortInfo(p.Requests[i].Data)
				guid = info.PortGUID()
			}
			p.Tests = append(p.Tests, Test{attr, index, l, v})
		}
	}
}

// verdict judges an answer about a vPort but 0. guid is that of the vPort, 0 if it is not known.
func (p *probe) verdict(r *Request, guid mad.GUID) Verdict {
	switch {
	case !r.Answered:
		return NoAnswer
	case r.Status != mad.StatusOK:
		return Refused
	}
	zero, _ := p.get(r.Attr, 0) // requested before
	same := zero.ok() && zero.Data == r.Data
	switch r.Attr {
	case smp.AttrVPortInfo:
		info, of0 := smp.VPortInfo(r.Data), smp.VPortInfo(zero.Data)
		switch s := info.VPortState(); {
		case same, zero.ok() && info.PortGUID() == of0.PortGUID() && info.PortGUID() != 0:
			return Other
		case s < smp.PortDown || s > smp.PortActive:
			return Unclear
		}
	case smp.AttrVNodeInfo:
		info := smp.VNodeInfo(r.Data)
		switch {
		case same:
			return Other
		case info.NumPorts() == 0 || info.PartitionCap() == 0:
			return Unclear
		}
	case smp.AttrVNodeDescription:
		if same || r.Data == [mad.DataSize]byte{} {
			return Unclear
		}
	case smp.AttrVPortGUIDInfo:
		info, of0 := smp.GUIDInfo(r.Data), smp.GUIDInfo(zero.Data)
		switch g := info.GUID(0); {
		case guid != 0 && g != guid, zero.ok() && g == of0.GUID(0) && g != 0:
			return Other
		case g == 0:
			return Unclear
		}
	case smp.AttrVPortPKeyTable:
		if same || r.Data == [mad.DataSize]byte{} { // or another block of vPort 0's table
			return Unclear
		}
	}
	return Fits
}

// conclude finds the layouts that nothing speaks against.
func (p *probe) conclude() {
	for _, l := range smp.VPortLayouts {
		if fits, against := p.count(l); fits > 0 && against == 0 {
			p.Layouts = append(p.Layouts, l)
		}
	}
	var names []string
	for _, l := range p.Layouts {
		names = append(names, l.String())
	}
	switch {
	case len(names) == 1:
		p.Conclusion = fmt.Sprintf("The port has layout %s.", names[0])
	case len(names) > 1:
		p.Conclusion = fmt.Sprintf("The port has layout %s; the answers do not say which. "+
			"Give a function a GUID and a P_Key, and probe again.", strings.Join(names, " or "))
	case p.allRefused() && !p.Virtual.VirtualizationEnable():
		p.Conclusion = "The port refuses all but VirtualizationInfo, maybe as long as no manager has enabled " +
			"virtualization."
	case p.Virtual.VPortIndexTop() == 0:
		p.Conclusion = "No layout fits. The port has no functions now: make one (sriov_numvfs), and probe again."
	default:
		p.Conclusion = "No layout fits."
	}
	if r := p.Virtual.VirtualizationRevision(); r != 0 {
		p.Conclusion += fmt.Sprintf(" VirtualizationRevision is %d: the attributes may differ from those of revision 0, "+
			"which are known.", r)
	}
}

// count is how many tests of a layout fit, and how many speak against it. What is refused in every layout speaks
// against none.
func (p *Report) count(l smp.VPortLayout) (fits, against int) {
	for _, t := range p.Tests {
		switch {
		case t.Layout != l:
		case t.Verdict == Fits:
			fits++
		case t.Verdict > Unclear && p.someAccept(t.Attr, t.Index):
			against++
		}
	}
	return fits, against
}

// someAccept reports whether a vPort shows an attribute in some layout.
func (p *Report) someAccept(attr mad.AttrID, index uint16) bool {
	return slices.ContainsFunc(p.Tests, func(t Test) bool {
		return t.Attr == attr && t.Index == index && t.Verdict <= Unclear
	})
}

// allRefused reports whether no attribute of a vPort was answered.
func (p *Report) allRefused() bool {
	return !slices.ContainsFunc(p.Tests, func(t Test) bool { return t.Verdict < Refused })
}
