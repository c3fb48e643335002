package conf

import "strings"

// forkKeys are keys of NVIDIA's manager and their meaning here.
var forkKeys = map[string]string{
	"virt_enabled":                    "virtual ports are left unchanged, as with value 0",
	"virt_max_ports_in_process":       "virtual ports are left unchanged",
	"virt_default_hop_limit":          "virtual ports are left unchanged",
	"enable_virt_rec_ext":             "virtual ports are left unchanged",
	"virt_dump_file":                  "virtual ports are left unchanged",
	"shield_mode":                     "fast link fault recovery is left unchanged; see ar_mode",
	"ar_sl_mask":                      "see ar_mode for adaptive routing",
	"enable_ar_by_device_cap":         "see ar_mode for adaptive routing",
	"sharp_enabled":                   "aggregation nodes are treated as end ports and otherwise left unchanged",
	"key_mgr_seed":                    "M_Keys of ports are derived from keys_file, and other keys are left unchanged",
	"sa_etm_allow_guidinfo_rec_by_vf": "virtual ports are left unchanged",
	"validate_smps":                   "answers are always checked",
	"cc_key_enable":                   "congestion control keys are left unchanged",
	"vs_key_enable":                   "vendor-specific keys are left unchanged",
	"n2n_key_enable":                  "node-to-node keys are left unchanged",
	"held_back_sw_file":               "every connected switch is used",
	"enable_sm_port_failover":         "a manager runs at one port, guid",
	"topo_config_file":                "the fabric is not compared with a file",
	"tenants_policy_file":             "there are no tenants",
	"max_wire_smps_per_device":        "at most two requests are outstanding at one device",
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

// forkEngines are routing engines of NVIDIA's manager, and those to write instead. Engines whose
// names begin with ar_ also write adaptive routing groups.
var forkEngines = map[string]string{
	"ar_updn": "updn", "ar_ftree": "ftree", "pqft": "ftree", "ar_torus": "torus-2QoS", "ar_dor": "dor", "ar_minhop": "minhop",
	"dfp": "dfsssp or nue", "dfp2": "dfsssp or nue", "kdor-hc": "dor or nue", "kdor-ghc": "dor or nue", "auto": "updn, ftree or minhop, as the topology is", "chain": "the engines of the chain",
}

// forkKey describes the meaning of a key of NVIDIA's manager, "" if the key is unknown.
func forkKey(name string) string {
	if meaning := forkKeys[name]; meaning != "" {
		return meaning
	}
	for _, s := range forkStems {
		if strings.HasPrefix(name, s.stem) {
			return "it configures " + s.about + " and has no effect here"
		}
	}
	return ""
}

// forkValue describes a value that only NVIDIA's manager understands, "" for others.
func forkValue(name, value string) string {
	if name == "ar_mode" && isDigits(value) {
		return "numbers are values of NVIDIA's manager and ignored here; expected keep, hold or disable; using keep"
	}
	return ""
}
