package conf

import "strings"

// forkKeys are keys of NVIDIA's manager and what they mean here.
var forkKeys = map[string]string{
	"virt_enabled":                    "virtual ports are left as they are found, as with its 0",
	"virt_max_ports_in_process":       "virtual ports are left as they are found",
	"virt_default_hop_limit":          "virtual ports are left as they are found",
	"enable_virt_rec_ext":             "virtual ports are left as they are found",
	"virt_dump_file":                  "virtual ports are left as they are found",
	"shield_mode":                     "fast link fault recovery is left as it is found; see ar_mode",
	"ar_sl_mask":                      "adaptive routing is held or disabled; see ar_mode",
	"enable_ar_by_device_cap":         "adaptive routing is held or disabled; see ar_mode",
	"sharp_enabled":                   "aggregation nodes are end ports and otherwise left as they are found",
	"m_key_per_port":                  "all ports have one M_Key, m_key",
	"key_mgr_seed":                    "all ports have one M_Key, m_key",
	"periodic_key_update":             "m_key changes when the file does",
	"sa_enhanced_trust_model":         "sa_key alone makes a query trusted",
	"sa_check_sgid_spoofing":          "SGIDs of queries are not checked",
	"sa_rate_threshold":               "queries are not counted by source",
	"sa_etm_allow_guidinfo_rec_by_vf": "virtual ports are left as they are found",
	"validate_smps":                   "answers are always checked",
	"cc_key_enable":                   "keys of congestion control are left as they are found",
	"vs_key_enable":                   "vendor-specific keys are left as they are found",
	"n2n_key_enable":                  "node-to-node keys are left as they are found",
	"held_back_sw_file":               "every switch that is cabled is used",
	"enable_sm_port_failover":         "a manager runs at one port, guid",
	"topo_config_file":                "the fabric is not compared with a file",
	"tenants_policy_file":             "there are no tenants",
	"max_wire_smps_per_device":        "four requests wait at one node",
	"max_alt_dr_path_retries":         "other paths are tried in the next sweep",
	"mepi_cache_enabled":              "vendor attributes are read as they are needed",
	"reports":                         "subscriptions are always served",
}

// forkStems begin names of keys of NVIDIA's manager, and what they are about.
var forkStems = []struct{ stem, about string }{
	{"virt_", "virtual ports"}, {"sharp_", "aggregation nodes"}, {"pgrp_", "port groups"}, {"topo_", "topology files"},
	{"hm_", "unhealthy ports"}, {"ar_", "adaptive routing"}, {"adv_routing_", "advanced routing"}, {"hbf_", "hash-based forwarding"},
	{"pfrn_", "routing notification"}, {"vs_", "vendor-specific classes"}, {"n2n_", "node-to-node keys"}, {"key_mgr_", "keys"},
}

// forkKey says what a key of NVIDIA's manager means here, "" if it is not known to
// be one.
func forkKey(name string) string {
	if meaning := forkKeys[name]; meaning != "" {
		return meaning
	}
	for _, s := range forkStems {
		if strings.HasPrefix(name, s.stem) {
			return "it is about " + s.about + " and has no effect here"
		}
	}
	return ""
}

// forkValue answers a value that has its meaning in NVIDIA's manager alone.
func forkValue(name, value string) string {
	if name == "ar_mode" && isDigits(value) {
		return "a number is of NVIDIA's manager and not taken: here it is hold or disable, and hold until it is chosen"
	}
	return ""
}
