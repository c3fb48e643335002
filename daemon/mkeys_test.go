package daemon

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/conf"
	"ibsm/keys"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/partitions"
	"ibsm/sweep"
	"ibsm/topo/net/nettest"
	"ibsm/view"
	"ibsm/view/viewtest"
)

// TestMKeyNumber: what is kept is read again, and garbage is no number.
func TestMKeyNumber(t *testing.T) {
	n := mkeyNumber{7, 1764130000}
	if got := decodeMKeyNumber(n.encode()); got != n {
		t.Errorf("%+v is read as %+v", n, got)
	}
	if (mkeyNumber{}).encode() != nil {
		t.Error("no number is kept")
	}
	for _, text := range []string{"", "m_keys", "m_keys -1 since 3", "m_keys 99999999999 since 3", "m_keys 3 since",
		"\x00"} {
		if got := decodeMKeyNumber([]byte(text)); got != (mkeyNumber{}) {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
	if newer(n, mkeyNumber{8, 1}).number != 8 || newer(n, mkeyNumber{6, 1}) != n {
		t.Error("the higher number does not win")
	}
}

// TestMKeysInPolicy: a standby gets the number of its master's M_Keys; a policy without one is as before.
func TestMKeysInPolicy(t *testing.T) {
	for _, number := range []mkeyNumber{{}, {3, 5}} {
		p := &policyText{of: 7, shared: []byte("[subnet]\n"), qos: []byte("x"), mkeys: number,
			source: partitions.FromFile, file: []byte("Default=0x7fff: ALL;\n")}
		got, err := decodePolicy(p.encode())
		if err != nil || got.mkeys != number || string(got.file) != string(p.file) || string(got.qos) != "x" {
			t.Errorf("number %+v: %+v, %v", number, got, err)
		}
	}
}

// TestMirrorSecret: the mirror has the secret of keys_file, in what is sent to the manager and in what is shown of it.
// So has the election.
func TestMirrorSecret(t *testing.T) {
	file, secret := secretFile(t)
	c := newFixture(t, "", "Default=0x7fff: ALL=full;\n")
	for _, with := range []bool{true, false} {
		l := loadFile(t, "")
		want := keys.Secret{}
		if with {
			// so that nothing but the secret is secret
			l, want = loadFile(t, file+"m_key 0\nsm_key 1\nm_key_protection_level 0\nimpose m_key,sm_key\n"), secret
		}
		if m := c.mirroring(&inForce{own: l}, &manager.Config{}, l, nil); m.Secret != want || m.On() != with {
			t.Errorf("with a keys_file %t: mirrors %t, with the secret %t", with, m.On(), m.Secret == secret)
		}
		if e := election(l.Config); e.Secret != want {
			t.Errorf("with a keys_file %t: the election has the secret %t", with, e.Secret == secret)
		}
		if shown := keysShown(l, &sweep.Settings{}); shown.Mirrored != with {
			t.Errorf("with a keys_file %t: shown as mirrored: %t", with, shown.Mirrored)
		}
	}
}

// TestPortMKeysInForce: the number begins with 1 when m_key_per_port is set first, outlives the setting, and is the
// master's where that is higher.
func TestPortMKeysInForce(t *testing.T) {
	file, secret := secretFile(t)
	per, one, none := loadFile(t, file+"m_key_per_port TRUE\n"), loadFile(t, file), load("")
	explicit := loadFile(t, file+"m_key 0x1234567\n")
	if err := per.Report.Err(conf.Start); err != nil {
		t.Fatal(err)
	}
	of := func(number uint32, former uint64) keys.Ports {
		return secret.Ports(number).Beside(secret.MKey(), former)
	}
	c := newFixture(t, "", "Default=0x7fff: ALL=full;\n")
	next := &inForce{own: per}
	for _, step := range []struct {
		name   string
		l      *conf.Loaded
		before func()
		want   keys.Ports
	}{
		{"not set yet", one, func() {}, keys.Ports{}},
		{"set", per, func() {}, of(1, 0)},
		{"not set any more", one, func() {}, of(1, 0)},
		{"with another m_key", explicit, func() {}, secret.Ports(1).Beside(0x1234567, secret.MKey())},
		{"without it", one, func() {}, of(1, 0x1234567)},
		{"without a secret", none, func() {}, keys.Ports{}},
		{"of a master that has come further", per, func() {
			next.from = &masterPolicy{policyText: policyText{mkeys: mkeyNumber{4, 1}}}
		}, of(4, 0)},
		{"of one that has not", per, func() {
			next.from = &masterPolicy{policyText: policyText{mkeys: mkeyNumber{2, 1}}}
		}, of(4, 0)},
	} {
		if step.before(); c.mkeysInForce(next, step.l) != step.want {
			t.Errorf("%s: the number is %d, want %d", step.name, next.mkeys.number, step.want.Number())
		}
	}
	if got := decodeMKeyNumber(c.state.store.Load().Contents().Keys); got.number != 4 {
		t.Errorf("%+v is kept", got)
	}
	for _, bad := range []string{"m_key_per_port TRUE\n", "m_key_per_port TRUE\nm_key 0x1234567\n"} {
		if l := load(bad); l.Report.Err(conf.Start) == nil {
			t.Errorf("%q without a secret is taken", bad)
		}
	}
}

// loadFile is load of a file that names others.
func loadFile(t *testing.T, src string) *conf.Loaded {
	t.Helper()
	file := filepath.Join(t.TempDir(), "opensm.conf")
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	return conf.Load([]string{"-F", file}, Environment)
}

// secretFile is the line of keys_file, and its secret.
func secretFile(t *testing.T) (line string, secret keys.Secret) {
	t.Helper()
	secret, err := keys.New(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, secret.Text(), 0o600); err != nil {
		t.Fatal(err)
	}
	return "keys_file " + file + "\n", secret
}

// TestPortMKeysKeyless: the setting of a master, without its secret, is an error that is logged once.
func TestPortMKeysKeyless(t *testing.T) {
	c := newFixture(t, "", "Default=0x7fff: ALL=full;\n")
	next, l := &inForce{}, load("m_key_per_port TRUE\n")
	for range 3 {
		if c.mkeysInForce(next, l) != (keys.Ports{}) {
			t.Error("there are M_Keys")
		}
	}
	if n := strings.Count(c.log.String(), "m_key_per_port is TRUE but there is no secret"); n != 1 {
		t.Errorf("it is logged %d times", n)
	}
}

// TestRotateMKeys: only a master with m_key_per_port gives ports their next M_Keys; the manager and the standbys get
// the number, and it is kept. With periodic_key_update it does so by itself.
func TestRotateMKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, secret := secretFile(t)
		c := newFixture(t, file, "Default=0x7fff: ALL=full;\n")
		if _, err := c.RotateMKeys(); !errors.Is(err, errNoPortMKeys) {
			t.Errorf("without m_key_per_port: %v", err)
		}
		c.write("opensm.conf", file+"m_key_per_port TRUE\nperiodic_key_update 3600\n")
		c.Reload()
		if _, err := c.RotateMKeys(); !errors.Is(err, errNotMaster) {
			t.Errorf("of a standby: %v", err)
		}
		c.entered(smp.Master)
		must := func(what string, want uint32) {
			t.Helper()
			next := *c.current.Load() // managerConfig writes to it
			cfg := c.managerConfig(&next)
			p, err := decodePolicy(cfg.Registrar.Mirror.Policy)
			kept := decodeMKeyNumber(c.state.store.Load().Contents().Keys)
			if s := &cfg.Sweep.Settings; err != nil || s.PortMKeys.Number() != want || !s.MKeyPerPort ||
				p.mkeys.number != want || kept.number != want {
				t.Errorf("%s: the number is %d, of standbys %d, kept is %d; want %d", what, s.PortMKeys.Number(),
					p.mkeys.number, kept.number, want)
			}
		}
		must("at first", 1)
		rotates := func(what string, want error) {
			t.Helper()
			if _, err := c.RotateMKeys(); err == nil || want != nil && !errors.Is(err, want) {
				t.Errorf("%s: %v", what, err)
			}
		}
		rotates("before there is a subnet", errNoSubnet)
		v := viewtest.Of(t, nettest.Generate(t, "fattree:k=4"), 0)
		held := func(number uint32) {
			own, next, subnet := secret.Ports(number), *v, *v.Topo
			subnet.Ports = slices.Clone(subnet.Ports)
			for _, p := range subnet.EndPorts {
				subnet.Ports[p].Info.SetMKey(mad.MKey(own.Of(uint64(subnet.Ports[p].GUID))))
			}
			next.Topo = &subnet
			published := func() *view.View { return &next }
			c.views.Store(&published)
		}
		held(1)
		if n, err := c.RotateMKeys(); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		must("by hand", 2)
		rotates("before that is finished", nil)
		must("before that is finished", 2)
		held(2)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { c.tendMKeys(ctx); close(done) }()
		time.Sleep(59 * time.Minute)
		must("before its time", 2)
		time.Sleep(2 * time.Minute)
		must("after its time", 3)
		time.Sleep(time.Hour)
		must("before the last one is finished", 3)
		held(3)
		time.Sleep(2 * time.Minute)
		must("an hour later", 4)
		cancel()
		<-done
	})
}

