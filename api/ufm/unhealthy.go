package ufm

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/partitions/callers"
	"ibsm/rights"
)

// unhealthyPort is a port whose link routes avoid.
type unhealthyPort struct {
	Port       string `json:"UnhealthyPort"`
	GUID       string `json:"UnhealthyGUID"`
	Node       string `json:"UnhealthyNode"`
	Number     int    `json:"UnhealthyPortNumber"`
	DName      string `json:"UnhealthyPortDname"`
	NodeType   string `json:"UnhealthyNodeType"`
	PeerPort   string `json:"PeerPort"`
	PeerGUID   string `json:"PeerGUID"`
	PeerNode   string `json:"PeerNode"`
	PeerNumber int    `json:"PeerPortNumber"`
	PeerDName  string `json:"PeerPortDname"`
	PeerLID    string `json:"PeerLID"`
	Condition  string `json:"Condition"` // MANUAL by hand, else NOISY
	State      string `json:"State"`
	StatusTime string `json:"StatusTime"`
}

// counters is the source of what is isolated.
func (s *Server) counters() (ctl.CounterSource, error) {
	if s.cfg.Counters == nil {
		return nil, fmt.Errorf("%w: this manager has no performance manager, which isolates links", ctl.ErrNotFound)
	}
	return s.cfg.Counters, nil
}

// unhealthyPorts answers with the ports whose links are isolated.
func (s *Server) unhealthyPorts(w http.ResponseWriter, r *http.Request) error {
	source, err := s.counters()
	if err != nil {
		return err
	}
	sick, err := source.SickLinks(r.Context())
	if err != nil {
		return err
	}
	f, err := s.fabric(false)
	if err != nil {
		return err
	}
	return s.array(w, r, func(add func(string, any)) error {
		for i := range sick.Excluded {
			add("", f.unhealthy(&sick.Excluded[i]))
		}
		return nil
	})
}

// unhealthy describes a link that is out of use.
func (f *fabric) unhealthy(e *ctl.ExcludedLink) *unhealthyPort {
	out := &unhealthyPort{GUID: digits(e.Node), Node: f.name(e.Node), Number: int(e.Port),
		DName: f.label(e.Node, e.Port), PeerPort: absent, PeerGUID: absent, PeerNode: absent, PeerDName: absent,
		PeerLID: absent, Condition: "NOISY", State: "Info", StatusTime: timeText(e.Since)}
	out.Port = out.Node + "/" + out.DName
	if of := f.of[e.Node]; of != nil {
		out.NodeType = systemTypes[of.kind]
	}
	if e.ByHand {
		out.Condition = "MANUAL"
	}
	if p := e.Peer; p != nil {
		out.PeerGUID, out.PeerNode, out.PeerNumber = digits(p.Node), f.name(p.Node), int(p.Port)
		out.PeerDName, out.PeerLID = f.label(p.Node, p.Port), strconv.Itoa(int(p.LID))
		out.PeerPort = out.PeerNode + "/" + out.PeerDName
	}
	return out
}

// portsPolicy is the body of PUT app/unhealthy_ports.
type portsPolicy struct {
	Ports   []string `json:"ports,omitempty"`   // names, GUID_NUMBER
	Devices []string `json:"devices,omitempty"` // GUIDs
	Policy  string   `json:"ports_policy"`      // UNHEALTHY or HEALTHY
	Action  string   `json:"action,omitempty"`  // isolate
}

// parsePolicy parses the body of PUT app/unhealthy_ports.
func parsePolicy(body []byte) (p portsPolicy, err error) {
	const example = `{"ports": ["b83fd20300a00020_1"], "ports_policy": "UNHEALTHY", "action": "isolate"}`
	fields, err := parseObject(body, example)
	if err != nil {
		return p, err
	}
	wrong := func(name string, err error) error {
		if err == nil {
			return nil
		}
		return refuse(callers.Wrong, name, "field %s: %v", name, err)
	}
	lists := func(name string, to *[]string) error {
		return wrong(name, optional(fields[name], "a list of texts", to))
	}
	texts := func(name string, to *string) error { return wrong(name, optional(fields[name], "a text", to)) }
	if err := cmp.Or(lists("ports", &p.Ports), lists("devices", &p.Devices), texts("ports_policy", &p.Policy),
		texts("action", &p.Action)); err != nil {
		return p, err
	}
	switch {
	case p.Policy != "UNHEALTHY" && p.Policy != "HEALTHY":
		err = refuse(callers.Wrong, "ports_policy", "field ports_policy: %q is not valid: expected UNHEALTHY or HEALTHY",
			shown(p.Policy))
	case p.Policy == "UNHEALTHY" && p.Action != "" && p.Action != "isolate":
		err = refuse(callers.Wrong, "action", "field action: %q is not served: expected isolate", shown(p.Action))
	case len(p.Ports)+len(p.Devices) == 0:
		err = refuse(callers.Wrong, "ports", "fields ports and devices are missing: expected one of them, such as %s",
			example)
	}
	return p, err
}

// setUnhealthyPorts isolates or heals links, one after the other.
func (s *Server) setUnhealthyPorts(w http.ResponseWriter, r *http.Request) error {
	source, err := s.counters()
	if err != nil {
		return err
	}
	body, err := s.readBody(w, r)
	if err != nil {
		return err
	}
	policy, err := parsePolicy(body)
	if err != nil {
		return err
	}
	ports, err := s.portsOf(&policy)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	by := rights.Of(ctx)
	for _, port := range ports {
		what := "isolated"
		if policy.Policy == "UNHEALTHY" {
			_, err = source.IsolateLink(ctx, port, 0)
		} else {
			what = "healed"
			_, err = source.HealLink(ctx, port)
		}
		if err != nil {
			return err
		}
		s.cfg.Logger.Info("link "+what+" by a call of UFM's API", "port", port, "by", by.Name)
	}
	return s.reply(w, struct{}{})
}

// portsOf are the ports that a body names, as ctl.CounterSource takes them. Of a device they are those with a cable to
// another switch: routes cannot avoid others.
func (s *Server) portsOf(p *portsPolicy) (ports []string, err error) {
	sub, err := s.subnet()
	if err != nil {
		return nil, err
	}
	all, err := sub.Rows(ctl.Ports, ctl.Filter{})
	if err != nil {
		return nil, err
	}
	byName, byDevice := map[string]string{}, map[string][]string{}
	for row := range all {
		port := row.(*ctl.Port)
		name := fmt.Sprintf("%s:%d", port.Node, port.Num)
		byName[portName(digits(port.GUID), port.Num)] = name
		if port.Type == mad.Switch.String() && port.Peer != nil && port.Peer.Type == port.Type {
			byDevice[digits(port.Node)] = append(byDevice[digits(port.Node)], name)
		}
	}
	for _, name := range p.Ports {
		port, known := byName[strings.ToLower(strings.TrimPrefix(name, "0x"))]
		if !known {
			return nil, refuse(callers.Missing, "ports", "there is no port %q: expected GUID_NUMBER, as resources/ports has it",
				shown(name))
		}
		ports = append(ports, port)
	}
	for _, device := range p.Devices {
		guid, _ := ctl.ParseGUID(device)
		if len(byDevice[guidText(guid)]) == 0 {
			return nil, refuse(callers.Missing, "devices",
				"device %q is no switch with a cable to another one: routes cannot avoid it", shown(device))
		}
		ports = append(ports, byDevice[guidText(guid)]...)
	}
	return ports, nil
}
