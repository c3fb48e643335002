package umad

import (
	"fmt"
	"strings"

	"ibsm/mad"
)

// Pair is where a subnet manager runs: the port of its QP0 and that of its QP1. They
// are one and the same but on devices of several planes.
type Pair struct{ SMI, GSI HostPort }

// GUID is the GUID of the port.
func (p *Pair) GUID() mad.GUID { return p.SMI.GUID }

func (p *Pair) String() string {
	if p.SMI == p.GSI {
		return p.SMI.String()
	}
	return fmt.Sprintf("%v and %v", p.SMI, p.GSI)
}

// Choose is the port with a GUID. For GUID 0 it is, as OpenSM has it, the first
// InfiniBand port whose link is above DOWN, and without such the first one; ports that are
// Unfit are left out.
func Choose(ports []HostPort, guid mad.GUID) (Pair, error) {
	var best, barred *HostPort
	var unfit []string
	for i := range ports {
		p := &ports[i]
		why := p.bar()
		if guid == 0 {
			why = p.Unfit()
		}
		switch {
		case guid != 0 && p.GUID != guid:
		case why != "":
			barred = p
			if p.IsInfiniBand() {
				unfit = append(unfit, fmt.Sprintf("%v: %s", p, why))
			}
		case best == nil || best.State <= isDown && p.State > isDown:
			best = p
		}
	}
	switch {
	case best != nil:
		return Pair{*best, gsi(ports, best)}, nil
	case guid == 0 && unfit != nil:
		return Pair{}, missing("no InfiniBand port for a subnet manager: " +
			strings.Join(unfit[:min(len(unfit), mostUnfit)], "; "))
	case guid == 0:
		return Pair{}, missing(fmt.Sprintf("no InfiniBand port: none of %d ports with a user MAD device", len(ports)))
	case barred == nil:
		return Pair{}, missing(fmt.Sprintf("no port with GUID %v: ibstat -p lists the ports of this host", guid))
	case barred.IsInfiniBand():
		return Pair{}, fmt.Errorf("umad: %v (GUID %v): %w: %s; choose another port with -g", barred, guid, ErrNoSMI,
			barred.bar())
	}
	return Pair{}, fmt.Errorf("umad: %v (GUID %v): %w: %s; choose another port with -g", barred, guid, ErrNotInfiniBand,
		barred.bar())
}

// mostUnfit is how many ports an error explains.
const mostUnfit = 8

// gsi is the port of QP1 that belongs to a port of QP0. A device of several planes
// has QP0 on a device of its own; the port with the same GUID that has none there
// has QP1.
func gsi(ports []HostPort, smi *HostPort) HostPort {
	for i := range ports {
		if p := &ports[i]; p.GUID == smi.GUID && p.NoSMI && p.IsInfiniBand() {
			return *p
		}
	}
	return *smi
}
