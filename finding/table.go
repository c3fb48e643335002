package finding

import "log/slog"

// Kind is a kind of finding. Zero is none.
type Kind uint8

// Kinds that a walk of the subnet finds.
const (
	Unresponsive      Kind = iota + 1 // the link is up, and nobody answers behind it
	BadNodeInfo                       // an answer that no node can give
	DuplicateNodeGUID                 // two nodes with one GUID
	DuplicatePortGUID                 // two ports with one GUID
	Loopback                          // a plug connects a port to itself
	SameNode                          // a cable connects two ports of a node
	OwnPorts                          // a cable between two ports of one adapter, which then are the whole subnet
	TooFar                            // beyond 63 hops
	TooMany                           // more nodes or ports than a subnet can have
	GetRefused                        // a Get that was answered with an error
	PKeysRefused                      // the same, of a partition table
	PKeysUnread                       // a partition table of which a part was not read
	Incomplete                        // a node that stopped answering during the walk
	OneSided                          // a link that the port at one end reports and the port at the other end denies

	// Kinds that a Set finds.

	NoAnswer // a Set was not answered
	Refused  // a Set was answered with an error, or changed nothing
	NotKept  // values are acknowledged but not kept
	GivenUp  // an attribute that was not taken and is not sent any more
	Unrouted // a switch lacks part of its forwarding table: its links stay in INIT
	Excluded // a partition table is not as wanted: the port stays in INIT
	WentDown // the link went down while it was programmed

	// Kinds of LIDs, partitions and links.

	NoLID          // no LID is left for the port
	PKeyOverflow   // a port cannot hold all its P_Keys
	SharedName     // two nodes have a name of the partition file
	Unforced       // links whose width and speed cannot be forced
	Unhealthy      // unhealthy links that routes need
	Unenforced     // switch ports do not check P_Keys as the partition file wants
	UnenforcedPort // such a port

	// Kinds of routes.

	NoRoutes         // no routes are written
	ARHeld           // the same, because adaptive routing is on and ar_mode is hold
	EngineRefused    // an engine cannot route the subnet
	NoEngine         // the same of all engines
	InterimRoutes    // other routes serve while the wanted engine computes
	ForeignRoutes    // routes of another manager are kept
	UnknownSwitches  // a file of an engine names switches that are not there
	UnknownPorts     // likewise of end ports
	UnmatchedRules   // a port group has rules without a match
	GroupOfNoSwitch  // a port group of root switches has no switch
	LostRoutes       // routes do not reach their LIDs
	Split            // there is no path of cables
	Forbidden        // the rules of the engine forbid routes
	CreditLoop       // routes of ours have a credit loop
	KeptCreditLoop   // the same of routes of another manager
	CreditLoopPort   // a port in such a loop
	SLsOfKept        // paths in kept tables get SLs
	LanesStop        // ports stop packets, because of their lanes
	StoppedLane      // such a port
	LanesStopSA      // the same of packets to and from the SA
	StoppedSA        // such a port
	PrivateTables    // a switch forwards by private tables
	PrivateLanes     // the lanes of such a switch are not as wanted
	PrivateLanesPort // a port of such a switch
	NotAdaptive      // adaptive routing was on at a switch, and is off

	// Kinds that the operator asks for.

	DrainEmpty     // no route passes what is drained
	DrainNeeded    // routes pass it
	CablingDiffers // a cable is not as planned
	CableHeldBack  // a cable is not used
	HeldBack       // a port of such a cable
	PlanOfOther    // the plan of cables is of another subnet
	PlanIgnored    // the plan matches too little
	CutOff         // holding cables back would cut the manager off

	// Kinds of multicast.

	MFTsIncomplete // switches do not take multicast tables
	MFTsAvoided    // trees avoid such switches
	Unreached      // no tree reaches members

	numKinds
)

// NotLogged is the level of kinds that another kind of the same cause logs.
const NotLogged = slog.LevelDebug - 4

const (
	debug = slog.LevelDebug
	info  = slog.LevelInfo
	warn  = slog.LevelWarn
	erro  = slog.LevelError
)

type row struct {
	name    string // as ibsmctl why and metrics have it
	level   slog.Level
	text    string // of the log line, also OpenSM's words
	meaning string
	remedy  string
	// single says that a place has one finding of the kind at most: another detail replaces it, and does not end it.
	single bool
	// once says that a finding is reported once, when it is learnt, and that nothing is known of its end.
	once bool
}

