package server

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"ibsm/ctl"
	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/plural"
	"ibsm/routing/rails"
	"ibsm/topo"
)

// lidOf is the first LID of a port or vPort, 0 if it has none.
func (s *subnet) lidOf(e topo.EndIdx) mad.LID {
	lid, _ := s.view.Topo.EndLID(s.view.LIDs, e)
	return lid
}

// lidsOf is how many LIDs lead to a port or vPort.
func (s *subnet) lidsOf(e topo.EndIdx) int {
	if s.view.Topo.VPortOf(e) != topo.None {
		return 1
	}
	return s.view.LIDs.Count(e)
}

// vPortNamed is the vPort that a text identifies by a GUID or GID, or by a LID of its own, also one that is down; None
// if it is none.
func (s *subnet) vPortNamed(name string) topo.EndIdx {
	t := s.view.Topo
	v := topo.VPortIdx(topo.None)
	if isLID(name) {
		if lid := lidIn(name); s.view.LIDs.PortOf(lid) == topo.None {
			v = t.VPorts.OfLID(lid)
		}
	} else if guid, is, err := s.guidOf(name); is && err == nil {
		v = t.FindVPort(guid)
	}
	if v == topo.None {
		return topo.None
	}
	return t.EndOf(v)
}

// findEnd is findPort, or the vPort that a text identifies and the LID to reach it.
func (s *subnet) findEnd(name string) (topo.EndIdx, mad.LID, error) {
	e := s.vPortNamed(name)
	if e == topo.None {
		return s.findPort(name)
	}
	lid := s.lidOf(e)
	if lid == 0 {
		return e, 0, fmt.Errorf("%w: %s has no LID", ctl.ErrNotFound, s.called(e))
	}
	return e, lid, nil
}

// portBehind is the port with a GUID, or the port in front of the vPort with it; None for none.
func (s *subnet) portBehind(guid mad.GUID) topo.PortIdx {
	t := s.view.Topo
	if p := t.FindPort(guid); p != topo.None {
		return p
	}
	if v := t.FindVPort(guid); v != topo.None {
		return t.VPorts.At(v).Port
	}
	return topo.None
}

// withoutVPorts says why a GUID that nothing has may be that of a vPort nevertheless; "" if it cannot.
func (s *subnet) withoutVPorts() string {
	switch {
	case s.view.VPorts.Ignored:
		return "; if it is that of a virtual function: the manager ignores virtualization: virt_enabled"
	case s.view.VPorts.Unread:
		return "; if it is that of a virtual function: not all adapters have been asked for theirs yet"
	}
	return ""
}

// isListed reports whether a vPort is one to list: that of a physical function is as its port is, mostly.
func isListed(t *topo.Topo, v topo.VPortIdx) bool {
	p := t.VPorts.At(v)
	return p.Index > 0 || p.GUID != t.Ports[p.Port].GUID || p.State != smp.PortActive
}

// vPorts are the rows of vPorts that a filter selects.
func (s *subnet) vPorts(f *ctl.Filter) (iter.Seq[any], error) {
	t := s.view.Topo
	selects, err := s.selectVPorts(f.Name)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(states, f.State) {
		return nil, fmt.Errorf("%w: state %q: expected one of %v", ctl.ErrBadRequest, f.State, states[1:])
	}
	chosen := func(yield func(topo.VPortIdx) bool) {
		for v := range t.VPorts.All() {
			if (selects == nil || selects(v)) && isListed(t, v) && !yield(v) {
				return
			}
		}
	}
	if f.Name != "" {
		if _, none := first(chosen); none {
			return nil, fmt.Errorf("%w: %s has no vPorts: %s", ctl.ErrNotFound, f.Name, s.whyNoVPorts(f.Name))
		}
	}
	return func(yield func(any) bool) {
		d := s.doctor()
		for v := range chosen {
			if row := s.vPort(d, v); (f.State == "" || f.State == row.State) && !yield(row) {
				return
			}
		}
	}, nil
}

// first is the first of a sequence; none is true if it has none.
func first(all iter.Seq[topo.VPortIdx]) (v topo.VPortIdx, none bool) {
	for v := range all {
		return v, false
	}
	return topo.None, true
}

