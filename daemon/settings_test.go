package daemon

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ibsm/conf"
	"ibsm/congestioncontrol"
	"ibsm/mad"
	"ibsm/mad/cc"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/manager"
	"ibsm/perf"
	"ibsm/registry"
	"ibsm/routing/lanes"
	"ibsm/sa"
	"ibsm/sweep"
	"ibsm/sweep/elect"
	"ibsm/sweep/plan"
	"ibsm/sweep/routes"
	"ibsm/sweep/vports"
	"ibsm/view"
)

// load loads a configuration from a file of this content and further options.
func load(src string, args ...string) *conf.Loaded {
	return conf.Load(append([]string{"-F", "f.conf"}, args...), conf.Environment{
		Getenv: func(string) string { return "" },
		ReadFile: func(name string) ([]byte, error) {
			if name != "f.conf" {
				return nil, fs.ErrNotExist
			}
			return []byte(src), nil
		},
	})
}

// everything sets all settings of the manager, each to another value.
const everything = `
guid 0x1001
subnet_prefix 0xfec0000000000002
lmc 3
lmc_esp0 TRUE
subnet_timeout 14
packet_life_time 15
max_op_vls 4
head_of_queue_lifetime 0x11
leaf_head_of_queue_lifetime 0x12
vl_stall_count 0x01
leaf_vl_stall_count 0x02
local_phy_errors_threshold 0x05
overrun_errors_threshold 0x06
m_key 0x1002
m_key_lease_period 60
m_key_protection_level 1
m_key_lookup FALSE
force_link_width 3
force_link_speed 5
force_link_speed_ext 30
fdr10 2
sm_sl 9
reassign_lids TRUE
no_clients_rereg TRUE
babbling_port_policy TRUE
ar_mode disable
sm_priority 10
sm_key 0x1003
ignore_other_sm TRUE
sm_inactive TRUE
master_sm_priority 14
allowed_sm_guids 0x21,0x22
sminfo_polling_timeout 11
polling_retry_number 12
transaction_timeout 13
transaction_retries 7
max_wire_smps 16
sweep_interval 17
force_heavy_sweep TRUE
sweep_on_trap FALSE
sa_key 0x1004
sm_assigned_guid 0x14
mcgroup_join_validation FALSE
ipoib_mcgroup_creation_validation FALSE
consolidate_ipv6_snm_req TRUE
max_rate_enum 20
perfmgr TRUE
perfmgr_redir FALSE
perfmgr_sweep_time_s 60
perfmgr_max_outstanding_queries 30
perfmgr_ignore_cas TRUE
perfmgr_rm_nodes FALSE
perfmgr_query_cpi FALSE
`

