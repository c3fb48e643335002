package log

import (
	"fmt"
	"log/slog"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"ibsm/conf/diag"
)

// parts are the parts of this program, by their source files, that do what a module of
// OpenSM does and log it. OpenSM names modules by its own source files.
var parts = map[string]string{
	"main.c":                   "daemon/daemon.go daemon/receiver.go daemon/logging.go",
	"osm_congestion_control.c": "daemon/congestion.go",
	"osm_console.c":            "daemon/console.go daemon/console_server.go",
	"osm_console_io.c":         "daemon/console.go daemon/console_server.go",
	"osm_db_files.c":           "daemon/state.go daemon/state_caches.go cache/keeper.go",
	"osm_drop_mgr.c":           "manager/port_changes.go",
	"osm_dump.c":               "dump/keeper.go",
	"osm_inform.c":             "manager/traps.go manager/traps_log.go manager/port_changes.go",
	"osm_lid_mgr.c":            "manager/report.go manager/findings.go",
	"osm_link_mgr.c":           "manager/findings.go",
	"osm_mcast_mgr.c":          "manager/findings.go",
	"osm_multicast.c":          "manager/findings.go",
	"osm_node_info_rcv.c":      "manager/findings.go",
	"osm_opensm.c":             "daemon/daemon.go daemon/environment.go",
	"osm_perfmgr.c":            "daemon/counters.go daemon/counters_console.go",
	"osm_pkey_mgr.c":           "manager/findings.go",
	"osm_port_info_rcv.c":      "manager/findings.go",
	"osm_prtn.c":               "daemon/partitions.go",
	"osm_prtn_config.c":        "daemon/partitions.go",
	"osm_remote_sm.c":          "manager/election.go manager/decisions.go manager/handover.go manager/mirror.go",
	"osm_sa_mcmember_record.c": "manager/findings.go manager/sa_log.go",
	"osm_sa_path_record.c":     "manager/sa_log.go",
	"osm_sm.c":                 "manager/sweeps.go manager/other_sms.go manager/scheduler.go manager/ownport.go manager/core.go manager/run.go",
	"osm_sm_mad_ctrl.c":        "manager/findings.go manager/election.go",
	"osm_sm_state_mgr.c":       "manager/election.go manager/decisions.go manager/core.go manager/run.go",
	"osm_sminfo_rcv.c":         "manager/election.go manager/decisions.go",
	"osm_state_mgr.c":          "manager/sweeps.go manager/other_sms.go manager/scheduler.go manager/ownport.go manager/core.go manager/run.go manager/findings.go manager/port_changes.go",
	"osm_subnet.c":             "daemon/configuration.go daemon/configuration_reload.go daemon/inherited.go daemon/environment.go",
	"osm_sw_info_rcv.c":        "manager/findings.go",
	"osm_trap_rcv.c":           "manager/traps.go manager/traps_log.go",
	"osm_ucast_mgr.c":          "manager/report.go manager/engines.go manager/findings.go",
	"osm_vendor_ibumad.c":      "manager/findings.go manager/ownport.go",
}

// Modules are the log flags of parts of the program, in place of those of the whole. The
// zero value has none; others are for any number of goroutines.
type Modules struct {
	flags map[string]Flags // by source file
	all   Flags            // of all of them together
	cache sync.Map         // uintptr to the flags of the line of code there; nothing for those of the log
}

// maxModuleErrors is how many lines may be wrong before the rest is left.
const maxModuleErrors = 11

// ParseModules reads OpenSM's file of log flags for modules, lines such as
//
//	osm_trap_rcv.c=0x07   # module and flags between blanks, = or ,
//
// where a part is named twice, the flags are taken together. Lines that are wrong are
// passed over and returned.
func ParseModules(file string, text []byte) (*Modules, diag.List) {
	m, wrong := &Modules{flags: map[string]Flags{}}, diag.List{}
	line := 0
	for l := range strings.Lines(string(text)) {
		if line++; len(wrong) == maxModuleErrors {
			break
		}
		if err := m.take(l); err != nil {
			wrong = append(wrong, diag.Error{Position: diag.Position{File: file, Line: line}, Text: err.Error()})
		}
	}
	return m, wrong
}

// take takes one line of the file.
func (m *Modules) take(line string) error {
	line, _, _ = strings.Cut(line, "#")
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t=,\r\n", r) })
	if len(words) == 0 {
		return nil
	}
	files, known := parts[words[0]]
	switch {
	case !known:
		return fmt.Errorf("insert_per_module_debug: Module name %q not found: this manager has no such part", words[0])
	case len(words) == 1:
		return fmt.Errorf("missing log level of %s", words[0])
	}
	flags, err := strconv.ParseUint(words[1], 0, 8)
	if err != nil {
		return fmt.Errorf("log level %q of %s: expected a number up to 0xff", words[1], words[0])
	}
	for _, f := range strings.Fields(files) {
		m.flags[f] |= Flags(flags)
		m.all |= Flags(flags)
	}
	if len(words) > 2 {
		return fmt.Errorf("extra tokens ignored: %q", words[2:])
	}
	return nil
}

// lets reports whether a line is written that comes from a place in the code, where flags
// are those of the whole log.
func (m *Modules) lets(pc uintptr, level slog.Level, flags Flags) bool {
	if own, known := m.at(pc); known {
		flags = own | Sys
	}
	return flags&flag(level) != 0
}

// at are the flags of the part that has a place in the code.
func (m *Modules) at(pc uintptr) (own Flags, known bool) {
	type result struct {
		flags Flags
		known bool
	}
	if r, ok := m.cache.Load(pc); ok {
		return r.(result).flags, r.(result).known
	}
	own, known = m.flags[source(pc)]
	m.cache.Store(pc, result{own, known})
	return own, known
}

// source is the source file of a place in the code, with its package: "manager/traps.go manager/traps_log.go".
func source(pc uintptr) string {
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	pkg, _, _ := strings.Cut(path.Base(frame.Function), ".")
	return pkg + "/" + path.Base(frame.File)
}
