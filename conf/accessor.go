package conf

import (
	"encoding/hex"
	"math"
	"strings"
	"time"
)

// Accessor reads one setting, whose values have type T. There is one variable for each
// setting that is implemented, so that a mistyped name or a wrong type does not compile.
type Accessor[T any] struct {
	row  int
	read func(Value) T
}

// In is the value that the setting has in a configuration.
func (a Accessor[T]) In(c *Config) T { return a.read(c.settings[a.row].Value) }

// Chosen reports whether the value was chosen; see Config.Chosen.
func (a Accessor[T]) Chosen(c *Config) bool { return c.Chosen(a.Key()) }

// Key is the row of the table.
func (a Accessor[T]) Key() *Key { return &table[a.row] }

// The implemented settings, under their names in opensm.conf. Numbers are in the unit of
// the setting, sizes in bytes.
var (
	GUID = accessor("guid", func(v Value) uint64 { return v.Num }, isHCA)
	// "" if it is a number
	GUIDDevice                       = accessor("guid", func(v Value) string { return v.Text }, isHCA)
	MKey                             = number[uint64]("m_key")
	MKeyLeasePeriod                  = number[uint16]("m_key_lease_period")
	MKeyProtectionLevel              = number[uint8]("m_key_protection_level")
	MKeyPerPort                      = boolean("m_key_per_port")
	PeriodicKeyUpdate                = duration("periodic_key_update")
	MKeyLookup                       = boolean("m_key_lookup")
	SMKey                            = number[uint64]("sm_key")
	SAKey                            = number[uint64]("sa_key")
	KeysFile                         = text("keys_file")
	Security                         = text("security")
	SAEnhancedTrustModel             = boolean("sa_enhanced_trust_model")
	SAETMAllowUntrustedProxyRequests = boolean("sa_etm_allow_untrusted_proxy_requests")
	SAETMAllowUntrustedGUIDInfoRec   = boolean("sa_etm_allow_untrusted_guidinfo_rec")
	SAETMMaxNumMCGs                  = number[uint32]("sa_etm_max_num_mcgs")
	SAETMMaxNumSrvcs                 = number[uint32]("sa_etm_max_num_srvcs")
	SAETMMaxNumEventSubs             = number[uint32]("sa_etm_max_num_event_subs")
	SACheckSGIDSpoofing              = boolean("sa_check_sgid_spoofing")
	SARateThreshold                  = number[uint32]("sa_rate_threshold")
	SubnetPrefix                     = number[uint64]("subnet_prefix")
	LMC                              = number[uint8]("lmc")
	LMCEnhancedPort0                 = boolean("lmc_esp0")
	SMSL                             = number[uint8]("sm_sl")
	PacketLifeTime                   = number[uint8]("packet_life_time")
	VLStallCount                     = number[uint8]("vl_stall_count")
	LeafVLStallCount                 = number[uint8]("leaf_vl_stall_count")
	HeadOfQueueLifetime              = number[uint8]("head_of_queue_lifetime")
	LeafHeadOfQueueLifetime          = number[uint8]("leaf_head_of_queue_lifetime")
	MaxOpVLs                         = number[uint8]("max_op_vls")
	DefaultMCGMTU                    = number[uint8]("default_mcg_mtu")
	DefaultMCGRate                   = number[uint8]("default_mcg_rate")
	MaxOpVLsCA                       = number[uint8]("max_op_vls_ca")
	MaxOpVLsSW                       = number[uint8]("max_op_vls_sw")
	MaxOpVLsRtr                      = number[uint8]("max_op_vls_rtr")
	ForceLinkSpeed                   = number[uint8]("force_link_speed")
	ForceLinkSpeedExt                = number[uint8]("force_link_speed_ext")
	ForceLinkWidth                   = number[uint8]("force_link_width")
	FDR10                            = number[uint8]("fdr10")
	SubnetTimeout                    = number[uint8]("subnet_timeout")
	LocalPhyErrorsThreshold          = number[uint8]("local_phy_errors_threshold")
	OverrunErrorsThreshold           = number[uint8]("overrun_errors_threshold")
	PartitionConfigFile              = text("partition_config_file")
	NoPartitionEnforcement           = boolean("no_partition_enforcement")
	PartEnforce                      = text("part_enforce")
	AllowBothPKeys                   = boolean("allow_both_pkeys")
	KeepPKeyIndexes                  = boolean("keep_pkey_indexes")
	SMAssignedGUID                   = number[uint8]("sm_assigned_guid")
	VirtEnabled                      = number[uint8]("virt_enabled")
	VirtMaxPortsInProcess            = number[uint32]("virt_max_ports_in_process")
	VirtDefaultHopLimit              = number[uint8]("virt_default_hop_limit")
	EnableVirtRecExt                 = boolean("enable_virt_rec_ext")
	VirtDumpFile                     = text("virt_dump_file")
	VirtModifierLayout               = text("virt_modifier_layout")
	SweepInterval                    = duration("sweep_interval")
	ReassignLIDs                     = boolean("reassign_lids")
	ForceHeavySweep                  = boolean("force_heavy_sweep")
	SweepOnTrap                      = boolean("sweep_on_trap")
	RoutingEngine                    = list("routing_engine")
	LFTsFile                         = text("lfts_file")
	LFTsFileForce                    = boolean("lfts_file_force")
	LIDMatrixFile                    = text("lid_matrix_dump_file")
	ComputeGUIDFile                  = text("cn_guid_file")
	IOGUIDFile                       = text("io_guid_file")
	RootGUIDFile                     = text("root_guid_file")
	IDsGUIDFile                      = text("ids_guid_file")
	PortProfileSwitchNodes           = boolean("port_profile_switch_nodes")
	PortProfIgnoreFile               = text("port_prof_ignore_file")
	HopWeightsFile                   = text("hop_weights_file")
	PortSearchOrderingFile           = text("port_search_ordering_file")
	GUIDRoutingOrderFile             = text("guid_routing_order_file")
	GUIDRoutingOrderNoScatter        = boolean("guid_routing_order_no_scatter")
	PortShifting                     = boolean("port_shifting")
	ScatterPorts                     = number[uint32]("scatter_ports")
	AvoidThrottledLinks              = boolean("avoid_throttled_links")
	TorusConfig                      = text("torus_config")
	DrainFile                        = text("drain_file")
	TopoConfigFile                   = text("topo_config_file")
	TopoConfigEnabled                = boolean("topo_config_enabled")
	HeldBackSwFile                   = text("held_back_sw_file")
	PortGroupsFile                   = text("pgrp_policy_file")
	ConnectRoots                     = boolean("connect_roots")
	QuasiFtreeIndexing               = boolean("quasi_ftree_indexing")
	MaxReverseHops                   = number[uint16]("max_reverse_hops")
	DoMeshAnalysis                   = boolean("do_mesh_analysis")
	LashStartVL                      = number[uint8]("lash_start_vl")
	NueMaxVLs                        = number[uint8]("nue_max_num_vls")
	NueIncludeSwitches               = boolean("nue_include_switches")
	SADBFile                         = text("sa_db_file")
	SADBDump                         = boolean("sa_db_dump")
	ARMode                           = text("ar_mode")
	SMPriority                       = number[uint8]("sm_priority")
	MasterSMPriority                 = number[uint8]("master_sm_priority")
	AllowedSMGUIDs                   = list("allowed_sm_guids")
	MirrorWithDefaultKeys            = boolean("mirror_with_default_keys")
	IgnoreOtherSM                    = boolean("ignore_other_sm")
	SMInfoPollingTimeout             = duration("sminfo_polling_timeout")
	PollingRetryNumber               = number[uint32]("polling_retry_number")
	HonorGUID2LIDFile                = boolean("honor_guid2lid_file")
	MaxWireSMPs                      = number[uint32]("max_wire_smps")
	TransactionTimeout               = duration("transaction_timeout")
	TransactionRetries               = number[uint32]("transaction_retries")
	LongTransactionTimeout           = duration("long_transaction_timeout")
	SingleThread                     = boolean("single_thread")
	Daemon                           = boolean("daemon")
	SMInactive                       = boolean("sm_inactive")
	BabblingPortPolicy               = boolean("babbling_port_policy")
	DropEventSubscriptions           = boolean("drop_event_subscriptions")
	IPoIBMCGroupCreationValidation   = boolean("ipoib_mcgroup_creation_validation")
	MCGroupJoinValidation            = boolean("mcgroup_join_validation")
	UseOriginalExtendedSARatesOnly   = boolean("use_original_extended_sa_rates_only")
	UseOptimizedSLVL                 = boolean("use_optimized_slvl")
	MaxRateEnum                      = number[uint8]("max_rate_enum")
	FsyncHighAvailFiles              = boolean("fsync_high_avail_files")
	NodeNameMapName                  = text("node_name_map_name")
	LogFlags                         = number[uint8]("log_flags")
	ForceLogFlush                    = boolean("force_log_flush")
	LogFile                          = text("log_file")
	LogMaxSize                       = size("log_max_size")
	AccumLogFile                     = boolean("accum_log_file")
	PerModuleLoggingFile             = text("per_module_logging_file")
	DumpFilesDir                     = text("dump_files_dir")
	NoClientsRereg                   = boolean("no_clients_rereg")
	DisableMulticast                 = boolean("disable_multicast")
	ExitOnFatal                      = boolean("exit_on_fatal")
	PerfMgr                          = boolean("perfmgr")
	PerfMgrRedir                     = boolean("perfmgr_redir")
	PerfMgrSweepTime                 = duration("perfmgr_sweep_time_s")
	PerfMgrMaxOutstandingQueries     = number[uint32]("perfmgr_max_outstanding_queries")
	PerfMgrIgnoreCAs                 = boolean("perfmgr_ignore_cas")
	PerfMgrRemoveNodes               = boolean("perfmgr_rm_nodes")
	PerfMgrLogErrors                 = boolean("perfmgr_log_errors")
	PerfMgrQueryCPI                  = boolean("perfmgr_query_cpi")
	PerfMgrXmitWaitLog               = boolean("perfmgr_xmit_wait_log")
	PerfMgrXmitWaitThreshold         = number[uint32]("perfmgr_xmit_wait_threshold")
	EventDBDumpFile                  = text("event_db_dump_file")
	CongestionControl                = boolean("congestion_control")
	CCKey                            = number[uint64]("cc_key")
	CCMaxOutstandingMADs             = number[uint32]("cc_max_outstanding_mads")
	CCSwitchControlMap               = number[uint32]("cc_sw_cong_setting_control_map")
	CCSwitchVictimMask               = mask("cc_sw_cong_setting_victim_mask")
	CCSwitchCreditMask               = mask("cc_sw_cong_setting_credit_mask")
	CCSwitchThreshold                = number[uint8]("cc_sw_cong_setting_threshold")
	CCSwitchPacketSize               = number[uint8]("cc_sw_cong_setting_packet_size")
	CCSwitchCSThreshold              = number[uint8]("cc_sw_cong_setting_credit_starvation_threshold")
	CCSwitchCSReturnDelay            = delay("cc_sw_cong_setting_credit_starvation_return_delay")
	CCSwitchMarkingRate              = number[uint16]("cc_sw_cong_setting_marking_rate")
	CCAdapterPortControl             = number[uint16]("cc_ca_cong_setting_port_control")
	CCAdapterControlMap              = number[uint16]("cc_ca_cong_setting_control_map")
	CCAdapterTimer                   = bySL("cc_ca_cong_setting_ccti_timer")
	CCAdapterIncrease                = bySL("cc_ca_cong_setting_ccti_increase")
	CCAdapterTriggerThreshold        = bySL("cc_ca_cong_setting_trigger_threshold")
	CCAdapterMin                     = bySL("cc_ca_cong_setting_ccti_min")
	CCTable                          = delays("cc_cct")
	SickRulesFile                    = text("sick_rules_file")
	SickLinks                        = text("sick_links")
	SickLinksHosts                   = boolean("sick_links_hosts")
	SickLinksMax                     = number[uint16]("sick_links_max")
	SickLinksMaxPermille             = number[uint16]("sick_links_max_permille")
	Console                          = text("console")
	ConsolePort                      = number[uint16]("console_port")
	ConsoleOpen                      = boolean("console_open")
	QoS                              = boolean("qos")
	QoSPolicyFile                    = text("qos_policy_file")
	PrefixRoutesFile                 = text("prefix_routes_file")
	ConsolidateIPv6SNMReq            = boolean("consolidate_ipv6_snm_req")
	LogPrefix                        = text("log_prefix")
	CtlSocket                        = text("ctl_socket")
	CtlGroup                         = text("ctl_group")
	MetricsAddr                      = text("metrics_addr")
	LeaderAddr                       = text("leader_addr")
	APIAddr                          = text("api_addr")
	APICertFile                      = text("api_cert_file")
	APIKeyFile                       = text("api_key_file")
	APIClientCAFile                  = text("api_client_ca_file")
	APIUsersFile                     = text("api_users_file")
	APIAuditFile                     = text("api_audit_file")
	LogFormat                        = text("log_format")
	Syslog                           = boolean("syslog")
	StateDir                         = text("state_dir")
	PartitionFallback                = text("partition_fallback")
	PartitionPKeys                   = text("partition_pkeys")
	PartitionsMirror                 = text("partitions_mirror")
)

