package ctl

import (
	"net/http"

	"ibsm/rights"
)

// Parameters of several requests.
var (
	paramType  = Param{Name: "type", Text: "CA, switch or router"}
	paramNode  = Param{Name: "node", Text: "a GUID or a name"}
	paramState = Param{Name: "state", Text: "Down, Initialize, Armed, Active or ActiveDefer"}
	paramMGID  = Param{Name: "group", Text: "an MGID"}
	paramFrom  = Param{Name: "from", Text: "a LID, GUID, GID or NodeDescription", Required: true}
	paramTo    = Param{Name: "to", Text: paramFrom.Text, Required: true}
	paramPort  = Param{Name: "port", Text: "a LID, GUID, GID, NodeDescription or NODE:PORT"}
	paramNames = Content{Type: text}
)

// Statuses of replies.
var (
	accepted = []int{http.StatusAccepted}
	created  = []int{http.StatusOK, http.StatusCreated}
)

// Media types of bodies and replies.
const (
	text  = "text/plain; charset=utf-8"
	lines = "application/x-ndjson"
)

func value(of any) Content { return Content{Type: "application/json", Of: of} }
func listOf(list List, of any) Content {
	return Content{Type: "application/json", Of: of, List: string(list)}
}

// after is a list with members before it.
func (c Content) after(head any) Content {
	c.Head = head
	return c
}

// Routes are the requests of the control protocol.
func (s *Server) Routes() []Route {
	var all []Route
	for _, of := range [][]Route{s.listRoutes(), s.subnetRoutes(), s.counterRoutes(), s.orderRoutes(), s.fileRoutes(),
		s.partitionRoutes(), {
			{Method: "GET", Path: "/metrics", Right: rights.Read, Does: "returns metrics for Prometheus",
				Params: []Param{{Name: "collect[]", Text: "manager, ports or counters", Many: true},
					{Name: "share", Text: "a share of the nodes, such as 2/8"}},
				Reply: Content{Type: text}, Handle: s.metrics},
			{Method: "GET", Path: "/leader", Right: rights.Anyone,
				Does:  "returns in one word where the manager stands in the election, with status 200 on the master",
				Reply: Content{Type: text}, Status: []int{http.StatusOK, http.StatusServiceUnavailable},
				Handle: s.leader},
		}, s.cfg.More} {
		all = append(all, of...)
	}
	for i := range all {
		all[i].Fail = s.Fail
	}
	return all
}

// listRoutes are lists of the subnet.
func (s *Server) listRoutes() (all []Route) {
	for _, l := range []struct {
		list   List
		of     any
		right  rights.Right
		does   string
		params []Param
	}{
		{Nodes, Node{}, rights.Read, "nodes", []Param{paramType, paramNode, paramAbsent}},
		{Ports, Port{}, rights.Read, "ports", []Param{paramType, paramNode, paramState}},
		{Links, Link{}, rights.Read, "links", []Param{paramType, paramNode, paramState,
			{Name: "routes", Text: "1 adds the number of routes over each link"}, paramAbsent}},
		{PKeys, PKey{}, rights.Read, "entries of P_Key tables", []Param{paramNode}},
		{Groups, Group{}, rights.Read, "multicast groups", nil},
		{Members, Member{}, rights.Read, "members of multicast groups", []Param{paramMGID}},
		{Services, Service{}, rights.Read, "services", nil},
		{Subscriptions, Subscription{}, rights.Read, "event subscriptions", nil},
		{Refusals, Refusal{}, rights.Read, "multicast groups that ports could not join", []Param{paramMGID}},
		{DrainedPorts, Drained{}, rights.Read, "switches and ports that routes avoid", nil},
		{Cables, Cable{}, rights.Read, "cables that the last heavy sweep found", nil},
		{Offenders, Offender{}, rights.Read, "ports that sent forbidden packets", nil},
		{PortGroups, PortGroup{}, rights.Read, "port groups of the files",
			[]Param{{Name: "group", Text: "the name of a group"}}},
		{Hosts, Host{}, rights.ReadOwn, "hosts with the ports of their adapters",
			[]Param{{Name: "name", Text: "a host, or a pattern such as node[001-100]"},
				{Name: "rail", Text: "the number of a rail: its ports alone", Many: true},
				{Name: "device", Text: "an adapter, or a pattern such as mlx5_[0-7]: its ports alone", Many: true}}},
		{VPorts, VPort{}, rights.ReadOwn, "virtual functions of adapters, with what keeps them down",
			[]Param{{Name: "name", Text: "a host, a pattern such as node[001-100], or a GUID"}, paramState}},
	} {
		all = append(all, Route{Method: "GET", Path: "/v1/" + string(l.list), Right: l.right, Does: "lists " + l.does,
			Params: l.params, Reply: listOf(l.list, l.of).after(listHead{}),
			Handle: func(w http.ResponseWriter, r *http.Request) error { return s.list(w, r, l.list) }})
	}
	return all
}

