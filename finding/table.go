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
	BranchCut                         // so many behind one cable that they are not asked in one sweep
	WasAdapter                        // a port that led to an adapter leads to a switch
	GetRefused                        // a Get that was answered with an error
	PKeysRefused                      // the same, of a partition table
	PKeysUnread                       // a partition table of which a part was not read
	Incomplete                        // a node that stopped answering during the walk
	SlowAgent                         // a node whose answers the walk did not wait for
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
	CallerHeld     // the partition file has the P_Key or the name of a caller's partition
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
	MFTAvoided     // trees avoid such a switch
	Unreached      // no tree reaches members

	// Kinds of vPorts.

	VPortsLeft     // the vPorts of a port are left as they were found
	VPortLeft      // a vPort is not as wanted
	VPortsStorm    // the vPorts of a port change their states again and again
	DuplicateVPort // two vPorts, or a vPort and a port, have one GUID

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
		meaning: "the node behind the port is booting or has hung, or its M_Key is unknown to this manager",
		remedy: "check whether the node behind the port has hung, and reset it. An unknown M_Key with protection level 2 or 3 has the same effect: " +
			"wait until its lease expires, start this manager with the files guid2mkey and neighbors of the manager that set the key, or restart the node",
	},
	BadNodeInfo: {
		name: "left out", level: warn, text: "impossible NodeInfo behind the port",
		meaning: "the node behind the port reports invalid values, so it is left out of the subnet",
		remedy:  "update its firmware, and reset the node",
	},
	DuplicateNodeGUID: {
		name: "duplicate GUID", level: warn, text: "Found duplicated node GUID",
		meaning: "two nodes have the same GUID, and the second one, behind this port, is left out",
		remedy:  "change the GUID of one of them with the vendor's firmware tools, or disconnect it",
	},
	DuplicatePortGUID: {
		name: "duplicate GUID", level: warn, text: "Found duplicated port GUID",
		meaning: "two ports have the same GUID; the second one, behind this port, is left out",
		remedy:  "change the GUID of one of them with the vendor's firmware tools, or disconnect it",
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
		name: "loopback", level: info,
		text:    "two ports of the manager's adapter are connected to each other, and nothing else is in the subnet",
		meaning: "a cable connects the two ports of the manager's adapter, for example on a test bench; packets between the ports use this cable",
		remedy:  "none, if this is intended",
	},
	TooFar: {
		name: "left out", level: warn, text: "the nodes behind the port are more than 63 hops away",
		meaning: "a directed route has at most 63 hops, so the nodes behind this port are left out",
		remedy:  "recable the subnet so that it has fewer hops",
	},
	TooMany: {
		name: "left out", level: warn, text: "the subnet has too many nodes or ports",
		meaning: "the subnet has reached the maximum number of nodes or ports, so the nodes behind this port are left out",
		remedy:  "split the subnet. If it is not that large, a faulty device reports ever new GUIDs: find it by its directed route",
	},
	BranchCut: {
		name: "left out", level: warn, text: "more nodes behind the port than a sweep takes in over one cable",
		meaning: "the nodes behind this port are connected to the rest of the subnet by one cable only, and have more ports than all the rest. The further ones are left out, and a part of them is added with each sweep",
		remedy:  "if a large part of the subnet is really behind this port, wait or connect it with a second cable. If not, a device reports ever new GUIDs: disconnect the port",
	},
	WasAdapter: {
		name: "was an adapter", level: erro, text: "a switch answers behind a port that led to an adapter",
		meaning: "the host behind this port has been replaced by a switch, or its adapter pretends to be one. The manager asks it, but shows it no M_Key of another node, and takes in no more nodes behind it than the rest of the subnet has",
		remedy:  "if nobody has connected a switch to this port, disconnect it and examine the host. Otherwise disconnect the switch for one sweep, or restart the manager: then the report ends",
	},
	GetRefused: {
		name: "refused", level: warn, text: "the port rejects a Get",
		meaning: "the node answered a Get with an error status. The manager uses the previous state and retries",
		remedy:  "newer firmware may accept it; the manager retries in each sweep",
	},
	PKeysRefused: {
		name: "refused", level: warn, text: "the port rejects a Get of its P_Key table",
		meaning: "the port keeps its P_Keys and may not become ACTIVE ([partitions](partitions.md#when-a-p_key-table-cannot-be-read-or-written))",
		remedy:  "update the firmware of the node",
	},
	PKeysUnread: {
		name: "no answer", level: warn, text: "part of the port's P_Key table could not be read",
		meaning: "the port keeps its P_Keys and may not become ACTIVE ([partitions](partitions.md#when-a-p_key-table-cannot-be-read-or-written))",
		remedy:  "if it persists, update the firmware of the node",
	},
	Incomplete: {
		name: "left out", level: warn, text: "left out: the node stopped answering during discovery",
		meaning: "the node behind the port answered the first request of the sweep, but too few of the following ones",
		remedy:  "none: the next sweep retries",
	},
	SlowAgent: {
		name: "answers late", level: warn, single: true,
		text:    "the node answers too late: the sweep went on without it",
		meaning: "the sweep had nothing left to wait for but nodes that take long for each answer, and stopped asking them. What they left open is taken from the last sweep if the link in front of the node has been up since. Otherwise it is left out: a host stays without its settings, and ports of a switch that are not known carry no traffic",
		remedy:  "if the device is overloaded, or its firmware has a fault, reset or update it. A host that answers late on purpose harms itself only: disconnect it",
	},
	OneSided: {
		name: "one-sided link", level: warn,
		text:    "Found duplicated node GUID: the port reports a link, but the port at the other end reports none",
		meaning: "two nodes have the same GUID, or the cable works in one direction only. The link is left out",
		remedy:  "reseat the cable, or reset one end with ibportstate LID PORT reset",
	},
	NoAnswer: {
		name: "no answer", level: warn, text: "a Set was not answered",
		meaning: "the node answers Gets, but not this Set",
		remedy:  "check whether the node has hung, and reset it. An M_Key that differs from the manager's (m_key) has the same effect",
	},
	Refused: {
		name: "refused", level: warn, text: "a Set was rejected or had no effect",
		meaning: "the field `detail` gives the attribute and the status",
		remedy:  "newer firmware may accept it; the manager retries in each sweep",
	},
	NotKept: {
		name: "not kept", level: debug, once: true, text: "the port ignores fields of a Set",
		meaning: "the field `detail` names them; they are not set again",
		remedy:  "newer firmware may keep the value; the manager does not retry",
	},
	GivenUp: {
		name: "given up", level: warn, text: "a device does not accept an attribute, which is no longer sent",
		meaning: "in two sweeps in a row the device rejected the Sets of the attribute in `detail`, did not answer them, or answered with different values. This concerns the port in `port`, " +
			"or all ports if there is no such field. The subnet works without the attribute; a port keeps, for example, its present lanes",
		remedy: "newer firmware may accept it. The manager sends it again after the device restarts, the settings change, or ibsmctl sweep is run",
	},
	Unrouted: {
		name: "table incomplete", level: warn, text: "the forwarding table of the switch is incomplete",
		meaning: "links of the switch stay in INIT, so that no route uses the switch and loses packets",
		remedy:  "ibsmctl events shows the table block that the switch does not accept; reset the switch",
	},
	Excluded: {
		name: "P_Keys not written", level: warn, text: "the P_Key table of the port could not be written",
		meaning: "without these P_Keys the port would not be isolated as configured, so it stays in INIT or ARMED",
		remedy:  "ibsmctl events shows the failed Gets or Sets of P_Keys; newer firmware may accept them. With part_enforce both, the switch port next to a host can enforce its partitions instead",
	},
	WentDown: {
		name: "went down", level: warn, text: "the link went down while its port was programmed",
		meaning: "the sweep is repeated",
		remedy:  "check the cable: the link is unstable",
	},
	NoLID: {
		name: "no LID", level: erro, text: "no free LID is left for a port",
		meaning: "all 49,151 unicast LIDs are assigned",
		remedy:  "set a smaller lmc, or split the subnet",
	},
	PKeyOverflow: {
		name: "P_Key table full", level: erro, text: "the P_Key table of a port is too small",
		meaning: "the port belongs to more partitions than its table has entries",
		remedy:  "make the port a member of fewer partitions; ibsmctl partitions shows its keys",
	},
	SharedName: {
		name: "shared name", level: warn,
		text:    "two nodes share a name used in the partition file, so neither becomes a member",
		meaning: "`partitions.conf` names a host by its NodeDescription, but two nodes have this description",
		remedy:  "change the NodeDescription of one of them, or use port GUIDs ([partitions](partitions.md#members-by-name-range-and-group))",
	},
	CallerHeld: {
		name: "partition held", level: warn,
		text:    "a caller's partition is held, because the partition file has its P_Key or name",
		meaning: "a program has put a partition, and later `partitions.conf` got its P_Key or name: the file takes precedence, and the partition stays stored ([partitions](partitions.md#partitions-from-programs))",
		remedy:  "take the lines out of the file, or delete the caller's partition: ibsmctl partitions rm",
	},
	Unforced: {
		name: "link not forced", level: warn, single: true,
		text:    "links keep their width and speed, because the forced ones (force_link_width, force_link_speed, force_link_speed_ext) would keep them down",
		meaning: "the two ends of a link, or one end and the setting, have no width or no speed in common. The field `detail` gives the number of links and an example",
		remedy:  "none, or correct the settings",
	},
	Unhealthy: {
		name: "unhealthy links in use", level: warn, single: true,
		text:    "unhealthy links stay in use, because the subnet would be split without them",
		meaning: "no other path exists",
		remedy:  "replace those cables",
	},
	Unenforced: {
		name: "no enforcement", level: warn, single: true,
		text:    "switch ports next to hosts do not enforce partitions: only the hosts' own P_Key tables do",
		meaning: "the P_Keys of these ports could not be read or written, or the ports do not keep enforcement enabled. The field `detail` gives the number of ports and an example",
		remedy:  "update the firmware of the switch, or set part_enforce off to accept that only hosts check P_Keys",
	},
	UnenforcedPort: {
		name: "no enforcement", level: NotLogged,
		text:    "does not enforce partitions: only the P_Key table of the port behind it does",
		meaning: "a port of the finding above",
		remedy:  "update the firmware of the switch, or set part_enforce off to accept that only hosts check P_Keys",
	},
	NoRoutes: {
		name: "no routes", level: erro, text: "no routes are written",
		meaning: "the field `detail` gives the reason; links are not changed",
		remedy:  "correct the cause: until then links are not changed",
	},
	ARHeld: {
		name: "no routes", level: erro, single: true,
		text:    "routes are not written, because adaptive routing is on and ar_mode is hold",
		meaning: "with `ar_mode hold` no port leaves INIT and no route is repaired",
		remedy:  "set ar_mode to keep or disable",
	},
	EngineRefused: {
		name: "engine refused", level: erro, text: "a routing engine cannot route this subnet",
		meaning: "the field `detail` names the switch or rule. The next engine of `routing_engine` is tried, and min-hop last unless the list contains `no_fallback`. With `its routes are repaired` no other engine " +
			"is tried, and previous routes that work are kept. OpenSM's own message precedes this one: `lash: cannot build fwd tables`, `ERR 4D02: Lane requirements`, " +
			"`disabling UPDN algorithm, no root nodes were found`, `topology is not fat-tree`, `ERR AB09` to `AB0C: Different number of`, `ERR 4E30: Every configured torus seed has at least one switch missing in fabric`",
		remedy: "depending on the reason, list the roots in root_guid_file, allow more VLs (max_op_vls), or choose another engine",
	},
	NoEngine: {
		name: "no routes", level: erro, single: true,
		text:    "osm_ucast_mgr_process: No routing engine able to successfully configure  switch tables on current fabric",
		meaning: "OpenSM's message: every engine of the list failed, and `no_fallback` forbids min-hop. Forwarding tables are not changed",
		remedy:  "see the engines that failed",
	},
	InterimRoutes: {
		name: "interim routes", level: info, single: true,
		text:    "interim routes are in use until the routing engine has finished",
		meaning: "the field `detail` names the engine of the interim routes and the engine that is still computing",
		remedy:  "none: the routes of the configured engine replace them when they are computed and verified",
	},
	ForeignRoutes: {
		name: "routes of another manager", level: warn, single: true,
		text:    "the routes of another manager are kept; they differ from those of the configured routing engine",
		meaning: "at takeover the subnet had routes that the engine in `detail` would not compute, so paths do not get the engine's SLs. This is also logged if that engine computed the routes, but links have changed since and it would now compute different ones",
		remedy:  "ibsmctl plan --reroute shows the changes the engine would make, and ibsmctl reroute makes them",
	},
	UnknownSwitches: {
		name: "unknown GUIDs", level: warn, single: true,
		text:    "a file of the routing engine lists GUIDs that do not belong to switches",
		meaning: "these GUIDs are ignored, as in OpenSM. The switch is off, or the GUID belongs to a port or an adapter. The field `detail` gives their number, and the first GUID and its owner",
		remedy:  "correct the file",
	},
	UnknownPorts: {
		name: "unknown GUIDs", level: warn, single: true,
		text:    "a file of the routing engine lists GUIDs that do not belong to end ports",
		meaning: "these GUIDs are ignored, as in OpenSM. The host is off, or the GUID belongs to a node. The field `detail` gives their number, and the first GUID and its owner",
		remedy:  "correct the file",
	},
	UnmatchedRules: {
		name: "port group without match", level: warn, single: true,
		text:    "a port group in a file of the routing engine has rules that match no port",
		meaning: "a GUID, name or pattern of the group matches no port of the subnet, because hosts are off or it is misspelt. The field `detail` gives the number of such rules, and the text, group and position of the first",
		remedy:  "run ibsmctl port-groups to list all such rules",
	},
	GroupOfNoSwitch: {
		name: "port group without switch", level: warn, single: true,
		text:    "a port group in root_guid_file contains no switch",
		meaning: "root nodes must be switches, but the members of the group in `detail` are adapters or routers",
		remedy:  "use a group of switches",
	},
	LostRoutes: {
		name: "routes lost", level: erro, single: true,
		text:    "some destinations are unreachable, although cables lead to them",
		meaning: "some routes failed verification and are not written, although hosts or the manager need them or the routing engine permits them",
		remedy: "run ibsmctl reroute. If the example starts at the manager's own switch or leads to the manager, and the engine is updn, dnup or ftree, set connect_roots " +
			"or connect the manager's host to a leaf. If the problem persists, report it with the output of ibsmctl dump subnet",
	},
	Split: {
		name: "subnet split", level: warn, single: true,
		text:    "the subnet is split: no cables connect some switches and LIDs",
		meaning: "no path of cables leads from some switches to some LIDs",
		remedy:  "check for missing cables and for switches that are off: the field `detail` gives an example",
	},
	Forbidden: {
		name: "routes forbidden", level: info, single: true,
		text: "some pairs of switches have no route, because the routing engine does not permit one",
		meaning: "`updn` and `ftree` permit only routes that go up and then down, `dnup` only routes that lead away from hosts and then back. Some pairs of switches, such as root switches, have no such route; this is the same with OpenSM. All hosts reach each other, " +
			"and all ports and the manager reach each other. The missing routes lead from a switch to a LID, and no host of the switch uses them. The field `connect_roots` gives the number of pairs that would get a route with the setting `connect_roots`",
		remedy: "none; or set connect_roots TRUE (-z) if switches must exchange packets",
	},
	CreditLoop: {
		name: "credit loop", level: warn, single: true, text: "the routes have a credit loop",
		meaning: "packets sent by these ports can fill the buffers ahead of each other and then wait for each other until switches drop them. Min-hop routing allows this on rings and tori. " +
			"The check covers routes between hosts and multicast trees, on the VLs that will be configured",
		remedy: "choose a deadlock-free routing engine, or change the cabling. ibsmctl why shows each port of the loop and hosts whose packets use it",
	},
	KeptCreditLoop: {
		name: "credit loop", level: erro, single: true,
		text:    "the routes of another manager are kept, although they have a credit loop",
		meaning: "the previous manager may have avoided credit loops by an assignment of SLs to paths that cannot be read back, or a repair found no other route; the field `detail` says which",
		remedy:  "configure the routing engine of the previous manager, or more VLs (max_op_vls, qos_sl2vl); on a fat tree, run ibsmctl reroute. Before a takeover, ibsm --dry-run prints this finding",
	},
	CreditLoopPort: {
		name: "credit loop", level: NotLogged, text: "in a credit loop",
		meaning: "packets sent by the port can wait for each other until switches drop them",
		remedy:  "choose a deadlock-free routing engine, or change the cabling; in a deadlock, packets wait until switches drop them (head_of_queue_lifetime)",
	},
	SLsOfKept: {
		name: "SLs of kept routes", level: warn, single: true,
		text: "the routes of another manager are kept, and paths get service levels that avoid credit loops on the present VLs",
		meaning: "on a single VL these routes have a credit loop. No table is written. Connections established before the takeover keep the SLs of the previous manager, " +
			"so old and new connections together can have a credit loop until hosts request their paths again",
		remedy: "none; or restart long-lived connections. The field sl_back_may_differ means that replies with the SL of the request can be part of a loop, as with dfsssp",
	},
	LanesStop: {
		name: "lane missing", level: erro, single: true,
		text:    "ports drop packets between hosts, because no VL serves their SL",
		meaning: "the SL of some paths maps to VL 15, to a VL that a link does not have, or to a VL without weight in the arbitration tables. This is checked with the tables as they will be after the sweep",
		remedy:  "correct qos_sl2vl, qos_vlarb_high, qos_vlarb_low or max_op_vls; ibsmctl why shows each port",
	},
	StoppedLane: {
		name: "lane missing", level: NotLogged,
		text:    "the port drops packets between hosts, because no VL serves their SL",
		meaning: "a port of the finding above",
		remedy:  "set qos with a qos_sl2vl, qos_vlarb_high or qos_vlarb_low that serves this SL, or allow more VLs (max_op_vls) if the port supports them; ibsmctl path shows the VL at each hop",
	},
	LanesStopSA: {
		name: "lane missing", level: warn, single: true,
		text:    "ports drop packets to the SA, because no VL serves the SL of sm_sl",
		meaning: "the SL of `sm_sl` maps to VL 15, to a VL that a link does not have, or to a VL without weight in the arbitration tables. The end ports counted in `end_ports` cannot communicate with the SA",
		remedy:  "enable qos with a qos_sl2vl that serves this SL, or set sm_sl to 0; ibsmctl why shows each port",
	},
	StoppedSA: {
		name: "lane missing", level: NotLogged,
		text:    "the port drops packets to the SA, because no VL serves the SL of sm_sl",
		meaning: "a port of the finding above",
		remedy:  "enable qos with a qos_sl2vl that serves this SL, or set sm_sl to 0; ibsmctl path shows the VL at each hop",
	},
	PrivateTables: {
		name: "private tables", level: warn,
		text:    "the forwarding table and VLs of the switch are not written, because it uses private forwarding tables",
		meaning: "the switch forwards by private tables that another manager enabled, so new LIDs may have no route through it",
		remedy:  "disable private tables with the manager that enabled them, or reboot the switch. The contents of its forwarding table in this mode are not verified on hardware",
	},
	PrivateLanes: {
		name: "private tables", level: warn,
		text:    "the VL settings of the switch are not as configured, because it uses private forwarding tables",
		meaning: "the SLtoVLMappingTables or VLArbitrationTables differ from the settings of `qos`, but ibsm does not write to a switch with private tables",
		remedy:  "see the finding above; ibsmctl why names the ports",
	},
	PrivateLanesPort: {
		name: "refused", level: NotLogged,
		text:    "SLtoVLMappingTable and VLArbitrationTable are not as configured and not written: the switch forwards by private tables of another manager",
		meaning: "a port of such a switch",
		remedy:  "disable private tables with the manager that enabled them, or reboot the switch",
	},
	NotAdaptive: {
		name: "no longer adaptive", level: warn, text: "adaptive routing is now off at a switch",
		meaning: "the switch now forwards by its linear forwarding table; the line gives the reason ([adaptive routing](adaptive-routing.md))",
		remedy:  "none: only a manager that writes adaptive routing groups can enable it again. According to NVIDIA's header a Set of LinearForwardingTable disables it; this is not verified on hardware",
	},
	DrainEmpty: {
		name: "drained", level: info, single: true, text: "drained: no route between other switches uses it",
		meaning: "a switch or port in `drain_file`, or a sick link that is out of use, can be unplugged. The field `hosts` gives the number of hosts connected to it",
		remedy:  "none",
	},
	DrainNeeded: {
		name: "drained, still needed", level: warn, single: true, text: "drained, but still needed: routes use it",
		meaning: "routes still use a switch or port in `drain_file`, or a sick link that should be out of use: it is the only path to some switch or host, the routing engine requires it, or other routes would have a credit loop",
		remedy:  "add another path or choose another engine. Unplugging it cuts off the hosts and switches behind it ([maintenance](maintenance.md))",
	},
	CablingDiffers: {
		name: "not as planned", level: warn, text: "cabling differs from the plan",
		meaning: "cables differ from `topo_config_file` ([topology](topology.md))",
		remedy:  "correct the cable or the plan; ibsmctl topology check lists all differences",
	},
	CableHeldBack: {
		name: "held back", level: warn, text: "held back: no route uses the cable",
		meaning: "`topo_config_enabled` is set and the cable is not in `topo_config_file`, or its switch is in `held_back_sw_file`",
		remedy:  "to use the cable, add it to the plan or remove its switch from held_back_sw_file",
	},
	HeldBack: {
		name: "held back", level: NotLogged, text: "the cable of the port is held back",
		meaning: "a port of such a cable",
		remedy:  "correct the cable; or use it: add it to topo_config_file, or remove its switch from held_back_sw_file",
	},
	PlanOfOther: {
		name: "plan of another subnet", level: erro, single: true,
		text:    "topo_config_file describes another subnet: cables are not compared with it",
		meaning: "most devices of the plan are not in the subnet, or most devices of the subnet are not in the plan",
		remedy:  "set topo_config_file to the plan of this subnet",
	},
	PlanIgnored: {
		name: "plan not enforced", level: erro, single: true,
		text:    "topo_config_file differs too much from the subnet to be enforced: links in use stay in use, but no further link outside the plan is activated",
		meaning: "`topo_config_enabled` is set, but the plan and the subnet share less than half of their devices or of their cables ([topology](topology.md#links-that-are-never-taken-down))",
		remedy:  "run ibsmctl topology check, correct the plan or set topo_config_enabled FALSE, and send SIGHUP",
	},
	CutOff: {
		name: "plan not enforced", level: erro, single: true,
		text:    "only excluded cables lead to most of the subnet: links in use stay in use, but no further excluded cable is activated",
		meaning: "without these cables the manager could not reach as many devices as the field `devices` gives. The manager's leaf switch was replaced, or is in `held_back_sw_file` ([topology](topology.md#links-that-are-never-taken-down))",
		remedy:  "run ibsmctl topology check, correct topo_config_file or held_back_sw_file or set topo_config_enabled FALSE, and send SIGHUP",
	},
	MFTsIncomplete: {
		name: "multicast tables incomplete", level: erro, single: true,
		text:    "multicast forwarding tables are incomplete",
		meaning: "a switch did not accept or keep blocks of its multicast forwarding table. The manager sends them again",
		remedy:  "run ibsmctl events to see which blocks failed; if it persists, update the firmware",
	},
	MFTAvoided: {
		name: "avoided by multicast", level: warn, single: true,
		text: "multicast trees avoid the switch, which does not take its forwarding table",
		meaning: "in two consecutive attempts the switch rejected its table or did not keep it, or it did not answer in three although all nodes answered the sweeps in between. " +
			"The manager [tries again](devices.md#sets-that-fail-in-every-sweep) later",
		remedy: "run ibsmctl events to see which blocks failed; if it persists, update the firmware",
	},
	Unreached: {
		name: "members unreached", level: warn, single: true, text: "no multicast tree reaches some members",
		meaning: "the field `detail` gives their number. No usable cables lead to these ports, or their switches do not accept multicast tables",
		remedy:  "run ibsmctl why for the switches of these ports, and see the two findings above",
	},
	VPortsLeft: {
		name: "vPorts left as found", level: warn, single: true,
		text:    "the vPorts of a port are left as they were found",
		meaning: "`virt_enabled` is set, and the adapter's port says that it has vPorts, but does not answer about them, or answers what cannot be. The port itself is not concerned",
		remedy:  "send the output of ibsmctl vports probe for the port with a report; update the firmware of the adapter; if the output names a layout, set virt_modifier_layout to it ([virtual functions](virtual.md))",
	},
	VPortLeft: {
		name: "vPort not as wanted", level: warn,
		text:    "a vPort is not as wanted",
		meaning: "the vPort of a function did not take what it was sent six times, has no room for a P_Key, or no LID is left for it",
		remedy:  "reload the driver of the function, or order a heavy sweep with ibsmctl sweep: then it is tried again; if it persists, update the firmware of the adapter",
	},
	VPortsStorm: {
		name: "vPorts flap", level: warn, single: true,
		text:    "the vPorts of a port change their states again and again: they are looked at every ten seconds",
		meaning: "the adapter's port keeps sending trap 1146, mostly because a function's driver is loaded and unloaded, or fails and starts again. Other ports are not concerned",
		remedy:  "find the function with ibsmctl vports, and stop what restarts it",
	},
	DuplicateVPort: {
		name: "two vPorts with one GUID", level: warn,
		text:    "the GUID of a vPort is in use elsewhere",
		meaning: "two functions, or a function and a port, have had one GUID for more than a minute. A port keeps it; of two vPorts the one that came up last is found by it, and the other one stays as it is",
		remedy:  "give one of the functions another GUID, and reload its driver",
	},
}