// TestRotationClock: where the clock was set back after a rotation, the next one is due a period later, not when the
// clock has come to the time of the last one. That is kept, and only a master sets it.
func TestRotationClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, secret := secretFile(t)
		c := newFixture(t, file+"m_key_per_port TRUE\nperiodic_key_update 3600\n", "Default=0x7fff: ALL=full;\n")
		ahead := mkeyNumber{5, time.Now().Add(1000 * time.Hour).Unix()}
		c.change(func(next *inForce) { next.mkeys = ahead })
		v := viewtest.Of(t, nettest.Generate(t, "fattree:k=4"), 0)
		own := secret.Ports(5)
		for _, p := range v.Topo.EndPorts {
			v.Topo.Ports[p].Info.SetMKey(mad.MKey(own.Of(uint64(v.Topo.Ports[p].GUID))))
		}
		view := func() *view.View { return v }
		c.views.Store(&view)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { c.tendMKeys(ctx); close(done) }()
		time.Sleep(time.Minute)
		if got := c.current.Load().mkeys; got != ahead {
			t.Errorf("of a standby: %+v, want %+v", got, ahead)
		}
		c.change(c.clockSetBack) // as if it had been master when that was found
		if got := c.current.Load().mkeys; got != ahead {
			t.Errorf("of one that is not master any more: %+v, want %+v", got, ahead)
		}
		c.entered(smp.Master)
		since := time.Now()
		time.Sleep(time.Minute)
		if kept := decodeMKeyNumber(c.state.store.Load().Contents().Keys); kept.number != 5 ||
			kept.since > since.Add(2*mkeyCheck).Unix() {
			t.Errorf("%+v is kept", kept)
		}
		for _, step := range []struct {
			pass time.Duration
			want uint32
		}{{58 * time.Minute, 5}, {2 * time.Minute, 6}} {
			time.Sleep(step.pass)
			if got := c.current.Load().mkeys.number; got != step.want {
				t.Errorf("the number is %d, want %d", got, step.want)
			}
		}
		cancel()
		<-done
	})
}

