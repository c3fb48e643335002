package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"ibsm/conf"
)

// calledOpenSM reports whether the program was started under OpenSM's name. Then it
// prints on standard output what OpenSM prints.
func calledOpenSM(program string) bool { return filepath.Base(program) == "opensm" }

var bannerRule = strings.Repeat("-", 49)

// bannerHead is the beginning of a banner, and all that --version prints. named is the
// configuration file that the options name, read the one that was read; "" for none.
func bannerHead(w io.Writer, named, read string) {
	fmt.Fprintf(w, "%s\n%s\n", bannerRule, conf.OpenSM)
	if named != "" {
		fmt.Fprintf(w, "Config file is `%s`:\n", named)
	}
	if read != "" {
		fmt.Fprintf(w, " Reading Cached Option File: %s\n", read)
	}
	fmt.Fprintln(w, "Command Line Arguments:")
}

// banner is what OpenSM prints before it begins: the options, each in words of its own.
func banner(w io.Writer, l *conf.Loaded) {
	named := ""
	for _, g := range l.Given {
		if g.Long == "config" {
			named = g.Value
		}
	}
	bannerHead(w, named, l.ConfigFile)
	for _, g := range l.Given {
		if text := echo(l, g); text != "" {
			fmt.Fprintln(w, text)
		}
	}
	fmt.Fprintf(w, " Log File: %s\n%s\n", conf.LogFile.In(l.Config), bannerRule)
}

// echo is the line about an option, "" for one that OpenSM does not print.
func echo(l *conf.Loaded, g conf.Given) string {
	format := echoes[g.Long]
	switch {
	case g.Long == "debug":
		return echoDebug(g.Value)
	case g.Long == "verbose":
		return fmt.Sprintf(format, conf.LogFlags.In(l.Config))
	case !strings.Contains(format, "%"):
		return format
	case strings.Contains(format, "%s"):
		return fmt.Sprintf(format, g.Value)
	}
	return fmt.Sprintf(format, l.Setting(conf.Find(g.Key)).Value.Num)
}

// echoes are the lines by the long names of options. A number is the one in force.
var echoes = map[string]string{
	"guid":                      " Guid <0x%x>",
	"lmc":                       " LMC = %d",
	"priority":                  " Priority = %d",
	"subnet_prefix":             " Subnet_Prefix = <0x%x>",
	"smkey":                     " SM Key <0x%x>",
	"reassign_lids":             " Reassign LIDs",
	"routing_engine":            " Activate '%s' routing engine(s)",
	"lash_start_vl":             " LASH starting VL = %d",
	"sm_sl":                     " SMSL = %d",
	"nue_max_num_vls":           " Nue maximum #VLs = %d",
	"connect_roots":             " Connect roots option is on",
	"ucast_cache":               " Unicast routing cache option is on",
	"lid_matrix_file":           " Lid matrix dump file is '%s'",
	"lfts_file":                 " LFTs file is '%s'",
	"sadb_file":                 " SA DB file is '%s'",
	"root_guid_file":            " Root Guid File: %s",
	"cn_guid_file":              " Compute Node Guid File: %s",
	"io_guid_file":              " I/O Node Guid File: %s",
	"port-shifting":             " Port Shifting is on",
	"scatter-ports":             " Scatter Ports is on",
	"max_reverse_hops":          " Max Reverse Hops: %d",
	"ids_guid_file":             " IDs Guid File: %s",
	"guid_routing_order_file":   " GUID Routing Order File: %s",
	"torus_config":              "Torus-2QoS config file = %s",
	"once":                      " Run Once",
	"sweep":                     " sweep interval = %d",
	"timeout":                   " Transaction timeout = %d",
	"retries":                   " Transaction retries = %d",
	"maxsmps":                   " Max wire smp's = %d",
	"ignore_guids":              " Ignore Guids File = %s",
	"hop_weights_file":          " Hop Weights File = %s",
	"port_search_ordering_file": " Port Search Ordering/Dimension Ports File = %s",
	"dimn_ports_file":           " Port Search Ordering/Dimension Ports File = %s",
	"honor_guid2lid":            " Honor guid2lid file, if possible",
	"log_limit":                 " Log file max size is %d MBytes",
	"erase_log_file":            " Creating new log file",
	"qos_policy_file":           " QoS policy file '%s'",
	"cc_key":                    " CC Key 0x%x",
	"stay_on_fatal":             " Staying on fatal initialization errors",
	"daemon":                    " Daemon mode",
	"inactive":                  " SM started in inactive state",
	"log_prefix":                "Log prefix = %s",
	"verbose":                   " Verbose option -v (log flags = 0x%x)",
	"V":                         " Big V selected",
	"D":                         " verbose option -D = 0x%x",
	"create-config":             " Creating config file template '%s'.",
}

// echoDebug is what -d says. A number that OpenSM does not know gives a warning.
func echoDebug(number string) string {
	modes := map[string]string{"0": "Ignore Other SMs", "1": "Forcing Single Thread", "2": "Force Log Flush",
		"3": "Disable multicast support"}
	text := " d level = " + "0x" + strings.TrimPrefix(number, "0x")
	if mode := modes[strings.TrimPrefix(number, "0x")]; mode != "" {
		text += "\n Debug mode: " + mode
	}
	return text
}