var paramAbsent = Param{Name: "absent", Text: "1 adds those that have gone"}

// subnetRoutes are replies about the subnet and the manager.
func (s *Server) subnetRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/v1/status", Right: rights.Read, Does: "returns the state of the manager",
			Reply: value(Status{}), Handle: s.value(s.status)},
		{Method: "GET", Path: "/v1/sa-stats", Right: rights.Read, Does: "returns statistics of subnet administration",
			Reply: value(SAStats{}), Handle: s.value(s.saStats)},
		{Method: "GET", Path: "/v1/activity", Right: rights.Read, Does: "returns all counters of the manager",
			Reply: value(Activity{}), Handle: s.value(s.activity)},
		{Method: "GET", Path: "/v1/path", Right: rights.Read, Does: "returns the route by the forwarding tables",
			Params: []Param{paramFrom, paramTo}, Reply: value(Path{}), Handle: s.value(s.path)},
		{Method: "GET", Path: "/v1/path-record", Right: rights.Read,
			Does: "returns the path that a host gets from subnet administration",
			Params: []Param{paramFrom, paramTo, {Name: "service_id", Text: "a number"}, {Name: "pkey", Text: "a number"},
				{Name: "qos_class", Text: "0 to 4095"}},
			Body: paramNames, Reply: value(PathAnswer{}), Handle: s.pathRecord},
		{Method: "GET", Path: "/v1/why", Right: rights.Read,
			Does:   "returns why ports are not Active, or why one does not reach another",
			Params: []Param{paramPort, {Name: "other", Text: "likewise"}},
			Body:   paramNames, Reply: listOf(Diagnoses, Diagnosis{}).after(listHead{}), Handle: s.diagnose},
		{Method: "GET", Path: "/v1/qos", Right: rights.Read, Does: "returns the QoS policy in force",
			Reply: value(QoS{}), Handle: s.value(s.qos)},
		{Method: "GET", Path: "/v1/quality", Right: rights.Read, Does: "measures the routes in force",
			Reply: value(Quality{}), Handle: s.value(s.quality)},
		{Method: "GET", Path: "/v1/rails", Right: rights.Read, Does: "returns the rails of the subnet",
			Reply: value(Rails{}), Handle: s.value(s.rails)},
		{Method: "GET", Path: "/v1/topology", Right: rights.Read, Does: "compares cables with the plan",
			Reply: value(Cabling{}), Handle: s.value(s.topology)},
		{Method: "GET", Path: "/v1/security", Right: rights.Read,
			Does: "returns how well the subnet is protected from its hosts", Reply: value(Security{}),
			Handle: s.value(s.security)},
		{Method: "GET", Path: "/v1/names", Right: rights.Read, Does: "lists the names of nodes in force",
			Reply: listOf("names", NodeName{}), Handle: s.names},
		{Method: "GET", Path: "/v1/generations", Right: rights.Read, Does: "lists the stored generations with changes",
			Reply: listOf("generations", Generation{}), Handle: s.generations},
		{Method: "GET", Path: "/v1/diff", Right: rights.Read, Does: "lists the changes between two generations",
			Params: []Param{{Name: "from", Text: "a generation"}, {Name: "to", Text: "a generation"}},
			Reply:  listOf("rows", DiffRow{}), Handle: s.diff},
		{Method: "GET", Path: "/v1/dump/{kind}", Right: rights.Read, Does: "returns a dump in OpenSM's format",
			Body: paramNames, Reply: Content{Type: text}, Handle: s.dump},
		{Method: "GET", Path: "/v1/events", Right: rights.Read, Does: "returns events, one per line",
			Params: []Param{{Name: "since", Text: "the number of an event"},
				{Name: "follow", Text: "1 goes on with new ones"}},
			Reply: Content{Type: lines, Of: Event{}, Rows: true}, Handle: s.events},
	}
}

