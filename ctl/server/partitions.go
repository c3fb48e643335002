package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/partitions/callers"
	"ibsm/topo"
)

// pkeys are the rows of a node's P_Key tables.
func (s *subnet) pkeys(n topo.NodeIdx, _ *ctl.Filter, yield func(any) bool) bool {
	t := s.view.Topo
	node := &t.Nodes[n]
	for num := range int(node.NumPorts) + 1 {
		p := t.Port(n, uint8(num))
		if t.EndPort(p) != p || !t.Ports[p].Seen {
			continue
		}
		if !s.keysOf(p, yield) {
			return false
		}
		for v, end := t.VPorts.Of(p); v < end; v++ {
			if of := t.VPorts.At(v); of.State > smp.PortDown && t.FindPort(of.GUID) == topo.None &&
				!s.keysOf(t.EndOf(v), yield) {
				return false
			}
		}
	}
	return true
}

// keysOf are the rows of a port's or vPort's P_Key table.
func (s *subnet) keysOf(e topo.EndIdx, yield func(any) bool) bool {
	t := s.view.Topo
	p := t.Physical(e)
	port := &t.Ports[p]
	row := ctl.PKey{Port: t.EndGUID(e).String(), Desc: t.Nodes[port.Node].Desc.String(), Num: port.Num,
		Checked: s.checked(p), VPort: indexOf(t, e)}
	for i, k := range t.EndPKeys(e).Keys() {
		if !k.Valid() {
			continue
		}
		row.Index, row.PKey, row.Member, row.Partition = i, k.String(), "limited", ""
		in, out := s.stops(p, k)
		row.Stopped = in || out
		if k&mad.FullMember != 0 {
			row.Member = "full"
		}
		if part := s.partition(k); part != nil {
			row.Partition = part.Name
		}
		if !yield(&row) {
			return false
		}
	}
	return true
}

// indexOf is the index of a vPort, nil for a port.
func indexOf(t *topo.Topo, e topo.EndIdx) *uint16 {
	if v := t.VPortOf(e); v != topo.None {
		return &t.VPorts.At(v).Index
	}
	return nil
}

// partition is the partition with a P_Key by the policy in force, nil for none.
func (s *subnet) partition(k mad.PKey) *partitions.Partition {
	if parts := s.view.Partitions; parts != nil && parts.Policy != nil {
		return parts.Policy.Find(k)
	}
	return nil
}

// checked is the partition enforcement of the switch port at an end port.
func (s *subnet) checked(p topo.PortIdx) string {
	peer := s.view.Topo.Ports[p].Peer
	if peer == topo.None || !s.view.Topo.IsSwitchPort(peer) {
		return "off"
	}
	switch info := &s.view.Topo.Ports[peer].Info; {
	case info.PartitionEnforcementInbound() && info.PartitionEnforcementOutbound():
		return "both"
	case info.PartitionEnforcementInbound():
		return "in"
	case info.PartitionEnforcementOutbound():
		return "out"
	}
	return "off"
}

// Why returns the line that decides whether a port is in a partition, given by P_Key or name.
func (s *subnet) Why(name, partition string) (*ctl.Why, error) {
	p := s.vPortNamed(name)
	if p == topo.None {
		var err error
		if p, _, err = s.findPort(name); err != nil {
			return nil, err
		}
	}
	if s.view.Partitions == nil || s.view.Partitions.Policy == nil {
		return nil, fmt.Errorf(
			"%w: there is no partition file and no caller's partition: P_Key tables are left unchanged", ctl.ErrNotFound)
	}
	key, err := findKey(s.view.Partitions.Policy, partition)
	if err != nil {
		return nil, err
	}
	t := s.view.Topo
	why := &ctl.Why{Port: t.EndGUID(p).String(), Desc: t.Nodes[t.Ports[t.Physical(p)].Node].Desc.String(),
		PKey: key.Base().String()}
	if held, ok := t.EndPKeys(p).Find(key); ok {
		why.Current = held.String()
	}
	part := s.partition(key)
	if part == nil {
		return why, nil
	}
	why.Partition = part.Name
	if m := s.view.Partitions.Policy.Why(t, p, key); m != nil {
		why.Member, why.Rule = m.Membership.String(), m.String()
		if m.Position.Line > 0 {
			why.Position = m.Position.String()
		}
		if m.Number > 0 {
			why.Caller = fmt.Sprintf("a caller's partition %s, change %d", part.Name, m.Number)
		}
	}
	return why, nil
}

// maxNamed bounds the names in an error.
const maxNamed = 8

