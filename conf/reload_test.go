package conf

import (
	"slices"
	"strings"
	"testing"
)

func TestReload(t *testing.T) {
	for _, c := range []struct {
		name, args, before, after string
		changed                   string
		key, want                 string
		err                       bool
	}{
		{name: "a line changes", before: "sm_priority 3", after: "sm_priority 5", changed: "sm_priority",
			key: "sm_priority", want: "5"},
		{name: "an option stays while the line does", args: "-p 9", before: "sm_priority 3",
			after: "sm_priority 3\nlog_flags 7", changed: "log_flags", key: "sm_priority", want: "9"},
		{name: "and not longer", args: "-p 9", before: "sm_priority 3", after: "sm_priority 4", changed: "sm_priority",
			key: "sm_priority", want: "4"},
		{name: "some settings are for the start", before: "lmc 0", after: "lmc 2", key: "lmc", want: "0"},
		{name: "a line is gone", before: "sm_priority 3", after: "", key: "sm_priority", want: "3"},
		{name: "a line is gone that OpenSM keeps, too", before: "cc_cct 0:1,0:2", after: "", key: "cc_cct",
			want: "0:1,0:2"},
		{name: "a line for the start is gone", before: "lmc 2", after: "", key: "lmc", want: "2"},
		{name: "one of QoS", before: "qos_max_vls 4", after: "", changed: "qos_max_vls", key: "qos_max_vls", want: "0"},
		{name: "the policy is none of these", before: "qos_policy_file /a", after: "", key: "qos_policy_file",
			want: "/a"},
		{name: "an error anywhere", before: "sm_priority 3", after: "sm_priority 5\nsweep_interval x",
			key: "sm_priority", want: "3", err: true},
		{name: "a value out of range", before: "sm_priority 3", after: "sm_priority 16", key: "sm_priority", want: "3",
			err: true},
		{name: "a contradiction", before: "sm_priority 3",
			after: "sm_priority 5\nm_key_lease_period 2\nm_key_protection_level 1", key: "sm_priority", want: "3",
			err: true},
		{name: "an unknown key is no error", before: "", after: "nosuchkey 1\nsm_priority 5", changed: "sm_priority",
			key: "sm_priority", want: "5"},
		{name: "a default is chosen", before: "max_op_vls 5", after: "max_op_vls 5\nimpose max_op_vls",
			changed: "max_op_vls", key: "max_op_vls", want: "5"},
	} {
		l := Load(append([]string{"-F", "f"}, strings.Fields(c.args)...), nowhere(map[string]string{"f": c.before}))
		was := slices.Clone(l.settings)
		next, changed, report, err := l.Reload(ReadFile("f", []byte(c.after)))
		if (err != nil) != c.err {
			t.Errorf("%s: error %v", c.name, err)
		}
		if err != nil && next != l.Config {
			t.Errorf("%s: something changed though there are errors", c.name)
		}
		if got := Find(c.key).Format(next.Setting(Find(c.key)).Value); got != c.want ||
			strings.Join(changed, ",") != c.changed {
			t.Errorf("%s: %s is %s, changed %q; want %s and %q\n%v", c.name, c.key, got, changed, c.want, c.changed,
				report)
		}
		if !slices.Equal(was, l.settings) {
			t.Errorf("%s: the configuration before was changed", c.name)
		}
		for _, f := range report { // also those about lines that are gone
			if !strings.HasPrefix(f.Error.Error(), "f:") {
				t.Errorf("%s: %q does not begin with the file", c.name, f.Error)
			}
		}
	}
}