// counterRoutes are requests about counters, congestion and sick links.
func (s *Server) counterRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/v1/counters/status", Right: rights.Read,
			Does: "returns the state of the performance manager", Reply: value(CounterStatus{}),
			Handle: s.value(s.counterStatus)},
		{Method: "GET", Path: "/v1/counters", Right: rights.Read, Does: "lists the counters of ports",
			Params: []Param{paramPort, {Name: "brief", Text: "1 leaves out the values"}},
			Reply:  listOf("ports", PortCounters{}), Handle: s.counters},
		{Method: "GET", Path: "/v1/counters/top", Right: rights.Read,
			Does: "returns the ports with most errors, traffic or congestion",
			Params: []Param{{Name: "by", Text: "errors, traffic or congestion"},
				{Name: "most", Text: "the number of ports, 20 without it"}},
			Reply: value(TopPorts{}), Handle: s.value(s.topCounters)},
		{Method: "POST", Path: "/v1/counters/clear", Right: rights.Operate, Does: "has totals begin again at zero",
			Params: []Param{paramPort}, Reply: value(ClearedCounters{}), Handle: s.value(s.clearCounters)},
		{Method: "GET", Path: "/v1/counters/congestion", Right: rights.Read, Does: "returns congestion by its roots",
			Reply: value(Congestions{}), Handle: s.value(s.congestions)},
		{Method: "GET", Path: "/v1/links/sick", Right: rights.Read,
			Does: "returns links with more errors than a rule permits", Reply: value(SickLinks{}),
			Handle: s.value(s.sickLinks)},
		{Method: "POST", Path: "/v1/links/isolate", Right: rights.Operate, Does: "makes routes avoid a link",
			Params: []Param{paramPort, {Name: "seconds", Text: "after which the link returns; 0 for never"}},
			Reply:  value(IsolatedLink{}), Handle: s.value(s.isolateLink)},
		{Method: "POST", Path: "/v1/links/heal", Right: rights.Operate, Does: "returns a link to use",
			Params: []Param{paramPort}, Reply: value(IsolatedLink{}), Handle: s.value(s.healLink)},
		{Method: "GET", Path: "/v1/congestion-control", Right: rights.Read,
			Does: "returns the congestion control settings of each device", Reply: value(CongestionControl{}),
			Handle: s.value(s.congestionControl)},
	}
}

// orderRoutes are orders to the manager.
func (s *Server) orderRoutes() []Route {
	switches := []Param{{Name: "switch", Text: "a switch, SWITCH:PORT, or the name of a line card or director", Many: true},
		{Name: "seconds", Text: "how long to wait for the routes"}, {Name: "all", Text: "1: everything, of undrain"}}
	return []Route{
		{Method: "POST", Path: "/v1/sweep", Right: rights.Operate, Does: "requests a sweep",
			Params: []Param{{Name: "kind", Text: "heavy (default) or light"}}, Reply: value(Accepted{}), Status: accepted, Handle: s.sweep},
		{Method: "POST", Path: "/v1/reroute", Right: rights.Operate,
			Does: "requests a heavy sweep that computes all routes again", Reply: value(Accepted{}), Status: accepted,
			Handle: s.reroute},
		{Method: "POST", Path: "/v1/capture", Right: rights.Administer,
			Does: "requests a heavy sweep, and returns its packets", Reply: Content{Type: "application/gzip"},
			Handle: s.capture},
		{Method: "POST", Path: "/v1/plan", Right: rights.Read, Does: "lists the Sets that a heavy sweep would send",
			Params: []Param{{Name: "reroute", Text: "0 or 1"}, {Name: "engine", Text: "a list of routing engines"},
				{Name: "without", Text: "a switch or SWITCH:PORT, as if it had failed", Many: true},
				{Name: "security", Text: "tenants"}},
			Reply: listOf("steps", "").after(PlanHead{}), Handle: s.plan},
		{Method: "GET", Path: "/v1/api", Right: rights.Read, Does: "returns the address and the certificate of the API",
			Reply: value(API{}), Handle: s.value(s.api)},
		{Method: "GET", Path: "/v1/audit", Right: rights.Administer, Does: "lists the last changes and refusals",
			Params: []Param{{Name: "most", Text: "how many, 100 without it"}}, Reply: listOf("entries", Audited{}),
			Handle: s.audit},
		{Method: "POST", Path: "/v1/security/rotate", Right: rights.Administer,
			Does: "gives all ports their next M_Keys", Reply: value(Rotated{}), Handle: s.value(s.rotate)},
		{Method: "POST", Path: "/v1/drain", Right: rights.Operate, Does: "makes routes avoid switches and ports",
			Params: switches, Reply: value(DrainDone{}), Handle: s.value(s.drain)},
		{Method: "POST", Path: "/v1/undrain", Right: rights.Operate, Does: "lets routes use switches and ports again",
			Params: switches, Reply: value(DrainDone{}), Handle: s.value(s.drain)},
		{Method: "GET", Path: "/v1/config", Right: rights.Read, Does: "returns the settings in force",
			Reply: value(Configuration{}), Handle: s.value(s.config)},
		{Method: "POST", Path: "/v1/reload", Right: rights.Operate, Does: "reads the configuration again",
			Reply: value(Reloaded{}), Handle: s.value(s.reload)},
		{Method: "GET", Path: "/v1/log-level", Right: rights.Read, Does: "returns OpenSM's log flags",
			Reply: value(LogFlags{}), Handle: s.value(s.logLevel)},
		{Method: "POST", Path: "/v1/log-level", Right: rights.Operate, Does: "sets OpenSM's log flags",
			Params: []Param{{Name: "flags", Text: "0 to 255", Required: true}}, Reply: value(LogFlags{}),
			Handle: s.value(s.setLogLevel)},
	}
}

