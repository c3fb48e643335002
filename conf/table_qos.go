package conf

// qosKeys are about quality of service and congestion, and the few that OpenSM
// writes last.
var qosKeys = joined(
	[]Key{
		{Name: "qos", TOML: "qos.enabled", Kind: Bool, Default: "FALSE", Reload: true, Long: "qos", Short: 'Q',
			Help: "set up VLs, and obey the policy"},
		{Name: "qos_policy_file", TOML: "qos.policy_file", Kind: String, Default: "/etc/opensm/qos-policy.conf", Long: "qos_policy_file", Short: 'Y', Arg: "FILE",
			Help: "the policy"},
		{Name: "suppress_sl2vl_mad_status_errors", TOML: "qos.quiet_sl2vl_errors", Kind: Bool, Default: "FALSE", Reload: true, Effect: Foreign,
			Help: "do not log SL2VL tables that a device refuses"},
	},
	qosFamily("qos_", "qos", "ports"),
	qosFamily("qos_ca_", "qos.adapters", "adapters"),
	qosFamily("qos_sw0_", "qos.switch_port0", "port 0 of switches"),
	qosFamily("qos_swe_", "qos.switch_external", "the other ports of switches"),
	qosFamily("qos_rtr_", "qos.routers", "routers"),
	congestionKeys,
	[]Key{
		{Name: "prefix_routes_file", TOML: "sa.prefix_routes_file", Kind: String, Default: "/etc/opensm/prefix-routes.conf", Reload: true, Effect: Acts, Long: "prefix_routes_file", Arg: "FILE",
			Help: "routers to other subnets"},
		{Name: "consolidate_ipv6_snm_req", TOML: "sa.consolidate_ipv6_groups", Kind: Bool, Default: "FALSE", Reload: true, Effect: Acts, Long: "consolidate_ipv6_snm_req",
			Help: "one MLID for all IPv6 solicited-node groups of a partition"},
		{Name: "log_prefix", TOML: "log.prefix", Kind: String, Default: null, Reload: true, Effect: Acts, Long: "log_prefix", Arg: "TEXT",
			Help: "text before each message"},
	},
	ownKeys,
)

// ownKeys are about this manager as a program and no keys of OpenSM.
var ownKeys = []Key{
	{Name: "ctl_socket", TOML: "daemon.ctl_socket", Kind: String, Default: null, Own: true, Effect: Acts, Unset: atSocket, Long: "ctl_socket", Arg: "PATH",
		Help: "where ibsmctl reaches the manager, or none"},
	{Name: "ctl_group", TOML: "daemon.ctl_group", Kind: String, Default: null, Own: true, Effect: Acts, Long: "ctl_group", Arg: "GROUP",
		Help: "whose members may use the socket too, not only the user that runs ibsm"},
	{Name: "metrics_addr", TOML: "daemon.metrics_addr", Kind: String, Default: null, Own: true, Effect: Acts, Long: "metrics_addr", Arg: "ADDR",
		Help: "serve metrics for Prometheus over TCP as well, at :9690 for instance"},
	{Name: "log_format", TOML: "log.format", Kind: Word, Words: []string{"opensm", "json"}, Default: "opensm", Own: true, Effect: Acts, Long: "log_format", Arg: "FORM",
		Help: "OpenSM's lines, or an object of JSON for each"},
	{Name: "syslog", TOML: "log.syslog", Kind: Bool, Default: "TRUE", Own: true, Effect: Acts,
		Help: "the states of the manager go to the system's log too, under OpenSM's name; not in simulations"},
	{Name: "state_dir", TOML: "files.state_dir", Kind: String, Default: null, Own: true, Effect: Acts, Unset: atState, Long: "state_dir", Arg: "DIR",
		Help: "directory for what the manager remembers over a restart, in a folder for each port; none remembers nothing"},
	{Name: "partition_fallback", TOML: "partitions.fallback", Kind: Word, Words: []string{"closed", "open"}, Default: "closed", Own: true, Serious: true, Effect: Acts, Long: "partition_fallback", Arg: "HOW",
		Help: "at a start with a broken partition file, and none known that was good: closed lets every port reach the manager alone, open lets all talk to all, as OpenSM does"},
}

