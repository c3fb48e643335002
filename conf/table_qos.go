package conf

// qosKeys are the settings of quality of service and congestion control, and those that
// OpenSM writes last.
var qosKeys = joined(
	[]Key{
		{Name: "qos", TOML: "qos.enabled", Kind: Bool, Default: "FALSE", Reload: true, Effect: Acts, Long: "qos",
			Short: 'Q',
			Help:  "set up VLs and apply the QoS policy"},
		{Name: "qos_policy_file", TOML: "qos.policy_file", Kind: String, Default: "/etc/opensm/qos-policy.conf",
			Effect: Acts, Long: "qos_policy_file", Short: 'Y', Arg: "FILE",
			Help: "QoS policy file"},
		{Name: "suppress_sl2vl_mad_status_errors", TOML: "qos.quiet_sl2vl_errors", Kind: Bool, Default: "FALSE",
			Reload: true, Effect: Foreign,
			Help: "do not log SL-to-VL tables that a device rejects"},
	},
	qosFamily("qos_", "qos", "ports"),
	qosFamily("qos_ca_", "qos.adapters", "adapters"),
	qosFamily("qos_sw0_", "qos.switch_port0", "port 0 of switches"),
	qosFamily("qos_swe_", "qos.switch_external", "the other ports of switches"),
	own(qosFamily("qos_sw2sw_", "qos.switch_links", "ports of switches that lead to a switch")),
	qosFamily("qos_rtr_", "qos.routers", "routers"),
	congestionKeys,
	[]Key{
		{Name: "prefix_routes_file", TOML: "sa.prefix_routes_file", Kind: String,
			Default: "/etc/opensm/prefix-routes.conf", Reload: true, Effect: Acts, Long: "prefix_routes_file",
			Arg:  "FILE",
			Help: "file of routers to other subnets"},
		{Name: "consolidate_ipv6_snm_req", TOML: "sa.consolidate_ipv6_groups", Kind: Bool, Default: "FALSE",
			Reload: true, Effect: Acts, Long: "consolidate_ipv6_snm_req",
			Help: "use one MLID for all IPv6 solicited-node groups of a partition"},
		{Name: "log_prefix", TOML: "log.prefix", Kind: String, Default: null, Reload: true, Effect: Acts,
			Long: "log_prefix", Arg: "TEXT",
			Help: "text before each log message"},
	},
	ownKeys,
)

