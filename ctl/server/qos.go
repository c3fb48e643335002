package server

import (
	"fmt"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/routing/portgroups"
	"ibsm/sa/path"
	"ibsm/topo"
)

// maxCounted is the number of groups whose ports are counted.
const maxCounted = 1000

// QoS is the policy in force.
func (s *subnet) QoS() (*ctl.QoS, error) {
	p := s.view.QoS
	if p == nil {
		return nil, fmt.Errorf("%w: no QoS policy is in force: qos is off, or there is no qos_policy_file",
			ctl.ErrNotFound)
	}
	out := ctl.NewQoS(p)
	members := portgroups.NewResolver(s.view.Topo, s.view.Partitions)
	for i, g := range p.Groups[:min(len(p.Groups), maxCounted)] {
		n := len(members.Members(g))
		out.Groups[i].Ports = &n
	}
	return out, nil
}

// PathRecord is what the SA answers to the host at a port that asks for the path to another.
func (s *subnet) PathRecord(from, to string, ask *ctl.PathRequest) (*ctl.PathAnswer, error) {
	src, _, err := s.findEnd(from)
	if err != nil {
		return nil, err
	}
	dst, _, err := s.findEnd(to)
	if err != nil {
		return nil, err
	}
	t := s.view.Topo
	src, dst = t.EndPort(src), t.EndPort(dst)
	var want, rec sarec.PathRecord
	comps := sarec.PathSGID | sarec.PathDGID
	want.SetSGID(mad.MakeGID(s.view.Subnet.Prefix, t.EndGUID(src)))
	want.SetDGID(mad.MakeGID(s.view.Subnet.Prefix, t.EndGUID(dst)))
	if ask.ServiceID != nil {
		want.SetServiceID(*ask.ServiceID)
		comps |= sarec.PathServiceIDHigh | sarec.PathServiceIDLow
	}
	if ask.PKey != nil {
		want.SetPKey(mad.PKey(*ask.PKey))
		comps |= sarec.PathPKey
	}
	if ask.QoSClass != nil {
		want.SetQoSClass(*ask.QoSClass)
		comps |= sarec.PathQoSClass
	}
	f := s.finder()
	out := &ctl.PathAnswer{From: s.end(src), To: s.end(dst)}
	d := f.Decide(src, dst, &want, comps)
	if out.SL = d.SL; d.Level != nil {
		out.Level, out.Limits, out.Position = d.Level.Name, d.Level.Limits(), d.Level.Position.String()
	}
	if r := d.Rule; r != nil {
		if out.Rule, out.Position = r.Use, r.Position.String(); out.Rule == "" {
			out.Rule = r.Conditions()
		}
	}
	st := f.Find(src, &want, comps, &rec)
	if out.Found = st == mad.StatusOK; !out.Found {
		if out.Reason = s.refusal(&d, src, dst, mad.PKey(want.PKey())); out.Reason == "" {
			out.Reason = "the SA answers with status " + st.String()
		}
		return out, nil
	}
	_, mtu := rec.MTU()
	_, rate := rec.Rate()
	_, life := rec.PacketLifeTime()
	out.SL, out.MTU, out.Gbps, out.LifeTime, out.PKey = rec.SL(), mtu.Bytes(), rate.Gbps(), life, rec.PKey().String()
	out.HopLimit = rec.HopLimit()
	return out, nil
}

// stops says why an SL does not pass a port.
var stops = map[path.Stop]string{
	path.ToVL15:   "its SLtoVLMappingTable maps the SL to VL 15 (saquery SL2VL)",
	path.NoLane:   "its SLtoVLMappingTable maps the SL to a VL that the link does not have (saquery SL2VL, OperationalVLs in ibsmctl ports)",
	path.NoTurn:   "its VL arbitration tables give no weight to the VL of this SL (saquery VLAR)",
	path.NotKnown: "its SL and VL tables could not be read, or it rejected the configured ones (ibsmctl status)",
}

// refusal is why there is no path, in words; "" if the decision does not say.
func (s *subnet) refusal(d *path.Decision, src, dst topo.PortIdx, key mad.PKey) string {
	t := s.view.Topo
	switch d.Refusal {
	case path.NoCommonPKey:
		return "the ports share no P_Key"
	case path.PKeyNotShared:
		return fmt.Sprintf("the ports do not share P_Key %v", key)
	case path.PKeyNotInLevel:
		return fmt.Sprintf("the QoS level does not list P_Key %v", key)
	case path.NoPKeyOfLevel:
		return "the ports share none of the P_Keys of the QoS level"
	case path.NoRoute:
		return fmt.Sprintf("no route leads from %q to LID %d: see ibsmctl path", s.nodeName(t.Ports[t.Physical(src)].Node),
			s.lidOf(dst))
	case path.SLDropped:
		port := &t.Ports[d.Drops]
		verb := "dropped at"
		if d.Stop == path.NotKnown {
			verb = "not known to be forwarded"
		}
		text := fmt.Sprintf("SL %d is %s %q port %d", d.SL, verb, s.nodeName(port.Node), port.Num)
		if t.Nodes[port.Node].Type == mad.Switch {
			text += fmt.Sprintf(", for packets received on port %d", d.In)
		}
		return text + ": " + stops[d.Stop]
	}
	return ""
}