// accessor returns the accessor of a setting of one of the kinds. It panics at program
// start if the table has no such row.
func accessor[T any](name string, read func(Value) T, fits func(*Key) bool) Accessor[T] {
	i, ok := byName[name]
	if !ok || !fits(&table[i]) {
		panic("conf: no setting " + name + " of this type")
	}
	return Accessor[T]{i, read}
}

func isHCA(k *Key) bool { return k.Kind == HCA }

func boolean(name string) Accessor[bool] {
	return accessor(name, func(v Value) bool { return v.Num != 0 }, func(k *Key) bool { return k.Kind == Bool })
}

// number is for kinds with as many bits as T has.
func number[T uint8 | uint16 | uint32 | uint64](name string) Accessor[T] {
	return accessor(name, func(v Value) T { return T(v.Num) }, func(k *Key) bool {
		return k.Kind.numeric() && k.Kind != I32 && uint64(^T(0)) == uint64(math.MaxUint64)>>(64-k.Kind.bits())
	})
}

// duration is for settings in seconds, milliseconds or microseconds.
func duration(name string) Accessor[time.Duration] {
	unit := Find(name).Unit.duration()
	return accessor(name, func(v Value) time.Duration {
		if v.Num > math.MaxInt64/uint64(unit) {
			return math.MaxInt64
		}
		return time.Duration(v.Num) * unit
	}, func(*Key) bool { return unit > 0 })
}

