package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/topo/netwalk"
)

// TestTenantsPartitions: with security tenants and no partition file hosts are limited members of the default partition
// and the manager's port is a full one; a file takes precedence, and one that is named and missing is an error as ever.
func TestTenantsPartitions(t *testing.T) {
	secret, _ := secretFile(t)
	file := filepath.Join(t.TempDir(), "partitions.conf")
	read := func(text, path string) *partitions.Selected {
		l := load(text)
		if err := l.Report.Err(conf.Start); err != nil {
			t.Fatal(err)
		}
		if path != "" {
			l = load(text + "partition_config_file " + path + "\n")
		} else if _, err := os.Stat(conf.PartitionConfigFile.In(l.Config)); err == nil {
			t.Skip("this host has a partition file at the usual place")
		}
		chosen := partitions.Select(readPartitions(nil, l, 0x7, nil), nil, partitions.NoStart)
		return &chosen
	}
	open, tenants := read("", ""), read(secret+"security tenants\n", "")
	if open.Source != partitions.FromNothing {
		t.Errorf("open: %v", open.Source)
	}
	if tenants.Source != partitions.FromSetting || tenants.Text != nil ||
		len(tenants.Errors)+len(tenants.Warnings) > 0 {
		t.Errorf("tenants: %v, %v %v", tenants.Source, tenants.Errors, tenants.Warnings)
	}
	n := nettest.Generate(t, "fattree:k=4")
	sub, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	self := sub.EndPort(sub.Self)
	l := load(secret + "security tenants\n")
	chosen := partitions.Select(readPartitions(nil, l, sub.Ports[self].GUID, nil), nil, partitions.NoStart)
	tables := partitions.Compile(chosen.Policy, partitionSettings(l.Config), sub, nil)
	for _, p := range sub.EndPorts {
		want := mad.PKey(0x7fff)
		if p == self {
			want = 0xffff
		}
		if keys := tables.Want[p].Keys(); len(keys) != 1 || keys[0] != want {
			t.Errorf("port %v gets %v, want %v", sub.Ports[p].GUID, keys, want)
		}
	}
	if err := os.WriteFile(file, []byte("Default=0x7fff: ALL=full;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if own := read(secret+"security tenants\n", file); own.Source != partitions.FromFile ||
		string(own.Text) == tenantsPartitions {
		t.Errorf("a file of one's own: %v", own.Source)
	}
	if missing := read(secret+"security tenants\n", file+".none"); missing.Policy != nil || len(missing.Errors) != 1 {
		t.Errorf("a missing file that is named: %v", missing.Errors)
	}
}

// TestTenantsVPorts: with security tenants a second function with a GUID does not take it from the first.
func TestTenantsVPorts(t *testing.T) {
	secret, _ := secretFile(t)
	for text, want := range map[string]bool{"": false, secret + "security tenants\n": true, secret + "security open\n": false} {
		if got := vPorts(load(text).Config).FirstKeeps; got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