func TestManagerConfig(t *testing.T) {
	for _, c := range []struct {
		name, src, args string
		want            manager.Config
	}{
		{"everything", everything, "", manager.Config{
			Sweep: sweep.Config{IgnoreOtherSM: true, Settings: sweep.Settings{
				SubnetPrefix: sweep.Given(mad.Prefix(0xfec0000000000002)), LMC: sweep.Given[uint8](3),
				LMCPort0:      sweep.Given(true),
				SubnetTimeOut: sweep.Given[uint8](14), PacketLifeTime: sweep.Given[uint8](15),
				MaxOpVLs: sweep.Given[uint8](4),
				HOQLife:  sweep.Given[uint8](0x11), LeafHOQLife: sweep.Given[uint8](0x12),
				VLStallCount: sweep.Given[uint8](1), LeafVLStall: sweep.Given[uint8](2),
				PhyErrors: sweep.Given[uint8](5), Overruns: sweep.Given[uint8](6),
				MKey: sweep.Given(mad.MKey(0x1002)), MKeyLease: sweep.Given[uint16](60),
				MKeyProtect:  sweep.Given[uint8](1),
				NoMKeyLookup: true, SMSL: 9, LinkWidth: 3, LinkSpeed: 5, LinkSpeedExt: 30, FDR10: plan.DisableFDR10,
				ReassignLIDs: true, NoReregister: true, DisableBabblers: true, AR: routes.DisableAR,
				Lanes: standardLanes, VPorts: vports.Settings{MaxPorts: 64},
			}, AllowedSMs: []mad.GUID{0x21, 0x22}},
			Elect: elect.Config{Priority: 10, MasterPriority: 14, SMKey: 0x1003, Allowed: []mad.GUID{0x21, 0x22},
				IgnoreOthers: true, Inactive: true, PollInterval: 11 * time.Millisecond, PollRetries: 12},
			Txn:  txn.Config{Timeout: 13 * time.Millisecond, Retries: 7, MaxWindow: 16, Chosen: true},
			GUID: 0x1001, SweepInterval: 17 * time.Second, ForceHeavy: true, IgnoreTraps: true, SAKey: 0x1004,
			MaxRate: 20, VPorts: view.VPorts{Ignored: true, HopLimit: 2},
			Counters: perf.Settings{Interval: time.Minute, Window: 30, Keep: time.Hour, Memory: imagesMemory,
				SwitchesOnly: true, KeepAbsent: true},
			Queries:    txn.Config{Timeout: 13 * time.Millisecond, Retries: 7},
			Congestion: congestioncontrol.Settings{Window: 500},
			Registrar: sa.RegistrarConfig{
				Groups: sa.DefaultGroups(), MLIDs: registry.MLIDPolicy{ShareSolicitedNode: true},
				AnyJoin: true, AnyIPoIB: true, AssignedGUID: 0x14,
				Reports: txn.Config{Timeout: 13 * time.Millisecond, Retries: 7},
			},
		}},
		{"nothing", "", "", defaults(func(*manager.Config) {})},
		{"rates up to 200 Gb/s", "max_rate_enum 17\n", "", defaults(func(c *manager.Config) { c.MaxRate = 17 })},
		{"old rates, and fewer", "max_rate_enum 17\nuse_original_extended_sa_rates_only TRUE\n", "",
			defaults(func(c *manager.Config) {
				c.MaxRate = 17
			})},
		{"no multicast", "disable_multicast TRUE\n", "", defaults(func(c *manager.Config) { c.NoMulticast = true })},
		{"no multicast, by number", "", "-d 3", defaults(func(c *manager.Config) { c.NoMulticast = true })},
		{"virtual functions",
			"virt_enabled 2\nvirt_max_ports_in_process 0\nvirt_default_hop_limit 3\nenable_virt_rec_ext TRUE\nvirt_modifier_layout mixed\n",
			"", defaults(func(c *manager.Config) {
				c.Sweep.Settings.VPorts = vports.Settings{Mode: vports.Enable, Layout: smp.VPortIndexMixed}
				c.VPorts = view.VPorts{HopLimit: 3, Records: true}
			})},
		{"subscriptions are dropped", "drop_event_subscriptions TRUE\n", "", defaults(func(c *manager.Config) {
			c.Registrar.DropSubscriptions = true
		})},
		{"old rates", "use_original_extended_sa_rates_only TRUE\n", "", defaults(func(c *manager.Config) {
			c.MaxRate = 18
		})},
		{"lanes", "qos TRUE\n", "", defaults(func(c *manager.Config) { c.Sweep.Settings.QoS = true })},
		{"lanes of kinds of port",
			"qos_high_limit 9\nqos_sw0_high_limit 0\nqos_vlarb_low 3:255\nqos_ca_vlarb_low 0:1,14:2\nqos_rtr_sl2vl 1,15\n", "", defaults(func(c *manager.Config) {
				for kind := range c.Sweep.Settings.Lanes {
					u := &c.Sweep.Settings.Lanes[kind]
					u.HighLimit, u.Low = 9, [64]lanes.Turn{{VL: 3, Weight: 255}}
				}
				of := &c.Sweep.Settings.Lanes
				of[lanes.Port0].HighLimit = 0
				of[lanes.Adapter].Low = [64]lanes.Turn{{VL: 0, Weight: 1}, {VL: 14, Weight: 2}}
				of[lanes.Router].SLtoVL = [16]uint8{1, 15}
			})},
		{"lanes of links between switches",
			"qos_swe_high_limit 9\nqos_sw2sw_high_limit 8\nqos_sw2sw_sl2vl 1,15\nmax_op_vls_ca 2\nmax_op_vls_sw 3\nmax_op_vls_rtr 1\n", "", defaults(func(c *manager.Config) {
				of := &c.Sweep.Settings.Lanes
				of[lanes.External].HighLimit, of[lanes.SwitchLink].HighLimit = 9, 8
				of[lanes.SwitchLink].SLtoVL = [16]uint8{1, 15}
				c.Sweep.Settings.KindVLs = plan.KindVLs{CA: 2, Switch: 3, Router: 1}
			})},
		{"OpenSM's defaults, written down", "lmc 0\nmax_op_vls 5\nmax_wire_smps 4\nsminfo_polling_timeout 10000\n", "",
			defaults(func(*manager.Config) {})},
		{"no wildcards of SLtoVL, by hand", "use_optimized_slvl FALSE\n", "", defaults(func(c *manager.Config) {
			c.Sweep.Settings.SLtoVLSingly = true
		})},
		{"wildcards of SLtoVL", "use_optimized_slvl TRUE\n", "", defaults(func(*manager.Config) {})},
		{"defaults that are chosen", "lmc 0\nuse_optimized_slvl FALSE\nimpose lmc,use_optimized_slvl\n",
			"-n 4 --subnet_prefix fe80000000000000", defaults(func(c *manager.Config) {
				c.Sweep.Settings.LMC, c.Sweep.Settings.SLtoVLSingly = sweep.Given[uint8](0), true
				c.Sweep.Settings.SubnetPrefix = sweep.Given(mad.DefaultPrefix)
				c.Txn.MaxWindow, c.Txn.Chosen = 4, true
			})},
		{"none and no bound", "polling_retry_number 0\ntransaction_retries 0\nsweep_interval 0\nmax_wire_smps 0\n",
			"-o", defaults(func(c *manager.Config) {
				c.Elect.PollRetries, c.Txn.Retries, c.Registrar.Reports.Retries, c.SweepInterval, c.Once = -1, -1, -1,
					0,
					true
				c.Queries.Retries = -1
				c.Txn.MaxWindow, c.Txn.Chosen = 128, true // as many as Linux keeps with the adapter
			})},
		{"counters", "perfmgr_max_outstanding_queries 5000\n", "--perfmgr --perfmgr_sweep_time_s 7",
			defaults(func(c *manager.Config) {
				c.Counters.Interval, c.Counters.Window = 7*time.Second, conf.MostQueries
			})},
		{"congestion control", congestionConf, "", defaults(func(c *manager.Config) {
			s := &c.Congestion
			s.Enabled, s.Key, s.Window = true, 0x77, 1
			s.Switch.SetControlMap(0x1f)
			s.Switch.SetVictimMask(cc.PortMask{30: 1, 31: 0x82})
			s.Switch.SetCreditMask(cc.PortMask{0: 0x80})
			s.Switch.SetThreshold(1)
			s.Switch.SetPacketSize(2)
			s.Switch.SetCSThreshold(3)
			s.Switch.SetCSReturnDelay(cc.EntryOf(1, 4))
			s.Switch.SetMarkingRate(513)
			s.Adapter.SetPortControl(1)
			s.Adapter.SetControlMap(0x302)
			s.Adapter.SL(0).SetCCTITimer(150)
			s.Adapter.SL(1).SetCCTIIncrease(5)
			s.Adapter.SL(2).SetTriggerThreshold(6)
			s.Adapter.SL(15).SetCCTIMin(7)
			s.Table = []cc.Entry{0, cc.EntryOf(3, 16383)}
		})},
		{"congestion control in a dry run", "congestion_control TRUE\ncc_max_outstanding_mads 9999\n", "--dry-run",
			defaults(func(c *manager.Config) {
				c.DryRun, c.Congestion.Window = true, conf.MostQueries
			})},
		{"counters in a run of one sweep", "", "--perfmgr -o", defaults(func(c *manager.Config) { c.Once = true })},
		{"a dry run", "", "--dry-run", defaults(func(c *manager.Config) { c.DryRun = true })},
	} {
		l := load(c.src, strings.Fields(c.args)...)
		if err := l.Report.Err(conf.Start); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		got := managerConfig(l)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

// congestionConf sets all settings of congestion control.
const congestionConf = `
congestion_control TRUE
cc_key 0x77
cc_max_outstanding_mads 1
cc_sw_cong_setting_control_map 0x1f
cc_sw_cong_setting_victim_mask 0x182
cc_sw_cong_setting_credit_mask 0x8000000000000000000000000000000000000000000000000000000000000000
cc_sw_cong_setting_threshold 1
cc_sw_cong_setting_packet_size 2
cc_sw_cong_setting_credit_starvation_threshold 3
cc_sw_cong_setting_credit_starvation_return_delay 1:4
cc_sw_cong_setting_marking_rate 513
cc_ca_cong_setting_port_control 1
cc_ca_cong_setting_control_map 0x302
cc_ca_cong_setting_ccti_timer 0 150
cc_ca_cong_setting_ccti_increase 1 5
cc_ca_cong_setting_trigger_threshold 2 6
cc_ca_cong_setting_ccti_min 15 7
cc_cct 0:0,3:16383
`

// standardLanes are the uses of lanes without settings.
var standardLanes = lanes.NewUses(lanes.Settings{}, [lanes.Kinds]lanes.Settings{})

// defaults are OpenSM's, but for what a test changes.
func defaults(change func(*manager.Config)) manager.Config {
	c := manager.Config{
		Sweep:  sweep.Config{Settings: sweep.Settings{Lanes: standardLanes, VPorts: vports.Settings{MaxPorts: 64}}},
		VPorts: view.VPorts{Ignored: true, HopLimit: 2},
		Elect:  elect.Config{SMKey: 1},
		Txn:    txn.Config{Timeout: 200 * time.Millisecond, Retries: 3},
		SAKey:  1, SweepInterval: 10 * time.Second,
		Counters:   perf.Settings{Window: 500, QueryInfo: true, Redirect: true, Keep: time.Hour, Memory: imagesMemory},
		Queries:    txn.Config{Timeout: 200 * time.Millisecond, Retries: 3},
		Congestion: congestioncontrol.Settings{Window: 500},
		Registrar: sa.RegistrarConfig{Groups: sa.DefaultGroups(),
			Reports: txn.Config{Timeout: 200 * time.Millisecond, Retries: 3}},
	}
	change(&c)
	return c
}

// TestMutatedStart mutates a file that sets everything, and a command line. A manager
// that would start gets either the value that is written there or the default: a wrong number
// anywhere is no other number, unless a finding says which one is used instead.
func TestMutatedStart(t *testing.T) {
	rounds := 500
	if os.Getenv("IBSM_PROOF") == "1" {
		rounds = 10_000
	}
	random := rand.New(rand.NewPCG(1, 2))
	base := strings.Replace(everything, "m_key_lease_period 60\n", "", 1) // which other numbers depend on
	good := managerConfig(load(base))
	standard := managerConfig(load(""))
	// a default that matters only with perfmgr
	sweepTime := fmt.Sprint(" ", int(conf.PerfMgrSweepTime.In(load("").Config)/time.Second))
	started, refused := 0, 0
	for range rounds {
		src, args := mutated(random, base), strings.Split(mutated(random, "-p\n10\n-s\n17\n-k\n1003\n-o"), "\n")
		l := load(src, args...)
		if l.Report.Err(conf.Start) != nil || l.Help || l.Version || l.ConfigFile != "f.conf" {
			refused++
			continue
		}
		started++
		got := managerConfig(l)
		compareLeaves(t, reflect.ValueOf(got), reflect.ValueOf(good), reflect.ValueOf(standard),
			src+strings.Join(args, " ")+instead(l.Report)+sweepTime)
		if t.Failed() {
			t.Fatalf("%q\n%s\n%v", args, src, l.Report)
		}
	}
	if started < rounds/10 || refused < rounds/10 {
		t.Errorf("%d would start, %d are refused", started, refused)
	}
}

// usedInstead is the end of a finding about a number that is not used as it is written.
var usedInstead = regexp.MustCompile(`; using (\d+)$`)

// instead are the numbers that findings name as used in place of written ones.
func instead(report conf.Report) string {
	var b strings.Builder
	for _, f := range report {
		if m := usedInstead.FindStringSubmatch(f.Text); m != nil {
			b.WriteString(" " + m[1])
		}
	}
	return b.String()
}

// mutated changes a byte or two.
func mutated(random *rand.Rand, src string) string {
	b := []byte(src)
	for range random.IntN(3) {
		at, c := random.IntN(len(b)), "\"'#=\n\t -_x0189TFRUEabz\x00\xff"[random.IntN(24)]
		switch random.IntN(3) {
		case 0:
			b[at] = c
		case 1:
			b = append(b[:at], append([]byte{c}, b[at:]...)...)
		default:
			b = append(b[:at], b[at+1:]...)
		}
	}
	return string(b)
}

// compareLeaves fails for a number that is neither that of the file before it was
// mutated, nor the default, nor stands in the text.
func compareLeaves(t *testing.T, got, good, standard reflect.Value, text string) {
	switch got.Kind() {
	case reflect.Struct:
		for i := range got.NumField() {
			compareLeaves(t, got.Field(i), good.Field(i), standard.Field(i), text)
		}
	case reflect.Func, reflect.Slice, reflect.Map, reflect.Pointer: // no setting
	default:
		if !got.Equal(good) && !got.Equal(standard) && !stands(got, text) {
			t.Errorf("%v is used, where %v was written before a byte or two changed", got, good)
		}
	}
}

// stands reports whether a number is written in a text, alone or behind an option's
// letter.
func stands(number reflect.Value, text string) bool {
	if d, is := number.Interface().(time.Duration); is &&
		strings.Contains(text, fmt.Sprintf("%d:%02d", int(d.Hours()), int(d.Minutes())%60)) {
		return true // the time of day
	}
	var value int64
	switch {
	case number.CanUint():
		value = int64(number.Uint())
	case number.CanInt():
		value = number.Int()
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\"'-=#", r) }) {
		for at := range min(len(word), 3) {
			for _, base := range []int{0, 16} {
				n, err := strconv.ParseUint(word[at:], base, 64)
				if err != nil {
					continue
				}
				for _, unit := range []int64{1, int64(time.Millisecond), int64(time.Second)} {
					if value == int64(n)*unit {
						return true
					}
				}
			}
		}
	}
	return false
}