// findKey parses a P_Key, or returns the P_Key of the partition with a name.
func findKey(policy *partitions.Policy, text string) (mad.PKey, error) {
	if n, err := strconv.ParseUint(text, 0, 16); err == nil {
		if key := mad.PKey(n); key.Valid() {
			return key, nil
		}
		return 0, fmt.Errorf("%w: %s is not a P_Key: its lower 15 bits are 0", ctl.ErrBadRequest, text)
	}
	var names, keys []string
	key := mad.PKey(0)
	for i := range policy.Partitions {
		part := &policy.Partitions[i]
		names = append(names, part.Name)
		if part.Name == text {
			key, keys = part.Key, append(keys, part.Key.String())
		}
	}
	switch len(keys) {
	case 1:
		return key, nil
	case 0:
		all := strings.Join(names[:min(len(names), maxNamed)], ", ")
		if more := len(names) - maxNamed; more > 0 {
			all = fmt.Sprintf("%s and %d more", all, more)
		}
		return 0, fmt.Errorf("%w: no partition is named %q%s partitions are %s", ctl.ErrNotFound, text,
			cmp.Or(diag.Meant(text, names), ";"), all)
	}
	return 0, fmt.Errorf("%w: %d partitions are named %q: use a P_Key: %s", ctl.ErrBadRequest, len(keys), text,
		strings.Join(keys, ", "))
}

// PartitionRows are the changes by a selected policy, and the findings about its file; dangers
// are its dangerous lines that are not in force. Without a subnet there are only the findings
// about the file.
func (d *Server) PartitionRows(file string, c *partitions.Selected, settings partitions.Settings,
	dangers diag.List) []ctl.PartitionRow {
	head := &ctl.PartitionFile{Name: file, Refused: len(c.Errors) > 0, Dangerous: len(dangers) > 0}
	merged := d.beside(c.ForTables())
	rows := appendFindings([]ctl.PartitionRow{{File: head}}, file, c.Errors, "error")
	rows = appendFindings(rows, file, held(merged), "warning")
	for _, w := range c.Warnings {
		severity := "warning"
		if c.Policy != nil && slices.Contains(c.Policy.Dangers, w) {
			severity = "danger"
		}
		rows = appendFindings(rows, file, diag.List{w}, severity)
	}
	v := d.View()
	if v == nil || v.Partitions == nil || head.Refused {
		return rows
	}
	t := v.Topo
	if policy := c.ForTables(); policy != nil {
		rows = appendFindings(rows, file, policy.Conflicts(t), "warning")
	}
	remembered := partitions.Indexes{}
	maps.Copy(remembered, v.Partitions.Remember)
	wanted := partitions.Compile(merged, settings, t, remembered)
	var unable diag.List
	for _, o := range wanted.Overflows {
		unable.Add(diag.Position{}, "%s", wanted.Explain(o, t))
	}
	rows = appendFindings(rows, file, unable, "warning")
	before := len(rows)
	for p := range t.Ports {
		rows = appendChanges(rows, t, topo.PortIdx(p), wanted.Want[p])
	}
	for v := range t.VPorts.All() {
		rows = appendChanges(rows, t, t.EndOf(v), wanted.VPorts[v])
	}
	head.InForce = len(rows) == before && samePolicy(v.Partitions.Policy, merged) && v.Partitions.Settings == settings
	return rows
}

// beside is a policy with the partitions of callers.
func (d *Server) beside(file *partitions.Policy) *partitions.Policy {
	if shell := d.shell.Load(); shell != nil {
		if state := shell.Registered(); state != nil {
			return callers.Of(state, nil).Beside(file)
		}
	}
	return file
}

// samePolicy reports whether two policies have the same file and the same partitions of callers.
func samePolicy(a, b *partitions.Policy) bool {
	if a == nil || b == nil || a.Number == 0 || b.Number == 0 {
		return a == b
	}
	return a.File == b.File && a.Number == b.Number
}

// held are warnings about the lines of a file by which partitions of callers are not in force.
func held(p *partitions.Policy) (list diag.List) {
	if p != nil {
		for i := range p.Held {
			list.Add(p.Held[i].By.Position, "partition %s of a caller, %s, is held as long as the file has this P_Key or name",
				p.Held[i].Name, p.Held[i].Key)
		}
	}
	return list
}

// appendFindings adds the findings about a file; some have no line.
func appendFindings(rows []ctl.PartitionRow, file string, list diag.List, severity string) []ctl.PartitionRow {
	for _, e := range list {
		rows = append(rows,
			ctl.PartitionRow{
				Finding: &ctl.Finding{File: cmp.Or(e.File, file), Line: e.Line, Column: e.Col, Severity: severity,
					Text: e.Text},
			})
	}
	return rows
}

// appendChanges adds the entries in which the P_Key table of a port or vPort differs from the target table.
func appendChanges(rows []ctl.PartitionRow, t *topo.Topo, e topo.EndIdx, want *topo.PKeyTable) []ctl.PartitionRow {
	port, held := &t.Ports[t.Physical(e)], t.EndPKeys(e)
	if want == nil || held == nil || held.Equal(want) {
		return rows
	}
	text := func(k mad.PKey) string {
		if !k.Valid() {
			return ""
		}
		return k.String()
	}
	for i := range max(len(held.Keys()), len(want.Keys())) {
		if a, b := text(held.Key(i)), text(want.Key(i)); a != b {
			rows = append(rows, ctl.PartitionRow{Change: &ctl.PKeyChange{
				GUID: t.EndGUID(e).String(), Desc: t.Nodes[port.Node].Desc.String(), Num: port.Num, Index: i, From: a,
				To: b, VPort: indexOf(t, e),
			}})
		}
	}
	return rows
}