// fileRoutes are requests about the partition file.
func (s *Server) fileRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/v1/partitions/why", Right: rights.Read,
			Does: "returns what decides whether a port is in a partition",
			Params: []Param{{Name: "port", Text: "a LID, GUID, GID or NodeDescription", Required: true},
				{Name: "pkey", Text: "a P_Key, or the name of a partition", Required: true}},
			Reply: value(Why{}), Handle: s.value(s.why)},
		{Method: "POST", Path: partitionPlan, Right: rights.Read, Does: "lists the changes by a partition file",
			Body: Content{Type: text}, Reply: listOf("rows", PartitionRow{}), Handle: s.planPartitions},
		{Method: "POST", Path: "/v1/partitions/apply", Right: rights.Operate, Does: "applies the manager's partition file",
			Params: []Param{{Name: "force", Text: "1 accepts dangerous lines"}}, Reply: listOf("rows", PartitionRow{}),
			Handle: s.applyPartitions},
		{Method: "GET", Path: "/v1/partitions/export", Right: rights.Read,
			Does: "returns the partitions of programs as partitions.conf", Reply: Content{Type: text},
			Handle: s.exportPartitions},
	}
}

// partitionRoutes are requests about partitions of programs.
func (s *Server) partitionRoutes() []Route {
	strict := []Param{{Name: "strict", Text: "true refuses hosts that are not known, and full P_Key tables"}}
	return []Route{
		{Method: "GET", Path: "/v1/partition", Right: rights.ReadOwn, Does: "lists partitions",
			Params: []Param{{Name: "name", Text: "of the partition"}, {Name: "pkey", Text: "a number"},
				{Name: "host", Text: "that is a member"}, {Name: "guid", Text: "of a port that is a member"},
				{Name: "origin", Text: "file or caller"}, {Name: "members", Text: "1 adds members"}},
			Reply: listOf("partitions", Partition{}), Handle: s.partitionList},
		{Method: "GET", Path: partitionPath + "{name}", Right: rights.ReadOwn, Does: "returns a partition with its members",
			Params: []Param{{Name: "wait", Text: "ready"}, {Name: "seconds", Text: "1 to 60: how long at most"}},
			Reply:  value(Partition{}), Tagged: true, Handle: s.partition},
		{Method: "PUT", Path: partitionPath + "{name}", Right: rights.ChangeOwn, Does: "makes or replaces a partition",
			Params: strict, Body: value(Partition{}), Reply: value(PartitionChanged{}), Status: created,
			Tagged: true, Handle: s.putPartition},
		{Method: "PATCH", Path: partitionPath + "{name}", Right: rights.ChangeOwn,
			Does: "adds and removes members of a partition", Params: strict, Body: value(PartitionPatch{}),
			Reply: value(PartitionChanged{}), Tagged: true, Handle: s.patchPartition},
		{Method: "DELETE", Path: partitionPath + "{name}", Right: rights.ChangeOwn, Does: "deletes a partition",
			Params: strict, Reply: value(PartitionChanged{}), Tagged: true, Handle: s.deletePartition},
		{Method: "GET", Path: partitionHistory, Right: rights.ReadOwn, Does: "lists the last changes of partitions",
			Reply: listOf("changes", PartitionEdit{}), Handle: s.partitionEdits},
		{Method: "POST", Path: partitionUndo, Right: rights.ChangeOwn, Does: "takes a change of a partition back",
			Params: []Param{{Name: "number", Text: "of the change", Required: true}}, Reply: value(PartitionChanged{}),
			Status: created, Handle: s.undoPartition},
	}
}

// value is a handler that replies with a value.
func (s *Server) value(of func(*http.Request) (any, error)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		v, err := of(r)
		if err == nil {
			s.reply(w, http.StatusOK, v)
		}
		return err
	}
}
