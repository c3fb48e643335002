package main_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"ibsm/mad"
	"ibsm/topo/net"
)

// fieldSetting is a setting of opensm.conf that decides about fields.
type fieldSetting struct {
	key, standard string // name, OpenSM's default
	value         func(r *rand.Rand) string
	reload        bool // a new value is in force after SIGHUP
}

var fieldSettings = []fieldSetting{
	{"subnet_timeout", "18", between(10, 20), true},
	{"packet_life_time", "0x12", between(10, 20), true},
	{"vl_stall_count", "0x07", between(1, 7), true},
	{"leaf_vl_stall_count", "0x07", between(1, 7), true},
	{"head_of_queue_lifetime", "0x12", between(10, 20), true},
	{"leaf_head_of_queue_lifetime", "0x10", between(10, 20), true},
	{"max_op_vls", "5", between(1, 5), true},
	{"force_link_speed", "15", among("0", "1", "3", "7"), true},
	{"force_link_speed_ext", "31", among("0", "1", "3", "7", "15", "30"), true},
	{"force_link_width", "255", among("0", "1", "3", "7", "19"), true},
	{"fdr10", "1", among("0", "2"), true},
	{"local_phy_errors_threshold", "0x08", between(0, 15), true},
	{"overrun_errors_threshold", "0x08", between(0, 15), true},
	{"m_key", "0x0000000000000000", among("0x1234", "0xffffffffffffffff"), true},
	{"m_key_lease_period", "0", between(60, 600), true},
	{"m_key_protection_level", "0", between(1, 3), true},
	{"lmc", "0", between(1, 3), false},
	{"lmc_esp0", "FALSE", among("TRUE"), false},
	{"subnet_prefix", "0xfe80000000000000", among("0xfe80000000000001"), false},
	{"sm_sl", "0", between(1, 15), true},
	{"part_enforce", "both", among("in", "out", "off"), true},
	{"no_clients_rereg", "FALSE", among("TRUE"), true},
	{"use_mfttop", "TRUE", among("FALSE"), true},
	{"qos", "FALSE", among("TRUE"), true},
}

func between(low, high int) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return fmt.Sprint(low + r.IntN(high-low+1)) }
}

func among(values ...string) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return values[r.IntN(len(values))] }
}

// settings are lines of opensm.conf by key.
type settings map[string]string

// randomSettings chooses some.
func randomSettings(r *rand.Rand) settings {
	s := settings{}
	for range r.IntN(6) {
		s.change(r, false)
	}
	return s
}

// change gives a setting another value, if need be one that needs no restart, and returns which.
func (s settings) change(r *rand.Rand, reload bool) (key string) {
	for {
		f := &fieldSettings[r.IntN(len(fieldSettings))]
		if v := f.value(r); (f.reload || !reload) && s[f.key] != v {
			s[f.key] = v
			return f.key
		}
	}
}

// chosen reports whether a setting has another value than OpenSM's default.
func (s settings) chosen(key string) bool {
	i := slices.IndexFunc(fieldSettings, func(f fieldSetting) bool { return f.key == key })
	v, given := s[key]
	return given && value(v) != value(fieldSettings[i].standard)
}

// forced are the settings of widths and speeds that are chosen.
func (s settings) forced() (keys []string) {
	for _, key := range []string{"force_link_width", "force_link_speed", "force_link_speed_ext"} {
		if s.chosen(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// value is a number in one form.
func value(text string) string {
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		return fmt.Sprint(n)
	}
	return text
}

func (s settings) String() string {
	var lines []string
	for key, v := range s {
		lines = append(lines, key+" "+v)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// limitedMembers makes all but the manager's host limited members of the default partition.
const limitedMembers = "ALL, SELF=full;"

// randomPartitions is a partition file, "" for none.
func randomPartitions(r *rand.Rand, n *net.Net) string {
	text := "Default=0x7fff, ipoib : ALL=full;\n"
	switch r.IntN(6) {
	case 0:
		return ""
	case 1:
		text = "Default=0x7fff, ipoib : " + limitedMembers + "\n"
	}
	for k := range r.IntN(4) {
		var members []string
		for i := range n.Nodes {
			if node := &n.Nodes[i]; node.Type != mad.Switch && r.IntN(3) == 0 {
				members = append(members, node.Ports[1].GUID.String()+among("", "=full")(r))
			}
		}
		if len(members) > 0 {
			text += fmt.Sprintf("P%d=0x%x%s : %s;\n", k, 0x8010+k, among("", ", ipoib", ", defmember=full")(r),
				strings.Join(members, ", "))
		}
	}
	return text
}