func joined(parts ...[]Key) (all []Key) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// qosFamily is the five settings of a type of port. What is unset there is as for
// all ports.
func qosFamily(prefix, group, ports string) []Key {
	return []Key{
		{Name: prefix + "max_vls", TOML: group + ".max_vls", Kind: U32, Range: "0-15", Default: "0", Reload: true,
			Help: "VLs of " + ports + "; 0 for the general setting, or 15"},
		{Name: prefix + "high_limit", TOML: group + ".high_limit", Kind: I32, Range: "0-255", Default: "-1", Reload: true,
			Help: "VLHighLimit of " + ports + "; -1 for the general setting, or 0"},
		{Name: prefix + "vlarb_high", TOML: group + ".vlarb_high", Kind: List, Default: null, Reload: true,
			Help: "high VL arbitration of " + ports + ": up to 64 of vl:weight"},
		{Name: prefix + "vlarb_low", TOML: group + ".vlarb_low", Kind: List, Default: null, Reload: true,
			Help: "low VL arbitration of " + ports + ": up to 64 of vl:weight"},
		{Name: prefix + "sl2vl", TOML: group + ".sl2vl", Kind: List, Default: null, Reload: true,
			Help: "VL of each of the 16 SLs at " + ports},
	}
}

const noMask = "0x0000000000000000000000000000000000000000000000000000000000000000"

var congestionKeys = []Key{
	{Name: "congestion_control", TOML: "congestion.enabled", Kind: Bool, Default: "FALSE", Reload: true, Long: "congestion_control",
		Help: "set up congestion control"},
	{Name: "cc_key", TOML: "congestion.key", Kind: X64, Default: "0x0000000000000000", Serious: true, Long: "cc_key", Arg: "KEY",
		Help: "CC_Key that devices have"},
	{Name: "cc_max_outstanding_mads", TOML: "congestion.max_outstanding", Kind: U32, Default: "500",
		Help: "most packets on the wire"},
	{Name: "cc_sw_cong_setting_control_map", TOML: "congestion.switch.control_map", Kind: U32, Range: "0-0x1f", Default: "0x0", Reload: true,
		Help: "which count: victim mask 1, credit mask 2, threshold and size 4, starvation 8, marking rate 16"},
	{Name: "cc_sw_cong_setting_victim_mask", TOML: "congestion.switch.victim_mask", Kind: Mask, Default: noMask, Reload: true,
		Help: "ports that mark packets of victims too, port 0 the lowest bit"},
	{Name: "cc_sw_cong_setting_credit_mask", TOML: "congestion.switch.credit_mask", Kind: Mask, Default: noMask, Reload: true,
		Help: "ports with credit starvation"},
	{Name: "cc_sw_cong_setting_threshold", TOML: "congestion.switch.threshold", Kind: U8, Range: "0-15", Default: "0x00", Reload: true,
		Help: "how early packets are marked: 0 never, 15 soonest"},
	{Name: "cc_sw_cong_setting_packet_size", TOML: "congestion.switch.packet_size", Kind: U8, Default: "0", Reload: true,
		Help: "packets of fewer credits are not marked"},
	{Name: "cc_sw_cong_setting_credit_starvation_threshold", TOML: "congestion.switch.starvation_threshold", Kind: U8, Range: "0-15", Default: "0x00", Reload: true,
		Help: "how early starvation is seen: 0 never, 15 soonest"},
	{Name: "cc_sw_cong_setting_credit_starvation_return_delay", TOML: "congestion.switch.starvation_return_delay", Kind: Pair, Default: "0:0", Reload: true,
		Help: "delay of returned credits, as an entry of the table"},
	{Name: "cc_sw_cong_setting_marking_rate", TOML: "congestion.switch.marking_rate", Kind: U16, Default: "0", Reload: true,
		Help: "mean number of packets between two marks"},
	{Name: "cc_ca_cong_setting_port_control", TOML: "congestion.adapter.port_control", Kind: U16, Default: "0x0000", Reload: true,
		Help: "0 for each queue pair, 1 for each SL"},
	{Name: "cc_ca_cong_setting_control_map", TOML: "congestion.adapter.control_map", Kind: U16, Default: "0x0000", Reload: true,
		Help: "SLs that are set up, a bit each"},
	{Name: "cc_ca_cong_setting_ccti_timer", TOML: "congestion.adapter.ccti_timer", Kind: SLs16, Default: "0 0", Reload: true,
		Help: "time after which the index falls by one, for an SL"},
	{Name: "cc_ca_cong_setting_ccti_increase", TOML: "congestion.adapter.ccti_increase", Kind: SLs8, Default: "0 0", Reload: true,
		Help: "what a mark adds to the index, for an SL"},
	{Name: "cc_ca_cong_setting_trigger_threshold", TOML: "congestion.adapter.trigger_threshold", Kind: SLs8, Default: "0 0", Reload: true,
		Help: "index that is logged, for an SL"},
	{Name: "cc_ca_cong_setting_ccti_min", TOML: "congestion.adapter.ccti_min", Kind: SLs8, Default: "0 0", Reload: true,
		Help: "lowest index, for an SL"},
	{Name: "cc_cct", TOML: "congestion.table", Kind: List, Default: null, Reload: true,
		Help: "the table of delays, shift:multiplier each"},
}
