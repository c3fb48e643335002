package ufm

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/rights"
)

// subnetRoutes are replies about the subnet.
func (s *Server) subnetRoutes() []ctl.Route {
	ports := []ctl.Param{{Name: "sys_type", Text: "Computer, Switch or Router"}, {Name: "active", Text: "true: Active ones"},
		{Name: "system", Text: "GUID or name of a system"}, {Name: "page_number", Text: "1 and more: one page of the list"},
		{Name: "rpp", Text: "ports of a page, 1 to 10000; 100 without it"}}
	return []ctl.Route{
		{Method: "GET", Path: "/resources/ports", Right: rights.ReadOwn, Does: "lists ports", Params: ports,
			Reply: or(array(Port{}), value(page{})), Handle: s.ports},
		{Method: "GET", Path: "/resources/systems", Right: rights.ReadOwn, Does: "lists hosts, switches and routers",
			Params: []ctl.Param{{Name: "type", Text: "host, switch or router"}, {Name: "name", Text: "GUID or name"},
				{Name: "ports", Text: "true adds the names of ports"}},
			Reply: array(System{}), Handle: s.systems},
		{Method: "GET", Path: "/resources/links", Right: rights.Read, Does: "lists links",
			Params: []ctl.Param{{Name: "system", Text: "GUID or name of a system"}}, Reply: array(Link{}),
			Handle: s.links},
	}
}

// Port is a port with a cable, or a place for one.
type Port struct {
	Name            string `json:"name"` // GUID_NUMBER
	GUID            string `json:"guid"` // of a switch its own
	Number          int    `json:"number"`
	LID             int    `json:"lid"`
	DName           string `json:"dname"`
	SystemID        string `json:"systemID"`
	SystemName      string `json:"system_name"`
	NodeDescription string `json:"node_description"`
	PhysicalState   string `json:"physical_state"`
	LogicalState    string `json:"logical_state"`
	Description     string `json:"description"`
	Label           string `json:"label"`
	Tier            int    `json:"tier"`
	MTU             int    `json:"mtu"`
	ActiveSpeed     string `json:"active_speed"`
	ActiveWidth     string `json:"active_width"`
	Severity        string `json:"severity"`
	HighBER         string `json:"high_ber_severity"`
	Peer            string `json:"peer"` // name of the port
	PeerGUID        string `json:"peer_guid"`
	PeerNodeGUID    string `json:"peer_node_guid"`
	PeerNodeName    string `json:"peer_node_name"`
	PeerDescription string `json:"peer_node_description"`
	PeerDName       string `json:"peer_port_dname"`
	PeerLID         int    `json:"peer_lid"`
}

// page is a page of a list.
type page struct {
	Total    int    `json:"total_resources"`
	Filtered int    `json:"filtered_resources"`
	Pages    int    `json:"num_of_pages"`
	Data     []Port `json:"data"`
}

// portFilter selects ports.
type portFilter struct {
	by     *rights.User
	kind   string
	active bool
	system string
	counts bool // ports that are not selected, too
}

// levels reports whether tiers of switches are wanted.
func (f *portFilter) levels() bool {
	return f.by.Role != rights.Tenant && !strings.EqualFold(f.kind, computer)
}

// ports answers with the ports that the user may see, or with a page of them.
func (s *Server) ports(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	f := portFilter{by: rights.Of(r.Context()), kind: q.Get("sys_type"), active: isTrue(q.Get("active")),
		system: q.Get("system")}
	if q.Has("page_number") || q.Has("rpp") {
		return s.pageOfPorts(w, r, &f)
	}
	at, err := s.fabric(f.levels())
	if err != nil {
		return err
	}
	return s.array(w, r, func(add func(string, any)) error {
		_, err := at.eachPort(&f, func(p *Port) { add("", p) })
		return err
	})
}

// pageOfPorts answers with a page of the ports.
func (s *Server) pageOfPorts(w http.ResponseWriter, r *http.Request, f *portFilter) error {
	number, err := pageParam(r, "page_number", 1, 1<<31)
	if err != nil {
		return err
	}
	size, err := pageParam(r, "rpp", 100, 10000)
	if err != nil {
		return err
	}
	at, err := s.fabric(f.levels())
	if err != nil {
		return err
	}
	f.counts = true
	out := page{Data: []Port{}}
	out.Total, err = at.eachPort(f, func(p *Port) {
		if out.Filtered/size == number-1 {
			out.Data = append(out.Data, *p)
		}
		out.Filtered++
	})
	if err != nil {
		return err
	}
	out.Pages = (out.Filtered + size - 1) / size
	return s.reply(w, &out)
}

// pageParam is a number from 1 to most; without it another one.
func pageParam(r *http.Request, name string, without, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return without, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%w: parameter %s=%q: expected 1 to %d", ctl.ErrBadRequest, name, shown(text), most)
	}
	return n, nil
}

