package vports

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"text/tabwriter"

	"ibsm/mad/smp"
)

// Write prints the report, for people, and to be sent.
func (p *Report) Write(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "node         %v %q\n", p.Node.NodeGUID(), p.Desc)
	fmt.Fprintf(&b, "device       %v, vendor 0x%06x, device 0x%04x, revision 0x%x\n", p.Node.NodeType(),
		p.Node.VendorID(), p.Node.DeviceID(), p.Node.Revision())
	fmt.Fprintf(&b, "port         %d, GUID %v, LID %d, %v\n", p.Node.LocalPortNum(), p.Node.PortGUID(), p.LID, p.State)
	announces := map[bool]string{true: "announces vPorts", false: "does not announce vPorts"}
	fmt.Fprintf(&b, "PortInfo     CapabilityMask 0x%08x, CapabilityMask2 0x%04x: %s\n", uint32(p.CapMask),
		uint16(p.CapMask2), announces[smp.AnnouncesVirtualization(p.CapMask, p.CapMask2)])
	if p.General.ok() {
		fmt.Fprintf(&b, "GeneralInfo  %s: %s\n", hex.EncodeToString(p.General.Data[:16]),
			announces[p.announcedInGeneral()])
	}
	if v := &p.Virtual; v.VPortCap() != 0 {
		on := map[bool]string{true: "enabled", false: "not enabled"}[v.VirtualizationEnable()]
		fmt.Fprintf(&b, "vPorts       %d, the highest index now %d, virtualization %s, revision %d, capabilities 0x%02x\n",
			v.VPortCap(), v.VPortIndexTop(), on, v.VirtualizationRevision(), v.CapabilityMask())
	}
	b.WriteString("\nRequests, all of them Gets:\n")
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range p.Requests {
		fmt.Fprintf(table, "%s\t0x%08x\t%s\n", smp.AttrName(r.Attr), r.Mod, shown(&r.Answer))
	}
	table.Flush()
	if len(p.Tests) > 0 {
		b.WriteString("\nAnswers about vPorts, by the layout of the request:\n")
		p.writeTests(&b)
	}
	fmt.Fprintf(&b, "\n%s\n", p.Conclusion)
	_, err := w.Write(b.Bytes())
	return err
}

// shown is an answer without the zeros at its end.
func shown(a *Answer) string {
	if !a.ok() {
		return a.String()
	}
	data := bytes.TrimRight(a.Data[:], "\x00")
	if len(data) == 0 {
		return "00"
	}
	return hex.EncodeToString(data)
}

// writeTests prints a line for each attribute of each vPort, with the verdict by layout.
func (p *Report) writeTests(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "vPort\tattribute")
	for _, l := range smp.VPortLayouts {
		fmt.Fprintf(table, "\t%v", l)
	}
	for i, t := range p.Tests {
		if i == 0 || p.Tests[i-1].Attr != t.Attr || p.Tests[i-1].Index != t.Index {
			fmt.Fprintf(table, "\n%d\t%s", t.Index, smp.AttrName(t.Attr))
		}
		fmt.Fprintf(table, "\t%v", t.Verdict)
	}
	fmt.Fprintln(table)
	table.Flush()
}
