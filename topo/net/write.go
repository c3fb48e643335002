package net

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"ibsm/mad"
)

// Write writes a topology file in the form of ibnetdiscover, which Parse reads
// back to the same Net and ibsim loads. Five things do not survive: the profile of
// the devices, their virtual functions, the ID of a
// node that was given in a module (it becomes the one ibnetdiscover would give),
// an unstated width or speed (it becomes 4x or QDR), and the LID and GUID of an
// adapter's port without cable.
//
// The error is that of Validate, of a name or description that the form has no
// place for, or of w.
func Write(w io.Writer, n *Net) error {
	if err := n.Validate(); err != nil {
		return err
	}
	out := writer{bufio.NewWriter(w), n}
	for i := range n.Nodes {
		if err := out.writable(&n.Nodes[i]); err != nil {
			return err
		}
	}
	for i := range n.Nodes {
		out.node(&n.Nodes[i])
	}
	return out.Flush()
}

type writer struct {
	*bufio.Writer // holds the first error until Flush
	net           *Net
}

func (w *writer) writable(n *Node) error {
	if why := badName(id(n)); why != "" {
		return fmt.Errorf("node %q: %s", n.ID, why)
	}
	if strings.ContainsRune(n.ID+n.Desc, '"') || hasControl(n.Desc) {
		return fmt.Errorf("node %q: quotation mark or control character in its name or description %q", n.ID, n.Desc)
	}
	return nil
}

// id is what the file calls a node. Names out of modules have no form of their
// own: a file could not lead from them to a node without module.
func id(n *Node) string {
	if !strings.Contains(n.ID, "#") {
		return n.ID
	}
	return fmt.Sprintf("%c-%016x", " HSR"[n.Type], uint64(n.GUID))
}

func (w *writer) node(n *Node) {
	fmt.Fprintf(w, "vendid=%#x\ndevid=%#x\nsysimgguid=%#x\n", n.VendorID, n.DeviceID, uint64(n.SystemImageGUID))
	switch n.Type {
	case mad.Switch:
		port0, kind := &n.Ports[0], "base"
		if n.EnhancedPort0 {
			kind = "enhanced"
		}
		fmt.Fprintf(w, "switchguid=%#x(%x)\n", uint64(n.GUID), uint64(port0.GUID))
		fmt.Fprintf(w, "Switch\t%d \"%s\"\t\t# \"%s\" %s port 0 lid %d lmc %d\n", n.NumPorts(), id(n), n.Desc, kind,
			port0.LID, port0.LMC)
	case mad.Router:
		fmt.Fprintf(w, "rtguid=%#x\nRt\t%d \"%s\"\t\t# \"%s\"\n", uint64(n.GUID), n.NumPorts(), id(n), n.Desc)
	default:
		fmt.Fprintf(w, "caguid=%#x\nCa\t%d \"%s\"\t\t# \"%s\"\n", uint64(n.GUID), n.NumPorts(), id(n), n.Desc)
	}
	for num := 1; num < len(n.Ports); num++ {
		if n.Ports[num].Peer.Node >= 0 {
			w.port(n, num)
		}
	}
	w.WriteByte('\n')
}

func (w *writer) port(n *Node, num int) {
	p := &n.Ports[num]
	peer := &w.net.Nodes[p.Peer.Node]
	peerPort := &peer.Ports[p.Peer.Port]
	fmt.Fprintf(w, "[%d]", num)
	if n.Type != mad.Switch {
		fmt.Fprintf(w, "(%x) ", uint64(p.GUID))
	}
	fmt.Fprintf(w, "\t\"%s\"[%d]", id(peer), p.Peer.Port)
	peerLID := peer.Ports[0].LID
	if peer.Type != mad.Switch {
		fmt.Fprintf(w, "(%x) ", uint64(peerPort.GUID))
		peerLID = peerPort.LID
	}
	width, speed := p.Width, p.Speed
	if width == 0 {
		width = mad.Width4x
	}
	if speed == 0 {
		speed = mad.QDR
	}
	w.masks(n, width, speed)
	w.WriteString("\t\t# ")
	if n.Type != mad.Switch {
		fmt.Fprintf(w, "lid %d lmc %d ", p.LID, p.LMC)
	}
	// ibsim takes what stands before any = in the line for an option.
	desc := strings.ReplaceAll(peer.Desc, "=", "-")
	fmt.Fprintf(w, "\"%s\" lid %d %s%s\n", desc, peerLID, width, speed)
}

// masks states width and speed as options where ibsim does not read them from the
// comment: on routers, and for speeds that it does not know (Debian's ibsim 0.10
// knows none above HDR), which it then takes for HDR.
func (w *writer) masks(n *Node, width mad.LinkWidth, speed mad.LinkSpeed) {
	var a abilities
	a.offerWidth(width)
	a.offerSpeed(min(speed, mad.HDR))
	if n.Type == mad.Router {
		fmt.Fprintf(w, " w=%d", a.width)
	}
	if n.Type == mad.Router || speed > mad.HDR {
		fmt.Fprintf(w, " s=%d e=%d", a.speed, a.ext)
	}
}