var table = [numKinds]row{
	Unresponsive: {
		name: "nothing answers", level: warn, text: "no answer behind the port, though its link is up",
		meaning: "the node behind the port is booting or hangs, or has an M_Key that is not known",
		remedy: "check whether the node behind the port hangs and reset it; an M_Key of protection level 2 or 3 that is not known has the same effect: " +
			"wait for the end of its lease, start this manager with the files guid2mkey and neighbors of the one that set it, or restart the node",
	},
	BadNodeInfo: {
		name: "left out", level: warn, text: "impossible NodeInfo behind the port",
		meaning: "the node behind the port answers with invalid values and is left out of the subnet",
		remedy:  "update its firmware, and reset the node",
	},
	DuplicateNodeGUID: {
		name: "duplicate GUID", level: warn, text: "Found duplicated node GUID",
		meaning: "two nodes have the same GUID; the second one, behind this port, is left out. With `exit_on_fatal` the manager exits",
		remedy:  "change the GUID of one of the two (firmware tools), or disconnect it",
	},
	DuplicatePortGUID: {
		name: "duplicate GUID", level: warn, text: "Found duplicated port GUID",
		meaning: "two ports have the same GUID; the second one, behind this port, is left out",
		remedy:  "change the GUID of one of the two (firmware tools), or disconnect it",
	},
	Loopback: {
		name: "loopback", level: warn, text: "loopback plug: the port is connected to itself",
		meaning: "a plug connects the port to itself; no route uses it",
		remedy:  "remove the loopback plug if it is not needed",
	},
	SameNode: {
		name: "loopback", level: warn, text: "two ports of the node are connected to each other: no route uses them",
		meaning: "a cable connects two ports of one switch",
		remedy:  "remove the cable, or connect it to another switch",
	},
	OwnPorts: {
		name: "loopback", level: info, text: "two ports of the adapter are connected to each other: they are the whole subnet",
		meaning: "a cable connects the two ports of the manager's adapter, such as on a test bench: packets between them use the cable",
		remedy:  "nothing, if that is wanted",
	},
	TooFar: {
		name: "left out", level: warn, text: "more than 63 hops",
		meaning: "a directed route has at most 63 hops: nodes behind this port are left out",
		remedy:  "correct the cables",
	},
	TooMany: {
		name: "left out", level: warn, text: "more nodes or ports than a subnet can have",
		meaning: "nodes behind this port are left out, because there is no room for them in a subnet",
		remedy:  "split the subnet; or a device answers with new GUIDs without end: find it by the directed route",
	},
	GetRefused: {
		name: "refused", level: warn, text: "the port refuses to answer",
		meaning: "a node answered a Get with an error status; its previous state is used, and it is asked again",
		remedy:  "newer firmware may accept it; the manager retries in each sweep",
	},
	PKeysRefused: {
		name: "refused", level: warn, text: "the port refuses to show its P_Key table",
		meaning: "partitions of that port are not changed, and it may be held back ([partitions](partitions.md#when-a-p_key-table-cannot-be-read-or-written))",
		remedy:  "update the firmware of the node",
	},
	PKeysUnread: {
		name: "no answer", level: warn, text: "the port did not show its whole P_Key table",
		meaning: "partitions of that port are not changed, and it may be held back ([partitions](partitions.md#when-a-p_key-table-cannot-be-read-or-written))",
		remedy:  "update the firmware of the node, if it lasts",
	},
	Incomplete: {
		name: "left out", level: warn, text: "left out: the node stopped answering during discovery",
		meaning: "the node behind the port answered the first request of the walk, and not enough of the others",
		remedy:  "none: it is asked again in the next sweep",
	},
	OneSided: {
		name: "one-sided link", level: warn, text: "Found duplicated node GUID: the port has a link, and the port at its other end says it has none",
		meaning: "two nodes with one GUID, or a cable that is half broken; the link is left out",
		remedy:  "replug the cable, or reset one end with ibportstate LID PORT reset",
	},
	NoAnswer: {
		name: "no answer", level: warn, text: "a Set was not answered",
		meaning: "the node answers Gets, and not this Set",
		remedy:  "check whether the node hangs and reset it; an M_Key different from the manager's (m_key) has the same effect",
	},
	Refused: {
		name: "refused", level: warn, text: "a Set was refused, or changed nothing",
		meaning: "the detail has the attribute and the status",
		remedy:  "newer firmware may accept it; the manager retries in each sweep",
	},
	NotKept: {
		name: "not kept", level: debug, once: true, text: "the port ignores fields that were set",
		meaning: "the detail has their names; they are not set again",
		remedy:  "newer firmware may keep the value; the manager does not retry",
	},
	GivenUp: {
		name: "given up", level: warn, text: "a device does not take an attribute; it is not sent any more",
		meaning: "the device has refused Sets of the attribute in the detail, not answered them, or answered with other values, in two sweeps in a row: at the port of the field `port`, " +
			"or without such a field at all its ports. The subnet works without; a port keeps, for example, the lanes that it has",
		remedy: "newer firmware may take it; it is sent again when the device restarts, settings change, or ibsmctl sweep asks for it",
	},
	Unrouted: {
		name: "table incomplete", level: warn, text: "the switch lacks part of its forwarding table",
		meaning: "links of the switch stay in INIT, so that no packet is lost by routes over it",
		remedy:  "ibsmctl events shows the table block that the switch does not accept; reset the switch",
	},
	Excluded: {
		name: "P_Keys not written", level: warn, text: "the port does not have its P_Keys",
		meaning: "a partition table is not as isolation needs it: the port stays in INIT or ARMED",
		remedy:  "ibsmctl events shows the failed Gets or Sets of P_Keys; newer firmware may accept them. With part_enforce both, the switch port in front of a host may confine it instead",
	},
	WentDown: {
		name: "went down", level: warn, text: "the link went down while its port was programmed",
		meaning: "the sweep is repeated",
		remedy:  "check the cable: the link does not stay up",
	},
	NoLID: {
		name: "no LID", level: erro, text: "no LID is left for a port",
		meaning: "all 49,151 unicast LIDs are assigned",
		remedy:  "use a smaller lmc, or split the subnet",
	},
	PKeyOverflow: {
		name: "P_Key table full", level: erro, text: "the P_Key table of a port is too small",
		meaning: "the port is a member of more partitions than its table has entries",
		remedy:  "put the port into fewer partitions; ibsmctl partitions shows its keys",
	},
	SharedName: {
		name: "shared name", level: warn, text: "two nodes have a name of the partition file: neither is a member by it",
		meaning: "`partitions.conf` names a host by its NodeDescription, and two nodes have that description",
		remedy:  "correct the NodeDescription of one of them, or write port GUIDs ([partitions](partitions.md#members-by-name-range-and-group))",
	},
	Unforced: {
		name: "link not forced", level: warn, single: true,
		text:    "links that would not come up again with force_link_width, force_link_speed and force_link_speed_ext keep their width and speed",
		meaning: "the ends of a link, or one end and the setting, have no width or no speed in common. The detail has the number of links, and one of them",
		remedy:  "nothing, or correct the settings",
	},
	Unhealthy: {
		name: "unhealthy links in use", level: warn, single: true, text: "unhealthy links are still used: without them the subnet would be split",
		meaning: "there is no other route",
		remedy:  "replace those cables",
	},
	Unenforced: {
		name: "no enforcement", level: warn, single: true, text: "switch ports in front of hosts enforce no partitions: only the hosts' own P_Key tables protect",
		meaning: "P_Keys of these ports could not be read or written, or they do not keep the enforcement. The detail has the number of ports, and one of them",
		remedy:  "update the firmware of the switch; without it, part_enforce off says that only hosts check P_Keys",
	},
	UnenforcedPort: {
		name: "no enforcement", level: NotLogged, text: "does not enforce partitions: only the P_Key table of the port behind it protects",
		meaning: "such a port",
		remedy:  "newer firmware of the switch; without it, part_enforce off says that only hosts check P_Keys",
	},
	NoRoutes: {
		name: "no routes", level: erro, text: "no routes are written",
		meaning: "the detail has the reason; links stay as they are",
		remedy:  "fix the problem described: until then links stay unchanged",
	},
	ARHeld: {
		name: "no routes", level: erro, single: true, text: "adaptive routing is on: routes are not written; --ar_mode=keep or --ar_mode=disable writes them",
		meaning: "`ar_mode` is `hold`: no port leaves INIT and no route is repaired",
		remedy:  "set ar_mode to keep or disable",
	},
	EngineRefused: {
		name: "engine refused", level: erro, text: "a routing engine cannot route this subnet",
		meaning: "the detail names the switch or rule; the next engine of `routing_engine` is tried, and finally min-hop, unless the list has `no_fallback`. With `its routes are repaired` no other engine " +
			"is tried: the previous routes stay where they work. OpenSM's own words come first: `lash: cannot build fwd tables`, `ERR 4D02: Lane requirements`, " +
			"`disabling UPDN algorithm, no root nodes were found`, `topology is not fat-tree`, `ERR AB09` to `AB0C: Different number of`, `ERR 4E30: Every configured torus seed has at least one switch missing in fabric`",
		remedy: "depends on the reason: name the roots in root_guid_file, give links more VLs (max_op_vls), or choose another engine",
	},
	NoEngine: {
		name: "no routes", level: erro, single: true, text: "osm_ucast_mgr_process: No routing engine able to successfully configure  switch tables on current fabric",
		meaning: "OpenSM's words: every engine of the list has refused, and `no_fallback` forbids min-hop; forwarding tables stay as they are",
		remedy:  "as for the engines that refused",
	},
	InterimRoutes: {
		name: "interim routes", level: info, single: true, text: "interim routes serve until the routing engine has computed its own",
		meaning: "the detail has the engine whose routes serve, and the one that computes",
		remedy:  "nothing: the routes of the wanted engine take their place when they are ready and proved",
	},
	ForeignRoutes: {
		name: "routes of another manager", level: warn, single: true,
		text:    "the routes of another manager are kept: they are not those of the chosen routing engine, which ibsmctl reroute uses",
		meaning: "the subnet was taken over with routes that the engine in the detail would not compute, so paths do not get its SLs. This is also logged where that engine routed the subnet, and links have changed since in ways that it would route differently",
		remedy:  "ibsmctl plan --reroute shows what the engine would write, ibsmctl reroute writes it",
	},
	UnknownSwitches: {
		name: "unknown GUIDs", level: warn, single: true, text: "a file of the routing engine names GUIDs that are no switches",
		meaning: "these GUIDs are ignored, as in OpenSM: the switch is off, or it is the GUID of a port or of an adapter. The detail has their number, the first GUID, and what that is",
		remedy:  "correct the file",
	},
	UnknownPorts: {
		name: "unknown GUIDs", level: warn, single: true, text: "a file of the routing engine names GUIDs that are no end ports",
		meaning: "these GUIDs are ignored, as in OpenSM: the host is off, or it is the GUID of a node. The detail has their number, the first GUID, and what that is",
		remedy:  "correct the file",
	},
	UnmatchedRules: {
		name: "port group without match", level: warn, single: true, text: "a port group in a file of the routing engine has rules that no port matches",
		meaning: "a GUID, name or pattern of the group matches nothing in the subnet: hosts are off, or it is misspelt. The detail has the number of such rules, and text, group and position of the first",
		remedy:  "ibsmctl port-groups lists all",
	},
	GroupOfNoSwitch: {
		name: "port group without switch", level: warn, single: true, text: "a port group in root_guid_file has no switch among its members",
		meaning: "roots are switches; the members of the group in the detail are adapters or routers",
		remedy:  "name a group of switches",
	},
	LostRoutes: {
		name: "routes lost", level: erro, single: true, text: "routes do not reach their LIDs although there is a path of cables",
		meaning: "the verification failed for some routes; they are not written. Hosts or the manager need them, or the rules of the engine permit them",
		remedy: "ibsmctl reroute; if the example starts at the manager's own switch, or leads to the manager, and the engine is updn, dnup or ftree: connect_roots, " +
			"or connect the manager's host to a leaf. If it persists, report it with the output of ibsmctl dump subnet",
	},
	Split: {
		name: "subnet split", level: warn, single: true, text: "the subnet is split: there is no path of cables between some switches and LIDs",
		meaning: "some switches have no connection to some LIDs",
		remedy:  "check cables and switches that are off: the detail has an example",
	},
	Forbidden: {
		name: "routes forbidden", level: info, single: true, text: "pairs of switches have no route by the rules of the engine",
		meaning: "`updn`, `dnup` and `ftree` permit only routes that go up and then down (`dnup`: away from hosts and back). Some pairs of switches, such as root switches, have none, with OpenSM too. Hosts reach each other, " +
			"and the manager reaches all and is reached; what is missing are routes from a switch to a LID which no host on it uses. `connect_roots` in the line is how many pairs the setting `connect_roots` gives a route",
		remedy: "nothing, or connect_roots TRUE (-z) where switches must exchange packets",
	},
	CreditLoop: {
		name: "credit loop", level: warn, single: true, text: "the routes have a credit loop",
		meaning: "packets that leave by these ports can fill the buffers of each other's next port, and then all wait for each other, until switches drop them; min-hop does not avoid this on rings and tori. " +
			"The proof counts routes between hosts and multicast trees, on the lanes that ports will have",
		remedy: "ibsmctl why shows each port of the loop, and hosts whose packets use it; cables without such a loop, or a routing engine that avoids it",
	},
	KeptCreditLoop: {
		name: "credit loop", level: erro, single: true, text: "the routes of another manager are kept, and have a credit loop",
		meaning: "the routes found stay. The previous manager may have avoided credit loops by an assignment of lanes that cannot be found again, or a repair found no other way; the detail says which",
		remedy:  "before a takeover, ibsm --dry-run prints this; choose the routing engine of the previous manager, or more lanes (max_op_vls, qos_sl2vl); or ibsmctl reroute on a fat tree",
	},
	CreditLoopPort: {
		name: "credit loop", level: NotLogged, text: "in a credit loop",
		meaning: "packets that leave by the port can wait for each other for ever",
		remedy:  "cables without such a loop, or a routing engine that avoids it; while the loop is full, its packets wait until switches drop them (head_of_queue_lifetime)",
	},
	SLsOfKept: {
		name: "SLs of kept routes", level: warn, single: true,
		text: "the routes of another manager are kept: their paths get service levels with which they have no credit loop on the lanes that ports have",
		meaning: "the routes found have a credit loop on one lane. No table is written. Connections made before the takeover keep the SLs of the previous manager, " +
			"and together with the new ones they can have a credit loop until hosts ask for their paths again",
		remedy: "nothing, or restart long connections; sl_back_may_differ means that replies with the SL of the request can be part of a loop, as with dfsssp",
	},
	LanesStop: {
		name: "lane missing", level: erro, single: true, text: "ports stop packets between hosts, because of their lanes",
		meaning: "the SL of some paths is on VL 15, on a lane that a link does not have, or on a lane without a turn. Tables that ibsm is about to write count as written",
		remedy:  "ibsmctl why shows each port; correct qos_sl2vl, qos_vlarb_high, qos_vlarb_low or max_op_vls",
	},
	StoppedLane: {
		name: "lane missing", level: NotLogged, text: "the port stops packets between hosts, because of its lanes",
		meaning: "such a port",
		remedy:  "qos with a qos_sl2vl, qos_vlarb_high or qos_vlarb_low that serves this SL, or more lanes (max_op_vls) where the port has them; ibsmctl path shows the lane at each hop",
	},
	LanesStopSA: {
		name: "lane missing", level: warn, single: true, text: "ports drop packets to the SA on the SL of sm_sl",
		meaning: "the SL of `sm_sl` is on VL 15, on a lane that a link does not have, or on a lane without a turn. Such end ports (`end_ports`) get no answer from the SA, or do not reach it",
		remedy:  "turn qos on, with a qos_sl2vl that serves this SL, or set sm_sl to 0; ibsmctl why shows each port",
	},
	StoppedSA: {
		name: "lane missing", level: NotLogged, text: "the port drops packets to the SA on the SL of sm_sl",
		meaning: "such a port",
		remedy:  "turn qos on, with a qos_sl2vl that serves this SL, or set sm_sl to 0; ibsmctl path shows the lane at each hop",
	},
	PrivateTables: {
		name: "private tables", level: warn, text: "private forwarding tables are in use: the forwarding table and the lanes of the switch are not written",
		meaning: "the switch forwards by private tables of another manager, so that new LIDs may have no route through it",
		remedy:  "turn private tables off with the manager that turned them on, or reboot the switch; the content of its forwarding table meanwhile is not proved on hardware",
	},
	PrivateLanes: {
		name: "private tables", level: warn, text: "lanes of the switch stay other than wanted: private forwarding tables are in use",
		meaning: "`qos` wants other SLtoVLMappingTables or VLArbitrationTables of ports than a switch with private tables has, which are left alone",
		remedy:  "as for private tables; ibsmctl why names the ports",
	},
	PrivateLanesPort: {
		name: "refused", level: NotLogged, text: "SLtoVLMappingTable and VLArbitrationTable are not written, and are not as wanted: the switch forwards by private tables of another manager",
		meaning: "a port of such a switch",
		remedy:  "turn private tables off with the manager that turned them on, or reboot the switch",
	},
	NotAdaptive: {
		name: "no longer adaptive", level: warn, text: "adaptive routing is off at a switch where it was on",
		meaning: "the switch forwards by its linear forwarding table, for the reason given; see Adaptive routing in `docs/tuning.md`",
		remedy:  "nothing: only a manager that writes adaptive routing groups can turn it on again; that a Set of LinearForwardingTable turns it off is from NVIDIA's header and not proved on hardware",
	},
	DrainEmpty: {
		name: "drained", level: info, single: true, text: "drained: no route between other switches passes it",
		meaning: "what `drain_file` names, or a link that is out of use because it is sick, can be unplugged; the field `hosts` is how many hosts are on it",
		remedy:  "nothing",
	},
	DrainNeeded: {
		name: "drained, still needed", level: warn, single: true, text: "drained, but still needed: routes pass it",
		meaning: "`drain_file` names the switch, or its port, or the link is out of use as a sick link, but routes still pass it: it is the only way to some switch or host, the routing engine cannot do without it, or routes would have a credit loop",
		remedy:  "add another way or choose another engine; or unplug it, which cuts off the hosts and switches behind it ([maintenance](maintenance.md))",
	},
	CablingDiffers: {
		name: "not as planned", level: warn, text: "cabling differs from the plan",
		meaning: "cables are not as in `topo_config_file` ([topology](topology.md))",
		remedy:  "correct the cable, or the plan; ibsmctl topology check shows all differences",
	},
	CableHeldBack: {
		name: "held back", level: warn, text: "held back: no route uses the cable",
		meaning: "the cable is not in `topo_config_file`, and `topo_config_enabled` is set; or its switch is in `held_back_sw_file`",
		remedy:  "to use it, add it to the plan, or take the switch out of the file",
	},
	HeldBack: {
		name: "held back", level: NotLogged, text: "the cable of the port is held back",
		meaning: "a port of such a cable",
		remedy:  "correct the cable; or release it: add it to topo_config_file, or take its switch out of held_back_sw_file",
	},
	PlanOfOther: {
		name: "plan of another subnet", level: erro, single: true, text: "topo_config_file is the plan of another subnet: cables are not compared with it",
		meaning: "most devices of the plan are unknown, or most devices of the subnet are not in it",
		remedy:  "name the right file",
	},
	PlanIgnored: {
		name: "plan not enforced", level: erro, single: true,
		text:    "topo_config_file matches too little to be enforced: links in use stay in use, but no other link that is not in it is brought up",
		meaning: "less than half of the devices or cables, of the plan or of the subnet, whichever has less, are in both, and `topo_config_enabled` is set ([topology](topology.md#links-that-are-never-taken-down))",
		remedy:  "ibsmctl topology check; correct the plan, or set topo_config_enabled FALSE, and send SIGHUP",
	},
	CutOff: {
		name: "plan not enforced", level: erro, single: true,
		text:    "only excluded cables lead to most of the subnet: links in use stay in use, but no other excluded cable is brought up",
		meaning: "holding these cables back would cut the manager off from the devices in field `devices`: its leaf is replaced, or is in `held_back_sw_file` ([topology](topology.md#links-that-are-never-taken-down))",
		remedy:  "ibsmctl topology check; correct topo_config_file or held_back_sw_file, or set topo_config_enabled FALSE, and send SIGHUP",
	},
	MFTsIncomplete: {
		name: "multicast tables incomplete", level: erro, single: true, text: "multicast forwarding tables are incomplete",
		meaning: "a switch did not accept blocks of its multicast table; they are sent again",
		remedy:  "ibsmctl events; update the firmware if it persists",
	},
	MFTsAvoided: {
		name: "multicast avoids switches", level: warn, single: true, text: "multicast trees avoid switches that do not take their tables",
		meaning: "the detail has their number: each refused its table in two rounds in a row, or did not answer in three although all nodes answered well in the walks between",
		remedy:  "ibsmctl events; update the firmware if it persists",
	},
	Unreached: {
		name: "members unreached", level: warn, single: true, text: "no multicast tree reaches some members",
		meaning: "the detail has their number: no cables that a tree may use lead to these ports, or their switches do not take multicast tables",
		remedy:  "ibsmctl why for a port; and the two findings above",
	},
}