// TestReread: the file that was read, or where there was none the first that is there
// now. Nothing changes for one that is gone or, under strict, has anything odd in it.
func TestReread(t *testing.T) {
	for _, c := range []struct {
		name, args  string
		before, now map[string]string
		priority    uint64
		file        string
		err         bool
	}{
		{name: "none at all"},
		{name: "a new one", now: map[string]string{DefaultFiles[1]: "sm_priority 2"}, priority: 2,
			file: DefaultFiles[1]},
		{name: "the one that was read, not a better one", before: map[string]string{DefaultFiles[1]: "sm_priority 2"},
			now:      map[string]string{DefaultFiles[0]: "[election]\npriority = 3", DefaultFiles[1]: "sm_priority 4"},
			priority: 4, file: DefaultFiles[1]},
		{name: "gone", args: "-F f", before: map[string]string{"f": "sm_priority 2"}, priority: 2, file: "f",
			err: true},
		{name: "emptied", args: "-F f", before: map[string]string{"f": "sm_priority 2\n"},
			now: map[string]string{"f": "# nothing\n"}, priority: 2, file: "f", err: true},
		{name: "cut off", args: "-F f", before: map[string]string{"f": "sm_priority 12\n"},
			now: map[string]string{"f": "sm_priority 1"}, priority: 12, file: "f", err: true},
		{name: "never had an end", args: "-F f", before: map[string]string{"f": "sm_priority 12"},
			now: map[string]string{"f": "sm_priority 1"}, priority: 1, file: "f"},
		{name: "nothing before and after", args: "-F f", before: map[string]string{"f": "#\n"},
			now: map[string]string{"f": ""}, file: "f"},
		{name: "odd", args: "-F f", before: map[string]string{"f": ""},
			now: map[string]string{"f": "sm_priority 2\nnosuchkey 1"}, priority: 2, file: "f"},
		{name: "odd under strict", args: "-F f --strict", before: map[string]string{"f": ""},
			now: map[string]string{"f": "sm_priority 2\nnosuchkey 1"}, file: "f", err: true},
	} {
		l := Load(strings.Fields(c.args), nowhere(c.before))
		next, _, report, err := l.Reread(nowhere(c.now))
		if (err != nil) != c.err || uint64(SMPriority.In(next.Config)) != c.priority || next.ConfigFile != c.file {
			t.Errorf("%s: priority %d of %q, %v\n%v", c.name, SMPriority.In(next.Config), next.ConfigFile, err, report)
		}
	}
}

// TestReloadAtStart: a line about a setting that only a start takes is reported if it
// differs from what is in force, and changes nothing.
func TestReloadAtStart(t *testing.T) {
	lmc := Find("lmc")
	for _, c := range []struct {
		name, args, before, after string
		reported                  bool
	}{
		{name: "another value", before: "lmc 0", after: "lmc 2", reported: true},
		{name: "the value of the option", args: "-l 2", before: "lmc 0", after: "lmc 2"},
		{name: "not that of the option", args: "-l 2", before: "lmc 0", after: "lmc 3", reported: true},
		{name: "the default, chosen now", before: "lmc 0", after: "lmc 0\nimpose lmc", reported: true},
		{name: "a line is gone", before: "lmc 2", after: "", reported: true},
		{name: "the same line", before: "lmc 2", after: "lmc 2"},
	} {
		l := Load(append([]string{"-F", "f"}, strings.Fields(c.args)...), nowhere(map[string]string{"f": c.before}))
		next, changed, report, err := l.Reload(ReadFile("f", []byte(c.after)))
		if err != nil || len(changed) > 0 || next.Setting(lmc) != l.Setting(lmc) {
			t.Errorf("%s: changed %q to %v, %v", c.name, changed, next.Setting(lmc), err)
		}
		reported := slices.ContainsFunc(report, func(f Finding) bool {
			return f.Severity == Note && f.Key == "lmc" && strings.Contains(f.Text, "at the next start")
		})
		if reported != c.reported {
			t.Errorf("%s: reported %t, want %t\n%v", c.name, reported, c.reported, report)
		}
	}
}

// TestReloadOption: from when its line changes the file decides, even where it has the
// value of the option.
func TestReloadOption(t *testing.T) {
	l := Load([]string{"-F", "f", "-p", "9"}, nowhere(map[string]string{"f": "sm_priority 3"}))
	next, changed, report, err := l.Reload(ReadFile("f", []byte("sm_priority 9")))
	if s := next.Setting(Find("sm_priority")); err != nil || len(changed) > 0 || s.Value.Num != 9 ||
		s.Source != FromOpenSMConf {
		t.Errorf("%d of %v, changed %q, %v\n%v", s.Value.Num, s.Source, changed, err, report)
	}
}
