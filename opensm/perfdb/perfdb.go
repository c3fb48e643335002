// Package perfdb writes what ports have counted as OpenSM's performance manager does: the file
// event_db_dump_file, for people or for programs, and the blocks of its console.
package perfdb

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
)

// Node is a node whose ports have been read.
type Node struct {
	GUID  mad.GUID
	Name  string // of which 64 bytes are written, as by OpenSM
	Gone  bool   // it is not in the subnet any more
	First int    // 0 if its port 0 has counters, else 1
	Ports int    // the number of its last port
	Read  []Port
}

// Port is what a port has counted.
type Port struct {
	Num   uint8
	Reset time.Time // from when on it is counted here
	Last  time.Time // when it was read last
	N     [pma.NumCounters]uint64
}

// column is a counter as OpenSM has it.
type column struct {
	counter pma.Counter
	machine string // in the head of a table
	human   string // in a block
}

// columns are in OpenSM's order: those of errors, then those of data.
var columns = [...]column{
	{pma.SymbolErrorCounter, "symbol_err_cnt", "symbol_err_cnt"},
	{pma.LinkErrorRecoveryCounter, "link_err_recover", "link_err_recover"},
	{pma.LinkDownedCounter, "link_downed", "link_downed"},
	{pma.PortRcvErrors, "rcv_err", "rcv_err"},
	{pma.PortRcvRemotePhysicalErrors, "rcv_rem_phys_err", "rcv_rem_phys_err"},
	{pma.PortRcvSwitchRelayErrors, "rcv_switch_relay_err", "rcv_switch_relay_err"},
	{pma.PortXmitDiscards, "xmit_discards", "xmit_discards"},
	{pma.PortXmitConstraintErrors, "xmit_constraint_err", "xmit_constraint_err"},
	{pma.PortRcvConstraintErrors, "rcv_constraint_err", "rcv_constraint_err"},
	{pma.LocalLinkIntegrityErrors, "link_int_err", "link_integrity_err"},
	{pma.ExcessiveBufferOverrunErrors, "buf_overrun_err", "buf_overrun_err"},
	{pma.VL15Dropped, "vl15_dropped", "vl15_dropped"},
	{pma.PortXmitWait, "xmit_wait", "xmit_wait"},
	{pma.PortXmitData, "xmit_data", "xmit_data"},
	{pma.PortRcvData, "rcv_data", "rcv_data"},
	{pma.PortXmitPkts, "xmit_pkts", "xmit_pkts"},
	{pma.PortRcvPkts, "rcv_pkts", "rcv_pkts"},
	{pma.PortUnicastXmitPkts, "unicast_xmit_pkts", "unicast_xmit_pkts"},
	{pma.PortUnicastRcvPkts, "unicast_rcv_pkts", "unicast_rcv_pkts"},
	{pma.PortMulticastXmitPkts, "multicast_xmit_pkts", "multicast_xmit_pkts"},
	{pma.PortMulticastRcvPkts, "multicast_rcv_pkts", "multicast_rcv_pkts"},
}

// errorColumns are how many of columns OpenSM takes for errors.
const errorColumns = 13

// ctime is the time as C's ctime has it.
const ctime = "Mon Jan _2 15:04:05 2006"

// name is what is written of the name.
func (n *Node) name() string { return n.Name[:min(len(n.Name), 64)] }

// active is OpenSM's word for a node that is in the subnet.
func (n *Node) active() string {
	if n.Gone {
		return "FALSE"
	}
	return "TRUE"
}

// Table writes a node for programs: a line of heads, and one for each port, with tabs between.
func (n *Node) Table(w io.Writer) {
	fmt.Fprint(w, "\nName\tGUID\tActive\tPort\tLast Reset\tLast Error Update\tLast Data Update")
	for i := range columns {
		fmt.Fprint(w, "\t", columns[i].machine)
	}
	fmt.Fprintln(w)
	for i := range n.Read {
		p := &n.Read[i]
		last := p.Last.Format(ctime)
		fmt.Fprintf(w, "%s\t0x%x\t%s\t%d\t%s\t%s\t%s", n.name(), uint64(n.GUID), n.active(), p.Num,
			p.Reset.Format(ctime), last, last)
		for i := range columns {
			fmt.Fprint(w, "\t", p.N[columns[i].counter])
		}
		fmt.Fprintln(w)
	}
}

// Blocks writes a node for people: a block for each port, or for the one that port names in
// digits, if it does. With errorsOnly these are only ports with errors, and only those counters.
func (n *Node) Blocks(w io.Writer, port string, errorsOnly bool) {
	only := -1
	if port != "" {
		num, err := strconv.ParseUint(port, 0, 8)
		if err == nil && int(num) >= n.First && int(num) <= n.Ports {
			only = int(num)
		} else {
			fmt.Fprintf(w, "Warning: \"%s\" is not a valid port\n", port)
		}
	}
	for i := range n.Read {
		if p := &n.Read[i]; (only < 0 || only == int(p.Num)) && (!errorsOnly || p.hasErrors()) {
			n.block(w, p, errorsOnly)
		}
	}
}

func (p *Port) hasErrors() bool {
	for _, c := range columns[:errorColumns] {
		if p.N[c.counter] != 0 {
			return true
		}
	}
	return false
}

func (n *Node) block(w io.Writer, p *Port, errorsOnly bool) {
	last := p.Last.Format(ctime)
	fmt.Fprintf(w, "\"%s\" 0x%x active %s port %d\n", n.name(), uint64(n.GUID), n.active(), p.Num)
	fmt.Fprintf(w, "     Last Reset           : %s\n     Last Error Update    : %s\n", p.Reset.Format(ctime), last)
	for i, c := range columns {
		v := p.N[c.counter]
		switch {
		case i >= errorColumns && errorsOnly:
			return
		case i < errorColumns && (!errorsOnly || v != 0):
			fmt.Fprintf(w, "     %-20s : %d\n", c.human, v)
		case i < errorColumns:
		default:
			if i == errorColumns {
				fmt.Fprintf(w, "     Last Data Update     : %s\n", last)
			}
			fmt.Fprintf(w, "     %-20s : %d (%s)\n", c.human, v,
				amount(v, c.counter == pma.PortXmitData || c.counter == pma.PortRcvData))
		}
	}
}

// amount is a number as OpenSM shortens it; data counts 4 octets, of which it makes bytes.
func amount(n uint64, data bool) string {
	unit, div := 0, float32(1)
	for rest := n / 1024; rest > 0; rest /= 1024 {
		unit++
		div *= 1024
	}
	v := float32(n)
	if data {
		if v *= 4; v/div > 1024 {
			unit++
			div *= 1024
		}
	}
	const units = " KMGTPE"
	text := fmt.Sprintf("%5.3f", v/div)
	if unit > 0 && unit < len(units) {
		text += units[unit : unit+1]
	}
	if data {
		text += "B"
	}
	return text
}