// ownKeys are settings that OpenSM does not have.
var ownKeys = []Key{
	{Name: "ctl_socket", TOML: "daemon.ctl_socket", Kind: String, Default: null, Own: true, Effect: Acts,
		Unset: atSocket, Long: "ctl_socket", Arg: "PATH",
		Help: "control socket for ibsmctl, or none"},
	{Name: "ctl_group", TOML: "daemon.ctl_group", Kind: String, Default: null, Own: true, Effect: Acts,
		Long: "ctl_group", Arg: "GROUP",
		Help: "group whose members may use the control socket, in addition to the user that runs ibsm"},
	{Name: "metrics_addr", TOML: "daemon.metrics_addr", Kind: String, Default: null, Own: true, Effect: Acts,
		Long: "metrics_addr", Arg: "ADDR",
		Help: "TCP address to serve Prometheus metrics on, in addition to the control socket; for example :9690"},
	{Name: "leader_addr", TOML: "daemon.leader_addr", Kind: String, Default: null, Own: true, Effect: Acts,
		Long: "leader_addr", Arg: "ADDR",
		Help: "TCP address that answers GET /leader and nothing else: status 200 on the master, else 503; for load balancers; for example :9691"},
	{Name: "api_addr", TOML: "api.addr", Kind: String, Default: null, Own: true, Effect: Acts, Long: "api_addr",
		Arg:  "ADDR",
		Help: "TCP address that serves the API over HTTPS, to users by their rights, for example :8443; http://127.0.0.1:8080 without TLS, on the loopback alone; docs/api.md"},
	{Name: "api_cert_file", TOML: "api.certificate", Kind: String, Default: null, Own: true, Effect: Acts,
		Unset: "one that signs itself, made at the first start", Long: "api_cert_file", Arg: "FILE",
		Help: "certificate of the API, with its chain, in PEM form; it is read again when it changes"},
	{Name: "api_key_file", TOML: "api.key", Kind: String, Default: null, Own: true, Effect: Acts, Long: "api_key_file",
		Arg: "FILE", Help: "private key of api_cert_file, in PEM form"},
	{Name: "api_client_ca_file", TOML: "api.client_ca", Kind: String, Default: null, Own: true, Effect: Acts,
		Long: "api_client_ca_file", Arg: "FILE",
		Help: "authorities of client certificates of the API, in PEM form; without them no client certificate is accepted"},
	{Name: "api_users_file", TOML: "api.users", Kind: String, Default: null, Own: true, Effect: Acts,
		Unset: atUsers, Long: "api_users_file", Arg: "FILE",
		Help: "users of the API, as ibsmctl api user writes them; it is read again when it changes"},
	{Name: "api_audit_file", TOML: "api.audit", Kind: String, Default: null, Own: true, Effect: Acts, Unset: atAudit,
		Long: "api_audit_file", Arg: "FILE",
		Help: "file of changes over the API and the control socket, and of refusals, a JSON object a line; none disables it"},
	{Name: "log_format", TOML: "log.format", Kind: Word, Words: []string{"opensm", "json"}, Default: "opensm",
		Own: true, Effect: Acts, Long: "log_format", Arg: "FORM",
		Help: "log format: OpenSM's lines, or one JSON object per line"},
	{Name: "syslog", TOML: "log.syslog", Kind: Bool, Default: "TRUE", Own: true, Effect: Acts,
		Help: "also send state changes to syslog, under OpenSM's name; not on simulated fabrics"},
	{Name: "state_dir", TOML: "files.state_dir", Kind: String, Default: null, Own: true, Effect: Acts, Unset: atState,
		Long: "state_dir", Arg: "DIR",
		Help: "directory of the state store, with a subdirectory for each port; none disables the store"},
	{Name: "partition_fallback", TOML: "partitions.fallback", Kind: Word, Words: []string{"refuse", "closed", "open"},
		Default: "refuse", Own: true, Serious: true, Effect: Acts, Long: "partition_fallback", Arg: "HOW",
		Help: "action at start if the partition file has errors, or is configured but missing, and no earlier valid one is stored: refuse does not start; closed lets ports reach only the manager; open lets all ports communicate, like OpenSM"},
	{Name: "partition_pkeys", TOML: "partitions.pkeys", Kind: String, Default: "0x1000-0x7ffe", Reload: true, Own: true,
		Serious: true, Effect: Acts, Long: "partition_pkeys", Arg: "FIRST-LAST",
		Help: "P_Keys for partitions that programs put without one: the lowest free one of this range"},
	{Name: "partitions_mirror", TOML: "partitions.mirror", Kind: Word, Words: []string{"preferred", "required"},
		Default: "preferred", Reload: true, Own: true, Serious: true, Effect: Acts, Long: "partitions_mirror", Arg: "HOW",
		Help: "partitions that programs put, if no standby acknowledges a change within two seconds: preferred keeps the change and says so; required takes it back and answers with an error, also if there is no standby"},
}

func joined(parts ...[]Key) (all []Key) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// own marks keys that OpenSM 3.3.23 does not have.
func own(keys []Key) []Key {
	for i := range keys {
		keys[i].Own = true
	}
	return keys
}

// qosFamily is the five settings of a type of port. Unset ones use the settings of all
// ports.
func qosFamily(prefix, group, ports string) []Key {
	return []Key{
		{Name: prefix + "max_vls", TOML: group + ".max_vls", Kind: U32, Range: "0-15", Default: "0", Reload: true,
			Effect: Foreign,
			Help: "number of VLs of " + ports +
				"; without effect, as with OpenSM: max_op_vls limits the VLs of links"},
		{Name: prefix + "high_limit", TOML: group + ".high_limit", Kind: I32, Range: "0-255", Default: "-1",
			Reload: true, Effect: Acts,
			Help: "VLHighLimit of " + ports + "; -1 uses the value for all ports, or 0 if that is not set"},
		{Name: prefix + "vlarb_high", TOML: group + ".vlarb_high", Kind: List, Default: null, Reload: true,
			Effect: Acts,
			Help:   "high-priority VL arbitration table of " + ports + ": up to 64 entries vl:weight"},
		{Name: prefix + "vlarb_low", TOML: group + ".vlarb_low", Kind: List, Default: null, Reload: true, Effect: Acts,
			Help: "low-priority VL arbitration table of " + ports + ": up to 64 entries vl:weight"},
		{Name: prefix + "sl2vl", TOML: group + ".sl2vl", Kind: List, Default: null, Reload: true, Effect: Acts,
			Help: "VL for each of the 16 SLs on " + ports},
	}
}

const noMask = "0x0000000000000000000000000000000000000000000000000000000000000000"