// selectVPorts selects the vPorts of a host, of the hosts of a pattern, or of a GUID; nil for all.
func (s *subnet) selectVPorts(name string) (func(topo.VPortIdx) bool, error) {
	t := s.view.Topo
	if name == "" {
		return nil, nil
	}
	if guid, is, err := s.guidOf(name); err != nil {
		return nil, err
	} else if is && !isLID(name) {
		n := t.FindNode(guid)
		if n == topo.None && t.FindPort(guid) == topo.None && !s.hasVPort(guid) {
			return nil, fmt.Errorf("%w: no vPort, port or node has GUID %v%s", ctl.ErrNotFound, guid, s.withoutVPorts())
		}
		return func(v topo.VPortIdx) bool {
			p := t.VPorts.At(v)
			return p.GUID == guid || slices.Contains(t.VPorts.Aliases[v], guid) || t.Ports[p.Port].GUID == guid ||
				t.Ports[p.Port].Node == n
		}, nil
	}
	hosts, err := s.hostsOf().find(name)
	if err != nil {
		return nil, err
	}
	return func(v topo.VPortIdx) bool { return hosts[s.hostOf(t.VPorts.At(v).Port)] }, nil
}

// hasVPort reports whether any vPort has a GUID.
func (s *subnet) hasVPort(guid mad.GUID) bool {
	for v := range s.view.Topo.VPorts.All() {
		if s.view.Topo.VPorts.At(v).GUID == guid {
			return true
		}
	}
	return s.view.Topo.FindVPort(guid) != topo.None
}

// hostOf is the name of the host of an adapter's port.
func (s *subnet) hostOf(p topo.PortIdx) string {
	return ctl.HostName(s.view.Topo.Nodes[s.view.Topo.Ports[p].Node].Desc.String())
}

// whyNoVPorts says why the ports that a text identifies have no vPorts.
func (s *subnet) whyNoVPorts(name string) string {
	t := s.view.Topo
	var ports []topo.PortIdx
	if found, err := s.hostsOf().find(name); err == nil {
		for _, p := range t.EndPorts {
			if found[s.hostOf(p)] {
				ports = append(ports, p)
			}
		}
	} else if ports, err = s.findPorts(name); err != nil {
		return err.Error()
	}
	if s.view.VPorts.Ignored {
		return "the manager ignores virtualization: virt_enabled"
	}
	why := "this adapter has no virtualization firmware: it does not announce vPorts"
	for _, p := range ports {
		h := t.VPorts.Host(p)
		switch {
		case h != nil && h.Left != "":
			return fmt.Sprintf("%s is left as it was found: %s", s.called(p), h.Left)
		case h != nil && h.Top == 0:
			return "its host has made no functions: sriov_numvfs is 0"
		case h != nil:
			why = fmt.Sprintf("its adapter has up to %s, and none with a state", plural.Of(int(h.Top), "function"))
		case s.view.VPorts.Unread:
			why = "its adapter has not been asked for them yet"
		}
	}
	return why
}

// vPort is the row of a vPort.
func (s *subnet) vPort(d *doctor, v topo.VPortIdx) *ctl.VPort {
	t := s.view.Topo
	p := t.VPorts.At(v)
	row := &ctl.VPort{GUID: p.GUID.String(), Index: p.Index, Port: s.end(p.Port),
		PortGUID: t.Ports[p.Port].GUID.String(), Host: s.hostOf(p.Port), State: p.State.String(), PKeys: []string{}}
	lid, own := t.LIDOf(s.view.LIDs, v)
	row.LID, row.Shared = lid, !own
	for _, guid := range t.VPorts.Aliases[v] {
		row.Further = append(row.Further, guid.String())
	}
	_, row.Device = rails.Split(t.Nodes[t.Ports[p.Port].Node].Desc.String())
	if p.Node != 0 {
		row.Node = p.Node.String()
	}
	if p.Desc != nil {
		row.Desc = p.Desc.String()
	}
	for _, k := range p.PKeys.Keys() {
		if k.Valid() {
			row.PKeys = append(row.PKeys, k.String())
		}
	}
	if why := d.vPortReasons(v); len(why) > 0 {
		row.Reason, row.Do = why[0].Text, why[0].Do
	}
	return row
}

