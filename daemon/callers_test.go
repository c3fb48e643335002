package daemon

import (
	"testing"

	"ibsm/mad"
	"ibsm/partitions"
)

// TestCallerRules: orders follow the configuration in force, and P_Keys that the file had are not given at once.
func TestCallerRules(t *testing.T) {
	o := newFixture(t, "partition_pkeys 0x300-0x3ff\npartitions_mirror required\n", "red=0x300 : ALL;\nblue=0x301 : ALL;\n")
	r := o.callerRules()
	if !r.Mirrored || r.Range != [2]mad.PKey{0x300, 0x3ff} || r.NoHosts || r.File.Find(0x301) == nil ||
		len(r.Recent) != 0 {
		t.Errorf("rules %+v", r)
	}
	if got := o.sent.Registrar.Callers.File; got != r.File {
		t.Error("the SA has other partitions than orders")
	}
	o.write("opensm.conf", "partition_pkeys 0x300-0x3ff\npartitions_mirror preferred\n")
	o.write("partitions.conf", "red=0x300 : ALL;\n")
	o.Reload()
	r = o.callerRules()
	if _, recent := r.Recent[0x301]; r.Mirrored || r.File.Find(0x301) != nil || !recent || len(r.Recent) != 1 {
		t.Errorf("after a reload: rules %+v", r)
	}
	o.write("partitions.conf", "red=0x300 : ALL;\nwrong\n")
	o.Reload()
	if r = o.callerRules(); r.File == nil || r.File.Find(0x300) == nil {
		t.Error("a broken file: the earlier one is not in force")
	}
	secret, _ := secretFile(t)
	tenants := newFixture(t, secret+"security tenants\n", "red=0x300 : ALL;\n")
	if r := tenants.callerRules(); !r.NoHosts {
		t.Error("with security tenants hosts choose their partitions")
	}
}

// TestInheritTenantsPartitions: a standby follows a master with security tenants and no partition file.
func TestInheritTenantsPartitions(t *testing.T) {
	from, err := newMasterPolicy((&policyText{of: 9, source: partitions.FromSetting}).encode())
	if err != nil {
		t.Fatal(err)
	}
	if p := from.chosen.ForTables(); p == nil || from.chosen.Source != partitions.FromSetting || !p.Confines() {
		t.Errorf("it has %+v", from.chosen)
	}
}
