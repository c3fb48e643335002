package log

import (
	"errors"
	"fmt"
	"strings"

	"ibsm/conf/diag"
	"ibsm/routing"
	"ibsm/routing/lash"
	"ibsm/routing/sssp"
	"ibsm/routing/torus"
	"ibsm/routing/updn"
)

// maxFaults bounds the lines about a damaged torus.
const maxFaults = 8

// EngineRefused says that a routing engine has not routed the subnet, for a reason that the engine
// gave.
func EngineRefused(engine string, reason error) (lines []string) {
	what := "lid matrices"
	var lanes *lash.TooFewLanes
	var start *lash.StartTooHigh
	var damage *torus.Unroutable
	var layers *sssp.TooFewLanes
	var other *routing.Refused
	switch {
	case errors.As(reason, &damage):
		for _, f := range damage.Faults[:min(len(damage.Faults), maxFaults)] {
			lines = append(lines, fmt.Sprintf("routable_torus: ERR %X: %s", f.Number, f.Text))
		}
	case errors.As(reason, &lanes):
		lines = append(lines,
			fmt.Sprintf(
				"lash_core: ERR 4D02: Lane requirements (%d) exceed available lanes (%d) with starting lane (%d)",
				lanes.Lanes+1, lanes.Lanes, lanes.Start))
	case errors.As(reason, &start):
		lines = append(lines,
			fmt.Sprintf("discover_network_properties: ERR 4D03: Start VL(%d) too high for min operational vl(%d)",
				start.Start, start.Lanes))
	case errors.As(reason, &layers):
		lines = append(lines,
			fmt.Sprintf(
				"dfsssp_remove_deadlocks: ERR AD25: Not enough VLs available (avail=%d, needed=%d); Stopping dfsssp routing!", layers.Lanes, layers.Lanes+1))
	case errors.Is(reason, sssp.ErrSplit):
		lines = append(lines,
			"dfsssp_build_graph: ERR AD0C: unsupported network state (detached and inaccessible switches found; gracefully shutdown this routing engine)")
	case errors.As(reason, &other):
		lines = append(lines, other.OpenSM)
	case errors.Is(reason, updn.ErrNoRoots):
		lines = append(lines, "updn_lid_matrices: disabling UPDN algorithm, no root nodes were found")
	}
	if engine == "lash" || engine == "torus-2QoS" || layers != nil {
		what = "fwd tables"
	}
	return append(lines, fmt.Sprintf("ucast_mgr_route: %s: cannot build %s", engine, what))
}

// EngineFindings say what a routing engine has found out about the subnet.
func EngineFindings(engine string, f *routing.Findings) (lines []string) {
	say := func(function, format string, args ...any) {
		lines = append(lines, function+": "+fmt.Sprintf(format, args...))
	}
	switch {
	case f == nil:
	case f.Tree != nil:
		sayTree(f.Tree, say)
	case f.Lanes != nil && engine == "lash":
		u := f.Lanes
		say("discover_network_properties", "min operational vl(%d) start vl(%d) max_switches(%d)", u.Available, u.Start,
			u.Switches)
		if f.Mesh != nil {
			sayMesh(f.Mesh, say)
		}
		layers := func(paths []uint64) {
			for layer, n := range paths {
				say("lash_core", "Lanes in layer %d: %d", layer, n)
			}
		}
		layers(u.Paths)
		say("lash_core", "Lanes needed: %d, Balancing", len(u.Paths))
		layers(u.Even)
	case f.Lanes != nil:
		const function = "dfsssp_remove_deadlocks"
		u := f.Lanes
		say(function, "Virtual Lanes available: %d", u.Available)
		say(function, "Virtual Lanes needed: %d", len(u.Paths))
		say(function, "Paths per VL (before balancing):")
		for lane := range u.Available {
			n := uint64(0)
			if lane < len(u.Paths) {
				n = u.Paths[lane]
			}
			say(function, "   %d. lane: %d", lane, n)
		}
		say(function, "Approx. #paths per VL (after balancing):")
		for lane, n := range u.Even {
			say(function, "   %d. lane: %d", lane, n)
		}
	}
	return lines
}

func sayMesh(m *routing.MeshShape, say func(function, format string, args ...any)) {
	const function = "osm_do_mesh_analysis"
	plural, most := "es", "most common "
	switch len(m.Classes) {
	case 0:
		say(function, "found no likely mesh nodes - done")
		return
	case 1:
		plural, most = "", ""
	}
	say(function, "found %d node class%s", len(m.Classes), plural)
	for i, c := range m.Classes {
		say(function, "class[%d] has %d members with type = %d", i, c.Switches, c.Shape)
	}
	seen := "unknown geometry"
	if m.Seen != nil {
		seen = strings.ReplaceAll(times(m.Seen), "6", "6+") + " mesh"
	}
	say(function, "%snode shape is %s", most, seen)
	say(function, "poly = %s", polynomial(m.Polynomial))
	if m.Size != nil {
		say(function, "found %s mesh", times(m.Size))
	}
}