// eachPort yields the ports that are selected, and returns the number of all that the user may see, if they count.
func (f *fabric) eachPort(filter *portFilter, yield func(*Port)) (total int, err error) {
	guids, err := f.portGUIDs()
	if err != nil {
		return 0, err
	}
	only := ctl.Filter{}
	if !filter.levels() && !filter.counts {
		only.Type = mad.CA.String()
	}
	found, err := f.subnet.Rows(ctl.Ports, only)
	if err != nil {
		return 0, err
	}
	for row := range found {
		p := row.(*ctl.Port)
		of := f.of[p.Node]
		if of == nil || p.Num == 0 || !maySee(filter.by, of, p) {
			continue
		}
		total++
		out := f.port(p, of, guids)
		if filter.selects(of, &out) {
			if filter.by.Role == rights.Tenant {
				out.hidePeer()
			}
			yield(&out)
		}
	}
	return total, nil
}

// maySee reports whether a user may see a port.
func maySee(u *rights.User, of *system, p *ctl.Port) bool {
	if u.Role != rights.Tenant {
		return true
	}
	guid, err := mad.ParseGUID(p.GUID)
	return of.kind == computer && err == nil && u.Member(guid, of.host)
}

func (f *portFilter) selects(of *system, p *Port) bool {
	return (f.kind == "" || strings.EqualFold(f.kind, of.kind)) && (!f.active || p.LogicalState == "Active") &&
		(f.system == "" || f.system == of.name || is(f.system, of.id) || is(f.system, p.GUID))
}

// is reports whether a text is a GUID, in any of its forms.
func is(text, digits string) bool {
	guid, valid := ctl.ParseGUID(text)
	return valid && guidText(guid) == digits
}

// end is one end of a link.
type end struct {
	node string
	num  uint8
}

// portGUIDs are the GUIDs of ports that have their own.
type portGUIDs map[end]string

// of is the GUID of a port, as digits: those of a switch have that of the switch.
func (g portGUIDs) of(node string, num uint8) string {
	if guid, is := g[end{node, num}]; is {
		return guid
	}
	return digits(node)
}

func (f *fabric) portGUIDs() (portGUIDs, error) {
	all := portGUIDs{}
	for _, kind := range []mad.NodeType{mad.CA, mad.Router} {
		found, err := f.subnet.Rows(ctl.Ports, ctl.Filter{Type: kind.String()})
		if err != nil {
			return nil, err
		}
		for row := range found {
			p := row.(*ctl.Port)
			all[end{p.Node, p.Num}] = digits(p.GUID)
		}
	}
	return all, nil
}

// portName is the name of a port.
func portName(guid string, num uint8) string { return guid + "_" + strconv.Itoa(int(num)) }

// port describes a port as UFM does.
func (f *fabric) port(p *ctl.Port, of *system, guids portGUIDs) Port {
	guid := digits(p.GUID)
	label := f.label(p.Node, p.Num)
	out := Port{Name: portName(guid, p.Num), GUID: guid, Number: int(p.Num), LID: int(p.LID), DName: label,
		Label: label, SystemID: of.id, SystemName: of.name, NodeDescription: f.description(p.Node, p.Desc, p.Num),
		PhysicalState: physicalText(p.Physical), LogicalState: logicalText(p.State), Description: of.kind + " IB Port",
		Tier: of.tier, MTU: p.MTU, ActiveSpeed: orAbsent(p.Speed), ActiveWidth: orAbsent(p.Width),
		Severity: severity(p.Unhealthy), HighBER: absent}
	if of.kind != computer {
		out.LID = int(f.nodes[p.Node].LID) // of the switch
	}
	if out.hidePeer(); p.Peer != nil {
		peer := p.Peer
		guid := guids.of(peer.Node, peer.Port)
		out.Peer, out.PeerGUID, out.PeerNodeGUID = portName(guid, peer.Port), guid, digits(peer.Node)
		out.PeerNodeName, out.PeerDName = f.name(peer.Node), f.label(peer.Node, peer.Port)
		out.PeerDescription, out.PeerLID = f.description(peer.Node, peer.Desc, peer.Port), int(peer.LID)
	}
	return out
}

// hidePeer makes a port one without a cable.
func (p *Port) hidePeer() {
	p.Peer, p.PeerGUID, p.PeerNodeGUID, p.PeerLID = absent, absent, absent, 0
	p.PeerNodeName, p.PeerDName, p.PeerDescription = absent, absent, absent
}

func orAbsent(text string) string {
	if text == "" {
		return absent
	}
	return text
}

