package conf

import (
	"strings"
	"testing"
)

// forkNames are keys that the template of NVIDIA's OpenSM 5.21 (opensm -c) has and OpenSM 3.3.23 does not.
const forkNames = `
lids_per_rtr qos_config_vl_enabled max_op_vls_ca max_op_vls_sw max_op_vls_rtr max_neighbor_mtu
suppress_mc_pkey_traps force_link_speed_ext2 support_mepi_speeds mepi_enabled_speeds force_heavy_sweep_window
mc_primary_root_guid mc_secondary_root_guid mc_roots_file enable_queries_during_routing
calculate_missing_routes max_cas_on_spine find_roots_color_algorithm dfp_find_roots_color_algorithm
rch_policy_file device_configuration_file fast_recovery_enabled fast_recovery_conf_file
ftree_ca_order_dump_file routing_threads_num max_threads_per_core offsweep_balancing_enabled
offsweep_balancing_window pqft_structure updn_lid_tracking_mode updn_lid_tracking_converge_routes
updn_lid_tracking_prefer_total_routes dfp_max_cas_on_spine multicast_optimization use_scatter_for_switch_lid
sm_db_dump load_inform_info_from_sadb sa_pr_full_world_queries_allowed master_sm_lid max_msg_fifo_len
drop_subscr_on_report_fail drop_unreachable_event_subscriptions max_sa_reports_queued max_sa_reports_on_wire
use_optimized_port_mask_slvl default_mcg_mtu default_mcg_rate plugin_name plugin_options enable_crashd
client_rereg_mode override_create_mcg_sl qos_sw2sw_max_vls qos_sw2sw_high_limit qos_sw2sw_vlarb_high
qos_sw2sw_vlarb_low qos_sw2sw_sl2vl enhanced_qos_policy_file enhanced_qos_vport0_unlimit_default_rl
mlnx_congestion_control congestion_control_policy_file ppcc_algo_dir cc_key_lease_period cc_key_protect_bit
consolidate_ipv4_mask max_seq_redisc rereg_on_guid_migr aguid_inout_notice sm_assign_guid_func
max_topologies_per_sw auto_join_hca_wo_topo enable_inc_mc_routing allow_sm_port_reset port_speed_change_action
port_ext_speed_change_action port_ext_speed2_change_action port_mepi_speed_change_action
port_mtu_change_action port_vl_change_action support_mlnx_enhanced_link mlnx_enhanced_link_enable
adaptive_timeout_sl_mask port_ame_bit_change_action improved_lmc_path_distribution syslog_log_flags
sweep_every_hup_signal osm_stats_interval osm_stats_dump_limit osm_perflog_dump_limit
enable_performance_logging osm_stats_dump_per_sm_port rtr_aguid_enable rtr_pr_flow_label rtr_pr_tclass
rtr_pr_sl rtr_pr_mtu rtr_pr_rate aguid_default_hop_limit router_policy_enabled router_policy_file
verbose_bypass_policy_file sa_db_dump_file enable_subnet_lst subnet_lst_file dor_hyper_cube_mode
additional_gi_supporting_devices additional_mepi_force_devices disable_default_gi_support standalone
activity_report_subjects enable_ar_group_copy smp_threads gmp_threads gmp_traps_threads_num routing_flags
dump_ar cache_ar_group_id dfp_down_up_turns_mode enable_vl_packing service_name2key_map_file
rtr_selection_function rtr_selection_seed rtr_selection_algo_parameters get_mft_tables prism_an_lmc
tenants_policy_enabled reply_lid_smps_in_dr respond_unknown_lid_traps fabric_mode_profile
fabric_mode_policy_file issu_mode issu_pre_upgrade_time issu_timeout
`

// TestForkTemplate: each key of NVIDIA's template is a setting, or noted once with what it does there and what ibsm
// does; no line is a warning or an error, and none brings a hint. Its default fdr10 255 leaves FDR10 as it is.
func TestForkTemplate(t *testing.T) {
	var text strings.Builder
	text.WriteString("fdr10 255\n")
	inert := 0
	for _, name := range strings.Fields(forkNames) {
		if Find(name) == nil {
			inert++
		}
		text.WriteString(name + " (null)\n" + name + " (null)\n")
	}
	c, report := FromFile("opensm.conf", []byte(text.String()))
	noted := map[string]bool{}
	for _, f := range report {
		if f.Severity != Note || strings.Contains(f.Text, "did you mean") {
			t.Errorf("%v", f)
		}
		name, meaning, _ := strings.Cut(f.Text, " is a key of NVIDIA's OpenSM, without effect: ")
		if f.Inert && (noted[name] || len(meaning) < 10) {
			t.Errorf("%s is noted again, or without its meaning: %v", name, f)
		}
		noted[name] = true
	}
	for _, name := range strings.Fields(forkNames) {
		if Find(name) == nil && !noted[name] {
			t.Errorf("%s is not noted", name)
		}
	}
	if FDR10.Chosen(c) {
		t.Error("fdr10 255 counts as chosen")
	}
	if brief := report.Brief(); len(brief) != len(report)-inert+1 {
		t.Errorf("%d findings become %d with one line for %d keys", len(report), len(brief), inert)
	}
}

// TestForkKeys: a key is a setting or a key without effect, and stands once.
func TestForkKeys(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range forkKeys {
		if seen[k.Name] || Find(k.Name) != nil || k.Meaning == "" {
			t.Errorf("%s stands twice, is a setting or has no meaning", k.Name)
		}
		seen[k.Name] = true
	}
}

// TestKeyHints: a misspelled key brings the hint of the key that was meant, and a name that only resembles others
// brings none. Of the names of NVIDIA's template none may be taken for another key, also where it is unknown.
func TestKeyHints(t *testing.T) {
	for word, want := range map[string]string{
		"sweep_intervall": "sweep_interval", "swep_interval": "sweep_interval", "sweep-interval": "sweep_interval",
		"seewp_interval": "sweep_interval",
		"Sweep_Interval": "sweep_interval", "sm_prio": "sm_priority", "sm_priorty": "sm_priority",
		"log_flag": "log_flags", "routing_engines": "routing_engine",
		"max_wire_smp": "max_wire_smps", "max_op_vl": "max_op_vls", "root_guids_file": "root_guid_file",
		"cn_guids_file":    "cn_guid_file",
		"partition_config": "partition_config_file", "qos_sl2v1": "", "perfmgr_sweep_time": "perfmgr_sweep_time_s",
		"lmc_esp": "lmc_esp0", "mkey_lease_period": "m_key_lease_period",
		"m_key_lease": "m_key_lease_period", "use_ucast_cach": "use_ucast_cache", "pefmgr": "perfmgr",
		"dump_file_dir": "dump_files_dir",
		"virt_enable":   "virt_enabled", "frobnicate": "", "policy_file": "", "key_lease_period": "", "config_enabled": "",
	} {
		if got := strings.TrimSuffix(strings.TrimPrefix(didYouMean(word, family(word, names())), "; did you mean "),
			"?"); got != want {
			t.Errorf("%s: hint %q, want %q", word, got, want)
		}
	}
	for _, name := range strings.Fields(forkNames) {
		var others []string
		for i := range table {
			if table[i].Name != name {
				others = append(others, table[i].Name)
			}
		}
		if hint := didYouMean(name, family(name, others)); hint != "" && Find(name) == nil {
			t.Errorf("%s: %s", name, hint)
		}
	}
}