// duration is the length of one unit, 0 for a unit that is not a time.
func (u Unit) duration() time.Duration {
	switch u {
	case Seconds:
		return time.Second
	case Milliseconds:
		return time.Millisecond
	case Microseconds:
		return time.Microsecond
	}
	return 0
}

// size is for settings in MiB.
func size(name string) Accessor[int64] {
	return accessor(name, func(v Value) int64 { return int64(v.Num) << 20 }, func(k *Key) bool {
		return k.Unit == Mebibytes
	})
}

// text is for texts and words; "" if unset.
func text(name string) Accessor[string] {
	return accessor(name, func(v Value) string { return v.Text }, func(k *Key) bool {
		return k.Kind == String || k.Kind == Word
	})
}

// list is for lists; nil if unset or empty.
func list(name string) Accessor[[]string] {
	return accessor(name, Value.list, func(k *Key) bool { return k.Kind == List })
}

// list is the elements of a list, nil if it is unset or empty.
func (v Value) list() []string {
	if v.Text == "" {
		return nil
	}
	return strings.Split(v.Text, ",")
}

// mask is for settings that are sets of ports: port 0 is the lowest bit of the last byte.
func mask(name string) Accessor[[maskDigits / 2]byte] {
	return accessor(name, func(v Value) (m [maskDigits / 2]byte) {
		hex.Decode(m[:], []byte(v.Text))
		return m
	}, func(k *Key) bool { return k.Kind == Mask })
}

// Delay is an entry of a congestion control table: a multiplier, shifted right.
type Delay struct {
	Shift      uint8  // 0 to 3
	Multiplier uint16 // 0 to 16383
}

// delay is for settings with one such entry.
func delay(name string) Accessor[Delay] {
	return accessor(name, func(v Value) Delay { return delayOf(v.Text) }, func(k *Key) bool { return k.Kind == Pair })
}

// delays is for lists of them.
func delays(name string) Accessor[[]Delay] {
	return accessor(name, func(v Value) (list []Delay) {
		for _, e := range v.list() {
			list = append(list, delayOf(e))
		}
		return list
	}, func(k *Key) bool { return k.Kind == List })
}

// delayOf is the entry of a text that parsePair has made.
func delayOf(text string) (d Delay) {
	shift, multiplier, _ := strings.Cut(text, ":")
	s, _ := parseNumber(shift, 2)
	m, _ := parseNumber(multiplier, 14)
	return Delay{uint8(s), uint16(m)}
}

// bySL is for settings with a number for each SL.
func bySL(name string) Accessor[[slCount]uint64] {
	return accessor(name, slNumbers, func(k *Key) bool { return k.Kind == SLs8 || k.Kind == SLs16 })
}