// physicalText is a physical state with its words apart, such as Link Up.
func physicalText(state string) string {
	var b strings.Builder
	for i, r := range state {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// logicalText is the state of a port. UFM has none between Armed and Active.
func logicalText(state string) string {
	if strings.HasPrefix(state, "Active") {
		return "Active"
	}
	return state
}

// System is a host with all its adapters, or a switch or router.
type System struct {
	Name       string   `json:"name"` // its GUID
	GUID       string   `json:"guid"`
	SystemGUID string   `json:"system_guid"`
	SystemName string   `json:"system_name"`
	Type       string   `json:"type"` // host, switch or router
	Role       string   `json:"role"` // endpoint, tor or core
	State      string   `json:"state"`
	Severity   string   `json:"severity"`
	IP         string   `json:"ip"`
	Technology string   `json:"technology"` // speed of the fastest link
	Modules    []string `json:"modules"`
	Ports      []string `json:"ports,omitzero"` // names; nil where they were not asked for
}

// systemTypes are the types of systems by what ports say of them.
var systemTypes = map[string]string{computer: "host", "Switch": "switch", "Router": "router"}

// systems answers with the systems that the user may see.
func (s *Server) systems(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	kind, name, ports := q.Get("type"), q.Get("name"), isTrue(q.Get("ports"))
	f, err := s.fabric(true)
	if err != nil {
		return err
	}
	found, err := f.subnet.Rows(ctl.Ports, ctl.Filter{})
	if err != nil {
		return err
	}
	of, by := map[*system]*System{}, rights.Of(r.Context())
	if by.Role != rights.Tenant {
		for _, one := range f.systems {
			of[one] = describe(one)
		}
	}
	for row := range found {
		p := row.(*ctl.Port)
		one := f.of[p.Node]
		if one == nil || p.Num == 0 || !maySee(by, one, p) {
			continue
		}
		out := of[one]
		if out == nil {
			out = describe(one)
			of[one] = out
		}
		out.Ports = append(out.Ports, portName(digits(p.GUID), p.Num))
		if p.Speed != "" {
			out.Technology = p.Speed
		}
	}
	return s.array(w, r, func(add func(string, any)) error {
		for _, one := range f.systems {
			out := of[one]
			if out == nil || kind != "" && !strings.EqualFold(kind, out.Type) ||
				name != "" && name != out.SystemName && !is(name, out.GUID) {
				continue
			}
			if !ports {
				out.Ports = nil
			}
			add("", out)
		}
		return nil
	})
}

// describe describes a system without ports.
func describe(of *system) *System {
	role := "endpoint"
	if of.kind != computer {
		role = "core"
		if of.tier <= 2 {
			role = "tor"
		}
	}
	return &System{Name: of.id, GUID: of.id, SystemGUID: of.id, SystemName: of.name, Type: systemTypes[of.kind],
		Role: role, State: "active", Severity: "Info", IP: "0.0.0.0", Technology: absent, Modules: []string{}, Ports: []string{}}
}

// Link is a cable between two ports.
type Link struct {
	Name         string   `json:"name"` // of both ports
	SourceGUID   string   `json:"source_guid"`
	SourcePort   string   `json:"source_port"` // number
	SourceName   string   `json:"source_port_name"`
	SourceLabel  string   `json:"source_port_dname"`
	SourceDesc   string   `json:"source_port_node_description"`
	TargetGUID   string   `json:"destination_guid"`
	TargetPort   string   `json:"destination_port"`
	TargetName   string   `json:"destination_port_name"`
	TargetLabel  string   `json:"destination_port_dname"`
	TargetDesc   string   `json:"destination_port_node_description"`
	Width        string   `json:"width"`
	Severity     string   `json:"severity"`
	Capabilities []string `json:"capabilities"`
}

// links answers with all links.
func (s *Server) links(w http.ResponseWriter, r *http.Request) error {
	of := r.URL.Query().Get("system")
	f, err := s.fabric(false)
	if err != nil {
		return err
	}
	guids, err := f.portGUIDs()
	if err != nil {
		return err
	}
	found, err := rows[ctl.Link](f.subnet, ctl.Links)
	if err != nil {
		return err
	}
	return s.array(w, r, func(add func(string, any)) error {
		for _, l := range found {
			if f.of[l.From.Node] != nil && f.of[l.To.Node] != nil &&
				(of == "" || f.named(of, l.From.Node) || f.named(of, l.To.Node)) {
				add("", f.link(l, guids))
			}
		}
		return nil
	})
}

// named reports whether a text is the name of the system of a node, or the GUID of one of both.
func (f *fabric) named(text, node string) bool {
	of := f.of[node]
	return text == of.name || is(text, of.id) || is(text, digits(node))
}

// link describes a link as UFM does.
func (f *fabric) link(l *ctl.Link, guids portGUIDs) *Link {
	a, b := &l.From, &l.To
	from, to := guids.of(a.Node, a.Port), guids.of(b.Node, b.Port)
	out := &Link{SourceGUID: from, SourcePort: strconv.Itoa(int(a.Port)), SourceName: portName(from, a.Port),
		SourceLabel: f.label(a.Node, a.Port), SourceDesc: f.description(a.Node, a.Desc, a.Port),
		TargetGUID: to, TargetPort: strconv.Itoa(int(b.Port)), TargetName: portName(to, b.Port),
		TargetLabel: f.label(b.Node, b.Port), TargetDesc: f.description(b.Node, b.Desc, b.Port),
		Width: l.Width, Severity: severity(l.Unhealthy), Capabilities: []string{}}
	out.Name = out.SourceName + ":" + out.TargetName
	return out
}

// severity is that of a port or link.
func severity(unhealthy bool) string {
	if unhealthy {
		return "Warning"
	}
	return "Info"
}