// vPortWaits are what vPorts wait for, as reasons.
var vPortWaits = map[topo.VPortWait]ctl.Reason{
	topo.WaitsForGUID: because("no GUID", "", "give the function a port GUID and a node GUID, then bind its driver again "+
		"(docs/virtual.md)"),
	topo.WaitsForDriver: because("function down", "", "set the function's link policy to Follow, and load its driver"),
	topo.WaitsForPort:   because("port down", "", "see the port that it is behind: ibsmctl why PORT"),
	topo.WaitsForPKeys: because("P_Keys not read", "", "run ibsmctl sweep; if it stays, see the findings of the port in "+
		"ibsmctl why PORT"),
	topo.WaitsForLID: because("no LID", "", "run ibsmctl sweep; ibsmctl events shows whether all LIDs are assigned"),
	topo.WaitsForSwitch: because("P_Keys not written", "", "run ibsmctl sweep; if it stays, see the findings of the switch "+
		"in ibsmctl why"),
	topo.WaitsForOwner: because("GUID in use", "", "give one of the functions another GUID: ibsmctl vports GUID lists "+
		"them"),
	topo.WaitsForManager: because("not yet", "", "wait some seconds; if it stays, see ibsmctl events"),
	topo.LeftAsFound: because("left as found", "", "see the finding at its port; ibsmctl vports probe asks the adapter; "+
		"ibsmctl sweep makes the manager try again"),
}

// vPortReasons are the reasons why a vPort is not Active; for an Active one, remarks.
func (d *doctor) vPortReasons(v topo.VPortIdx) (why []ctl.Reason) {
	t := d.view.Topo
	p := t.VPorts.At(v)
	waits := p.Waits
	switch {
	case p.State == smp.PortActive && p.Elsewhere:
		waits = topo.WaitsForOwner
	case p.State == smp.PortActive:
		waits = topo.WaitsForNothing
	case waits == topo.WaitsForNothing:
		waits = topo.WaitsForManager
	}
	host := t.VPorts.Host(p.Port)
	if waits != topo.WaitsForNothing {
		r := vPortWaits[waits]
		if r.Text = waits.String(); waits == topo.LeftAsFound && host != nil && host.Left != "" {
			r.Text += ": " + host.Left
		}
		why = append(why, r)
	}
	of := fmt.Sprintf("vPort %d", p.Index)
	for _, f := range d.at(p.Port) {
		own := strings.HasPrefix(f.Detail, of+",") || strings.HasPrefix(f.Detail, of+" ")
		if (f.Kind == finding.VPortLeft || f.Kind == finding.DuplicateVPort) && own {
			why = append(why, reasonOf(f, d.called(p.Port)+": "))
		}
	}
	return why
}

// vPortDiagnoses are those of the vPorts with a GUID: the one that is found by it comes first.
func (d *doctor) vPortDiagnoses(e topo.EndIdx) (all []*ctl.Diagnosis) {
	t := d.view.Topo
	v := t.VPortOf(e)
	all = append(all, d.vPortDiagnosis(v))
	for o := range t.VPorts.All() {
		if guid := t.VPorts.At(o).GUID; o != v && guid == t.VPorts.At(v).GUID {
			all = append(all, d.vPortDiagnosis(o))
		}
	}
	return all
}

func (d *doctor) vPortDiagnosis(v topo.VPortIdx) *ctl.Diagnosis {
	t := d.view.Topo
	p, e := t.VPorts.At(v), t.EndOf(v)
	why := append([]ctl.Reason{}, d.vPortReasons(v)...)
	why = append(append(why, d.notJoined(e)...), d.droppedBySA(e)...)
	why = append(why, d.droppedIf(func(o *manager.DroppedPackets) bool {
		return o.From == p.GUID || o.To == p.GUID
	})...)
	return &ctl.Diagnosis{Port: d.end(e), State: p.State.String(), Reasons: why,
		Works: p.State == smp.PortActive && !p.Elsewhere && t.Nodes[t.Ports[p.Port].Node].Missed == 0}
}

// vPortStates counts listed vPorts by their states; nil without any.
func vPortStates(t *topo.Topo) (states map[string]int) {
	for v := range t.VPorts.All() {
		if isListed(t, v) {
			if states == nil {
				states = map[string]int{}
			}
			states[t.VPorts.At(v).State.String()]++
		}
	}
	return states
}

// meantHost is the host that a GUID is of, "" if it is of none.
func (s *subnet) meantHost(name string) (host string, is bool, err error) {
	guid, is, err := s.guidOf(name)
	if err != nil || !is || isLID(name) {
		return "", false, err
	}
	p := s.portBehind(guid)
	if n := s.view.Topo.FindNode(guid); p == topo.None && n != topo.None && s.view.Topo.Nodes[n].Type == mad.CA {
		p = s.view.Topo.Port(n, 1)
	}
	if p == topo.None || s.view.Topo.Nodes[s.view.Topo.Ports[p].Node].Type != mad.CA {
		return "", true, fmt.Errorf("%w: no host has a port, node or vPort with GUID %v%s", ctl.ErrNotFound, guid,
			s.withoutVPorts())
	}
	return s.hostOf(p), true, nil
}