func times[N int | int32](all []N) string {
	var text []string
	for _, n := range all {
		text = append(text, fmt.Sprint(n))
	}
	return strings.Join(text, " x ")
}

// polynomial is a polynomial as OpenSM writes it, from its coefficient of x^0 on.
func polynomial(p []int32) string {
	var text strings.Builder
	for i, c := range p {
		if c == 0 {
			continue
		}
		if c > 0 && text.Len() > 0 {
			text.WriteByte('+')
		}
		switch {
		case i > 0 && c == -1:
			text.WriteByte('-')
		case i == 0 || c != 1:
			fmt.Fprint(&text, c)
		}
		switch {
		case i > 1:
			fmt.Fprintf(&text, "x^%d", i)
		case i == 1:
			text.WriteByte('x')
		}
	}
	return text.String()
}

func sayTree(t *routing.TreeShape, say func(function, format string, args ...any)) {
	const function = "fabric_dump_general_info"
	switches := 0
	for _, n := range t.Switches {
		switches += n
	}
	say(function, "General fabric topology info")
	say(function, "============================")
	say(function, "  - FatTree rank (roots to leaf switches): %d", t.LeafRank+1)
	say(function, "  - FatTree max switch rank: %d", len(t.Switches)-1)
	say(function, "  - Fabric has %d CAs, %d CA ports (%d of them CNs), %d switches", t.Hosts, t.HostPorts, t.Computes,
		switches)
	for rank, n := range t.Switches {
		text := fmt.Sprintf("  - Fabric has %d switches at rank %d", n, rank)
		switch rank {
		case 0:
			text += " (roots)"
		case t.LeafRank:
			text += fmt.Sprintf(" (%d of them leafs)", t.Leaves)
		}
		say(function, "%s", text)
	}
}

// FileUnreadable is what OpenSM logs where an engine cannot use the file of a key, for the first error
// in the file: "" for nothing.
func FileUnreadable(engine, key string, e diag.Error) string {
	quoted := " '" + e.File + "'"
	switch key + " " + engine {
	case "root_guid_file updn":
		return "updn_lid_matrices: ERR AA02: cannot parse root guids file" + quoted
	case "root_guid_file ftree":
		return "fabric_load_roots: ERR AB2A: cannot parse root guids file" + quoted
	case "ids_guid_file updn":
		return "updn_lid_matrices: ERR AA03: cannot parse node ids file" + quoted
	case "cn_guid_file ftree":
		return "fabric_read_guid_files: ERR AB23: Problem parsing CN guid file"
	case "io_guid_file ftree":
		return "fabric_read_guid_files: ERR AB28: Problem parsing I/O guid file"
	case "cn_guid_file sssp", "cn_guid_file dfsssp":
		return "dfsssp_do_dijkstra_routing: ERR AD33: Problem parsing compute node guid file"
	case "io_guid_file sssp", "io_guid_file dfsssp":
		return "dfsssp_do_dijkstra_routing: ERR AD35: Problem parsing I/O guid file"
	}
	unopened := e.Line == 0
	switch key {
	case "guid_routing_order_file":
		return "ucast_mgr_build_lfts: ERR 3A0D: cannot parse guid routing order file" + quoted
	case "port_prof_ignore_file":
		return "ucast_mgr_build_lfts: ERR 3A0E: cannot parse port prof ignore file" + quoted
	case "port_search_ordering_file":
		return "ucast_mgr_setup_all_switches: ERR 3A0F: cannot parse port_search_ordering_file" + quoted
	case "hop_weights_file":
		return "osm_ucast_mgr_build_lid_matrices: ERR 3A05: cannot parse hop_weights_file" + quoted
	case "torus_config":
		if unopened {
			return "parse_config: ERR 4E11: Opening " + e.File
		}
		return fmt.Sprintf("parse_config: ERR 4E13: parsing%s: line %d", quoted, e.Line)
	case "lfts_file":
		if unopened {
			return "do_ucast_file_load: ERR 6302: Can't open ucast dump file" + quoted
		}
		return fmt.Sprintf("do_ucast_file_load: PARSE ERROR: %s:%d: %s", e.File, e.Line, e.Text)
	case "lid_matrix_dump_file":
		if unopened {
			return "do_lid_matrix_file_load: ERR 6305: Can't open lid matrix file" + quoted
		}
		return fmt.Sprintf("do_lid_matrix_file_load: PARSE ERROR: %s:%d: %s", e.File, e.Line, e.Text)
	}
	return ""
}

// TablesConfigured says that an engine has given all switches their tables.
func TablesConfigured(engine string) string {
	return "osm_ucast_mgr_process: " + engine + " tables configured on all switches"
}