var congestionKeys = []Key{
	{Name: "congestion_control", TOML: "congestion.enabled", Kind: Bool, Default: "FALSE", Reload: true, Effect: Acts,
		Long: "congestion_control",
		Help: "write the settings of congestion control to switches and adapters; docs/congestion.md"},
	{Name: "cc_key", TOML: "congestion.key", Kind: X64, Default: "0x0000000000000000", Reload: true, Serious: true,
		Effect: Acts, Long: "cc_key", Arg: "KEY",
		Help: "CC_Key of congestion control requests; it is not set on devices"},
	{Name: "cc_max_outstanding_mads", TOML: "congestion.max_outstanding", Kind: U32, Default: "500", Reload: true,
		Effect: Acts,
		Help:   "maximum number of congestion control MADs on the wire, up to 2048; fewer are used while responses are late or lost"},
	{Name: "cc_sw_cong_setting_control_map", TOML: "congestion.switch.control_map", Kind: U32, Range: "0-0x1f",
		Default: "0x0", Reload: true, Effect: Acts,
		Help: "fields to apply: 1 victim mask, 2 credit mask, 4 threshold and packet size, 8 credit starvation, 16 marking rate"},
	{Name: "cc_sw_cong_setting_victim_mask", TOML: "congestion.switch.victim_mask", Kind: Mask, Default: noMask,
		Reload: true, Effect: Acts,
		Help: "ports that also mark packets of victim flows; bit 0 is port 0"},
	{Name: "cc_sw_cong_setting_credit_mask", TOML: "congestion.switch.credit_mask", Kind: Mask, Default: noMask,
		Reload: true, Effect: Acts,
		Help: "ports with credit starvation detection"},
	{Name: "cc_sw_cong_setting_threshold", TOML: "congestion.switch.threshold", Kind: U8, Range: "0-15",
		Default: "0x00", Reload: true, Effect: Acts,
		Help: "congestion threshold: 0 never marks packets, 15 marks earliest"},
	{Name: "cc_sw_cong_setting_packet_size", TOML: "congestion.switch.packet_size", Kind: U8, Default: "0",
		Reload: true, Effect: Acts,
		Help: "minimum size of packets to mark, in credits"},
	{Name: "cc_sw_cong_setting_credit_starvation_threshold", TOML: "congestion.switch.starvation_threshold", Kind: U8,
		Range: "0-15", Default: "0x00", Reload: true, Effect: Acts,
		Help: "credit starvation threshold: 0 never, 15 earliest"},
	{Name: "cc_sw_cong_setting_credit_starvation_return_delay", TOML: "congestion.switch.starvation_return_delay",
		Kind: Pair, Default: "0:0", Reload: true, Effect: Acts,
		Help: "delay of returned credits, in the form of a CCT entry"},
	{Name: "cc_sw_cong_setting_marking_rate", TOML: "congestion.switch.marking_rate", Kind: U16, Default: "0",
		Reload: true, Effect: Acts,
		Help: "mean number of packets between two marked packets"},
	{Name: "cc_ca_cong_setting_port_control", TOML: "congestion.adapter.port_control", Kind: U16, Default: "0x0000",
		Reload: true, Effect: Acts,
		Help: "congestion control per queue pair (0) or per SL (1)"},
	{Name: "cc_ca_cong_setting_control_map", TOML: "congestion.adapter.control_map", Kind: U16, Default: "0x0000",
		Reload: true, Effect: Acts,
		Help: "SLs to configure, one bit each"},
	{Name: "cc_ca_cong_setting_ccti_timer", TOML: "congestion.adapter.ccti_timer", Kind: SLs16, Default: "0 0",
		Reload: true, Effect: Acts,
		Help: "time after which the CCT index decreases by one, per SL"},
	{Name: "cc_ca_cong_setting_ccti_increase", TOML: "congestion.adapter.ccti_increase", Kind: SLs8, Default: "0 0",
		Reload: true, Effect: Acts,
		Help: "increase of the CCT index for each marked packet, per SL"},
	{Name: "cc_ca_cong_setting_trigger_threshold", TOML: "congestion.adapter.trigger_threshold", Kind: SLs8,
		Default: "0 0", Reload: true, Effect: Acts,
		Help: "CCT index at which an event is logged, per SL"},
	{Name: "cc_ca_cong_setting_ccti_min", TOML: "congestion.adapter.ccti_min", Kind: SLs8, Default: "0 0", Reload: true,
		Effect: Acts,
		Help:   "lowest CCT index, per SL"},
	{Name: "cc_cct", TOML: "congestion.table", Kind: List, Default: null, Reload: true, Effect: Acts,
		Help: "congestion control table: a list of shift:multiplier; the first 128 entries are used"},
}