// TestTenantsPlan: what security tenants would change; without a secret it is refused.
func TestTenantsPlan(t *testing.T) {
	file, _ := secretFile(t)
	c := newFixture(t, file, "Default=0x7fff: ALL=full;\n")
	rules, changes, err := c.tenants()
	if err != nil || !rules.Settings.MKeyPerPort || rules.Settings.PortMKeys.Number() != 1 ||
		rules.Settings.MKeyProtect.Value != 2 || rules.Settings.MKeyLease.Value != 60 ||
		rules.Partitions.Policy == nil {
		t.Fatalf("%+v, %v", rules, err)
	}
	found := map[string]string{}
	for _, ch := range changes {
		found[ch.Key] = ch.Before + " " + ch.After
	}
	if len(found) != 7 || found["m_key_protection_level"] != "1 2" || found["security"] != "open tenants" ||
		found["m_key_per_port"] != "FALSE TRUE" {
		t.Errorf("%v change", found)
	}
	if cfg := c.managerConfig(c.current.Load()); cfg.Sweep.Settings.MKeyPerPort || cfg.Sweep.Settings.PortMKeys.On() {
		t.Error("it is in force")
	}
	open := newFixture(t, "", "Default=0x7fff: ALL=full;\n")
	if _, _, err := open.tenants(); err == nil {
		t.Error("without a secret it is not refused")
	}
}
