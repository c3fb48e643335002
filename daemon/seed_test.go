package daemon

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/conf"
	"ibsm/keys"
	"ibsm/mad/smp"
	"ibsm/topo/net/nettest"
	"ibsm/view"
	"ibsm/view/viewtest"
)

// seedless are settings with which the master makes a seed.
const seedless = "m_key_per_port TRUE\nm_key_protection_level 2\nm_key_lease_period 60\nm_key 0x5eed5eed5eed5eed\nsm_key 0xa11ce0a11ce0a11c\nsa_key 0xb0bb0bb0bb0bb0bb\n"

const anyParts = "Default=0x7fff: ALL=full;\n"

// tending is a fixture whose M_Keys are tended until the test ends. Its subnet has more than one node.
func tending(t *testing.T, o *fixture) *fixture {
	t.Helper()
	v := viewtest.Of(t, nettest.Generate(t, "fattree:k=4"), 0)
	published := func() *view.View { return v }
	o.views.Store(&published)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { o.tendMKeys(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return o
}

// seedIn is the seed in a fixture's file, the zero value where there is none.
func (o *fixture) seedIn() keys.Secret {
	o.t.Helper()
	seed, err := readSeed(seedPath(o.own(), 7))
	if err != nil {
		o.t.Fatal(err)
	}
	return seed
}

// makeSeed has a fixture enter MASTER, and waits until it has made its seed.
func (o *fixture) makeSeed() {
	o.entered(smp.Master)
	time.Sleep(2 * mkeyCheck)
	synctest.Wait()
}

// mustSeed fails the test where ports do not get M_Keys of a number, 0 for none, of a seed.
func (o *fixture) mustSeed(when string, seed keys.Secret, number uint32) {
	o.t.Helper()
	o.take()
	s := &o.sent.Sweep.Settings
	want := seed.Ports(number).Beside(0x5eed5eed5eed5eed, 0)
	if s.MKeyPerPort != (number > 0) || number > 0 && s.PortMKeys != want {
		o.t.Errorf("%s: each port has its own %v, of number %d, of the seed %v; want number %d", when, s.MKeyPerPort, s.PortMKeys.Number(), s.PortMKeys == want, number)
	}
	if !s.PortMKeys.On() {
		o.t.Errorf("%s: it does not wait for M_Keys that it does not know", when)
	}
}

// TestSeed: the master makes the seed at first use, and no M_Key of it is sent before it is in its file, which only its owner can read. It is read
// again at a start and a reload, also where the number was lost; a file that is gone is written again; a state directory that was wiped gives another seed.
func TestSeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := tending(t, newFixture(t, seedless, anyParts))
		file := seedPath(o.own(), 7)
		time.Sleep(time.Minute)
		synctest.Wait()
		o.mustSeed("before it is master", keys.Secret{}, 0)
		if hasSeed(o.seedIn()) {
			t.Error("one that is not master has made a seed")
		}
		// Where it cannot be kept ports stay as they are.
		for i, occupy := range []func() error{
			func() error { return os.Symlink(filepath.Join(t.TempDir(), "nothing"), file) },
			func() error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) },
		} {
			if err := occupy(); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				o.entered(smp.Master)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			o.mustSeed("without a place for it", keys.Secret{}, 0)
			if n := strings.Count(o.log.String(), noSeedKept); n != i+1 {
				t.Errorf("that it cannot be kept is logged %d times, want %d", n, i+1)
			}
			if i == 0 { // the next place is taken before the seed is tried again
				continue
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * mkeyCheck)
		synctest.Wait()
		seed := o.seedIn()
		if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 || !hasSeed(seed) {
			t.Fatalf("the file has mode %v, %v", info.Mode(), err)
		}
		o.mustSeed("as master", seed, 1)
		o.again()
		o.mustSeed("when the port was opened again", seed, 1)
		if o.Reload(); o.seedIn() != seed {
			t.Error("a reload changes the seed")
		}
		o.mustSeed("after a reload", seed, 1)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		o.Reload()
		o.mustSeed("until the file is written", seed, 1)
		time.Sleep(2 * mkeyCheck)
		synctest.Wait()
		if o.seedIn() != seed {
			t.Error("a file that is gone is not written again")
		}
		o.mustSeed("without the file", seed, 1)
		if names, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); err != nil || names != nil {
			t.Errorf("%v, %v are left", names, err)
		}
		for _, s := range o.Settings() {
			if s.Key == "keys_file" && !strings.HasSuffix(s.Note, file) {
				t.Errorf("of keys_file is shown %q, %q", s.Value, s.Note)
			}
		}

		crashed := newFixture(t, seedless, anyParts) // before the number was in the store, or the store was damaged
		if err := writeSeed(seedPath(crashed.own(), 7), &seed, false); err != nil {
			t.Fatal(err)
		}
		crashed.again()
		crashed.mustSeed("after a crash", seed, 1)

		wiped := tending(t, newFixture(t, seedless, anyParts))
		wiped.makeSeed()
		if other := wiped.seedIn(); other == seed {
			t.Error("two managers have made the same seed")
		} else {
			wiped.mustSeed("after the state directory was wiped", other, 1)
		}
		// An island of one node is a manager that the others do not let in yet.
		island := tending(t, newFixture(t, seedless, anyParts))
		published := func() *view.View { return viewtest.Of(t, nettest.Generate(t, "fattree:k=4"), 0) }
		island.views.Store(nil)
		island.entered(smp.Master)
		time.Sleep(time.Minute)
		synctest.Wait()
		island.mustSeed("of an island", keys.Secret{}, 0)
		island.views.Store(&published)
		time.Sleep(2 * mkeyCheck)
		synctest.Wait()
		island.mustSeed("of a subnet", island.seedIn(), 1)
	})
}

// TestBadSeed: a file that is none, that is cut off, that others can read, and a directory are refused at start in one line with what to do. A reload leaves the
// configuration as it is, and the seed.
func TestBadSeed(t *testing.T) {
	seed, err := keys.New(bytes.NewReader(bytes.Repeat([]byte{9}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(file string) error{
		"cut off":   func(file string) error { return os.WriteFile(file, seed.Text()[:100], 0o600) },
		"empty":     func(file string) error { return os.WriteFile(file, nil, 0o600) },
		"foreign":   func(file string) error { return os.WriteFile(file, []byte("root:x:0:0\n"), 0o600) },
		"readable":  func(file string) error { return os.Chmod(file, 0o644) },
		"directory": func(file string) error { return os.Mkdir(file, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			o := newFixture(t, seedless, anyParts)
			file := seedPath(o.own(), 7)
			if err := writeSeed(file, &seed, false); err != nil {
				t.Fatal(err)
			}
			o.again()
			o.mustSeed("at first", seed, 1)
			if name == "directory" {
				err = os.Remove(file)
			}
			if err = spoil(file); err != nil {
				t.Fatal(err)
			}
			o.write("opensm.conf", seedless+"lmc 1\n")
			r := o.Reload()
			if !r.Refused || len(r.Findings) == 0 || o.own().ConfigFile == "" {
				t.Errorf("the reload is taken: %+v", r)
			}
			o.must("after the reload", 0, 0x7fff)
			o.mustSeed("after the reload", seed, 1)
			_, err := o.begin(7, nil)
			if err == nil || !isRefusal(err) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), file) {
				t.Errorf("the start: %v", err)
			}
			digits := hex.EncodeToString(bytes.Repeat([]byte{9}, 8))
			if strings.Contains(o.log.String(), digits) || err != nil && strings.Contains(err.Error(), digits) {
				t.Error("the seed is shown")
			}
		})
	}
}

// TestSeedOfStandby: a standby gets the seed with the policy of its master, keeps it before it uses it, and goes on with it as master, and gives it to others. It does not get
// it, and says so, where everybody could read it; nor the secret of keys_file.
func TestSeedOfStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		master := tending(t, newFixture(t, seedless, anyParts))
		master.entered(smp.Master)
		standby := newFixture(t, seedless, anyParts)
		standby.hears(master.sent.Registrar.Mirror.Policy)
		standby.mustSeed("before there is one", keys.Secret{}, 0)
		time.Sleep(2 * mkeyCheck)
		synctest.Wait()
		seed := master.seedIn()
		master.mustSeed("of the master", seed, 1)
		standby.hears(master.sent.Registrar.Mirror.Policy)
		standby.mustSeed("of the standby", seed, 1)
		if standby.seedIn() != seed {
			t.Error("the standby has not kept it")
		}
		if strings.Contains(standby.log.String(), keylessStandby) {
			t.Errorf("it complains:\n%s", &standby.log)
		}
		standby.entered(smp.Master)
		third := newFixture(t, seedless, anyParts)
		third.hears(standby.sent.Registrar.Mirror.Policy)
		third.mustSeed("of the third", seed, 1)
		standby.again()
		standby.mustSeed("started again", seed, 1)

		// Once it was master of another part of the subnet, by a seed of its own.
		other := tending(t, newFixture(t, seedless, anyParts))
		other.makeSeed()
		other.entered(smp.Standby)
		if other.seedIn() == seed {
			t.Error("the same seed is made again")
		}
		other.hears(master.sent.Registrar.Mirror.Policy)
		other.mustSeed("of another part", seed, 1)
		if other.seedIn() != seed {
			t.Error("the seed of its master is not kept")
		}

		public := tending(t, newFixture(t, strings.Replace(seedless, "sm_key 0xa11ce0a11ce0a11c", "sm_key 1", 1), anyParts))
		public.makeSeed()
		public.mustSeed("with the default sm_key", public.seedIn(), 1)
		file, _ := secretFile(t)
		owner := newFixture(t, file+"m_key_per_port TRUE\nm_key_protection_level 2\nm_key_lease_period 60\n", anyParts)
		owner.entered(smp.Master)
		owner.take()
		for name, o := range map[string]*fixture{"with the default sm_key": public, "with keys_file": owner} {
			p, err := decodePolicy(o.sent.Registrar.Mirror.Policy)
			if err != nil || hasSeed(p.seed) || p.mkeys.number != 1 || bytes.Contains(o.sent.Registrar.Mirror.Policy, []byte("secret")) {
				t.Errorf("%s: it is sent: %v", name, err)
			}
			outsider := newFixture(t, seedless, anyParts)
			for range 3 {
				outsider.hears(o.sent.Registrar.Mirror.Policy)
			}
			outsider.mustSeed(name, keys.Secret{}, 0)
			if n := strings.Count(outsider.log.String(), keylessStandby); n != 1 || strings.Contains(outsider.log.String(), keylessAlone) {
				t.Errorf("%s: that it has none is logged %d times:\n%s", name, n, &outsider.log)
			}
			if _, err := os.Stat(seedPath(outsider.own(), 7)); !os.IsNotExist(err) {
				t.Errorf("%s: it keeps one: %v", name, err)
			}
		}
	})
}

// TestWithoutSecret: it is logged that ports would get the m_key where a manager neither makes a seed nor gets one, and that a standby does not know the secret where
// its master has not sent it; not where it will be made, here or at the master.
func TestWithoutSecret(t *testing.T) {
	const public = "m_key_per_port TRUE\nm_key_protection_level 2\nm_key_lease_period 60\nm_key 0x5eed\nsa_key 0xb0b\n" // with the default sm_key
	const open = "m_key_per_port TRUE\nm_key_protection_level 1\nm_key_lease_period 60\nm_key 0x5eed\nsa_key 0xb0b\nsm_key 0xa11ce\n"
	seed, err := keys.New(bytes.NewReader(bytes.Repeat([]byte{9}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	from := func(number uint32, seed keys.Secret) *masterPolicy {
		return &masterPolicy{policyText: policyText{of: 9, mkeys: mkeyNumber{number, 1}, seed: seed}}
	}
	line, _ := secretFile(t)
	for _, c := range []struct {
		name     string
		settings string
		from     *masterPolicy // nil for no master that was heard
		change   func(l *conf.Loaded, next *inForce)
		want     string
	}{
		{"makes it itself", seedless, nil, nil, ""},
		{"makes it itself, with the default sm_key", public, nil, nil, ""},
		{"keys_file", line + "m_key_per_port TRUE\n", from(3, keys.Secret{}), nil, ""},
		{"keys_file, at protection level 1", line + open, from(3, keys.Secret{}), nil, ""},
		{"without m_key_per_port", "m_key 5\n", from(3, keys.Secret{}), nil, ""},
		{"the master has yet to make it", seedless, from(0, keys.Secret{}), nil, ""},
		{"the master has sent it", seedless, from(1, seed), nil, ""},
		{"the master has not sent it", seedless, from(1, keys.Secret{}), nil, keylessStandby},
		{"the master has not sent it, with the default sm_key", public, from(1, keys.Secret{}), nil, keylessStandby},
		{"the former master had not sent it", seedless, from(1, keys.Secret{}), func(_ *conf.Loaded, next *inForce) { next.master = true }, ""},
		{"one sweep", seedless, nil, func(l *conf.Loaded, _ *inForce) { l.Once = true }, keylessAlone},
		{"one sweep, with a file", seedless, nil, func(l *conf.Loaded, next *inForce) { l.Once, next.seed = true, portSeed{value: seed, state: seedKept} }, ""},
		{"keeps nothing, and gets it", seedless + "state_dir none\n", from(0, keys.Secret{}), nil, ""},
		{"keeps nothing, and has it", seedless + "state_dir none\n", from(1, seed), nil, ""},
		{"keeps nothing, with the default sm_key", public + "state_dir none\n", from(0, keys.Secret{}), nil, keylessAlone},
		{"keeps nothing, and the master has a keys_file", seedless + "state_dir none\n", from(1, keys.Secret{}), nil, keylessAlone},
		{"at protection level 1, and the master has a keys_file", open, from(1, keys.Secret{}), nil, keylessAlone},
	} {
		o := newFixture(t, "", anyParts)
		l := loadFile(t, c.settings)
		next := &inForce{own: l, from: c.from}
		if c.change != nil {
			c.change(l, next)
		}
		for range 3 {
			o.mkeysInForce(next, l)
		}
		log := o.log.String()
		for _, text := range []string{keylessAlone, keylessStandby} {
			if n, want := strings.Count(log, text), map[bool]int{true: 1}[text == c.want]; n != want {
				t.Errorf("%s: %d times %q", c.name, n, text)
			}
		}
		if makes := l.MakesSeed() && !l.Once; c.want != "" && makes != (c.want == keylessStandby) {
			t.Errorf("%s: makes a seed: %v", c.name, makes)
		}
	}

	// A master whose seed was lost, but not the number, sends the number with the seed that it makes, not before.
	synctest.Test(t, func(t *testing.T) {
		master := tending(t, newFixture(t, seedless, anyParts))
		master.change(func(next *inForce) { next.mkeys = mkeyNumber{5, 1} })
		master.again()
		for _, number := range []uint32{0, 5} {
			p, err := decodePolicy(master.sent.Registrar.Mirror.Policy)
			if err != nil || p.mkeys.number != number || hasSeed(p.seed) != (number > 0) {
				t.Errorf("%v: sent is number %d, with a seed: %v; want number %d", err, p.mkeys.number, hasSeed(p.seed), number)
			}
			standby := newFixture(t, seedless, anyParts)
			standby.hears(master.sent.Registrar.Mirror.Policy)
			if strings.Contains(standby.log.String(), keylessStandby) {
				t.Errorf("with number %d the standby complains", number)
			}
			master.makeSeed()
			master.take()
		}
	})
}

// TestSeedUnkept: a standby that cannot keep the seed of its master uses it in memory, tries again every second, and shows that it does; the log says so once, and once
// that it is kept. A reload takes no older one from the file meanwhile, also as master. A seed that is gone and cannot be written again is the same.
func TestSeedUnkept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		master := tending(t, newFixture(t, seedless, anyParts))
		master.makeSeed()
		master.take()
		seed := master.seedIn()
		policy := master.sent.Registrar.Mirror.Policy
		standby := tending(t, newFixture(t, seedless, anyParts))
		file := seedPath(standby.own(), 7)
		if err := os.Mkdir(file, 0o700); err != nil { // nobody can write a file in its place, not even root
			t.Fatal(err)
		}
		must := func(when string, unkept bool, failed, kept int) {
			t.Helper()
			standby.mustSeed(when, seed, 1)
			k := standby.current.Load().keysShown(standby.own(), &standby.sent.Sweep.Settings)
			if shown := standby.keys.Load(); shown == nil || *shown != k || (k.SeedUnkept != "") != unkept || k.SeedPath != file {
				t.Errorf("%s: shown is %+v, of %+v", when, shown, k)
			}
			log := standby.log.String()
			if a, b := strings.Count(log, noSeedKept), strings.Count(log, seedKeptAgain); a != failed || b != kept {
				t.Errorf("%s: the log says %d times that the seed cannot be kept, and %d times that it is; want %d and %d\n%s", when, a, b, failed, kept, log)
			}
		}
		wait := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		standby.hears(policy)
		must("at first", true, 1, 0)
		wait(5 * time.Minute)
		if len(standby.configs) > 0 {
			t.Error("the manager gets a configuration although nothing has changed")
		}
		must("minutes later", true, 1, 0)
		standby.hears(policy)
		must("when it hears the master again", true, 1, 0)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		wait(2 * mkeyCheck)
		must("with room for it", false, 1, 1)
		if standby.seedIn() != seed {
			t.Error("it is not kept")
		}
		standby.take()
		if !standby.sent.Unchanged {
			t.Error("the manager sweeps because it is kept")
		}
		wait(5 * time.Minute)
		must("later", false, 1, 1)

		// An older seed is in the file, which cannot be replaced: the directory is gone.
		dir := filepath.Dir(file)
		if err := os.Rename(dir, dir+".away"); err != nil {
			t.Fatal(err)
		}
		standby.Reload()
		wait(2 * mkeyCheck)
		must("without its directory", true, 2, 1)
		older, err := keys.New(bytes.NewReader(bytes.Repeat([]byte{5}, 32)))
		if err != nil {
			t.Fatal(err)
		}
		if err := writeSeed(filepath.Join(dir+".away", seedFile), &older, true); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(dir+".away", dir); err != nil {
			t.Fatal(err)
		}
		standby.entered(smp.Master)
		standby.Reload() // by which a master returns to its own files
		standby.mustSeed("as master, over an older file", seed, 1)
		wait(2 * mkeyCheck)
		must("as master", false, 2, 2)
		if standby.seedIn() != seed {
			t.Error("the older seed is still in the file")
		}
	})
}

// TestSeedOvertaken: where a policy has come into force with another seed while one was being written, the file gets the one in force.
func TestSeedOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := func(b byte) *masterPolicy {
			seed, err := keys.New(bytes.NewReader(bytes.Repeat([]byte{b}, 32)))
			if err != nil {
				t.Fatal(err)
			}
			return &masterPolicy{policyText: policyText{of: 9, mkeys: mkeyNumber{1, 1}, seed: seed}}
		}
		first, second := of(1), of(2)
		o := newFixture(t, seedless, anyParts)
		take := o.hearSeed(first)
		then := o.hearSeed(second)
		o.change(then)
		if got := o.seedIn(); got != second.seed || o.current.Load().seed.state != seedKept {
			t.Fatal("the seed is not kept")
		}
		before := o.current.Load()
		o.change(take) // what was written first comes into force last
		if now := o.current.Load().seed; now.value != first.seed || now.state != seedUnkept {
			t.Fatalf("it is in state %d", now.state)
		}
		o.keepSeed(o.current.Load())
		if o.seedIn() != first.seed {
			t.Error("the file has not the seed in force")
		}
		o.change(then) // keepSeed of what was in force before
		o.keepSeed(before)
		if now := o.current.Load().seed; now.state != seedUnkept {
			t.Errorf("it is in state %d although another seed was written", now.state)
		}
		o.keepSeed(o.current.Load())
		if got := o.seedIn(); got != o.current.Load().seed.value || o.current.Load().seed.state != seedKept {
			t.Error("the file has not the seed in force at the end")
		}
	})
}

// TestSeedUnfinished: a start removes secrets that were being written when a process was killed, beside the seed and keys_file; a dry run does not. One that cannot be
// removed is logged.
func TestSeedUnfinished(t *testing.T) {
	t.Setenv("OSM_CACHE_DIR", t.TempDir())
	for _, dry := range []bool{true, false} {
		line, _ := secretFile(t)
		o := newFixture(t, line, anyParts)
		o.state.store.Load().Close()
		own := *o.own()
		own.DryRun = dry
		var left []string
		for _, file := range []string{seedPath(&own, 7), conf.KeysFile.In(own.Config)} {
			left = append(left, filepath.Join(filepath.Dir(file), ".ibsm-keys-123"))
		}
		for _, name := range left {
			if err := os.WriteFile(name, []byte("secret"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := newState(&own, o.logger, func(string, error) {})
		if err := s.open(7); err != nil {
			t.Fatal(err)
		}
		s.close()
		for _, name := range left {
			if _, err := os.Stat(name); os.IsNotExist(err) == dry {
				t.Errorf("dry run %v: %s: %v", dry, name, err)
			}
		}
	}
	o := newFixture(t, "keys_file /dev/null/keys\n", anyParts)
	o.state.removeUnfinished()
	o.mustSay("secrets that were not written to their end cannot be removed")
}

// TestSeedInPolicy: what a policy has of a seed is read again; garbage is refused without showing it.
func TestSeedInPolicy(t *testing.T) {
	seed, err := keys.New(bytes.NewReader(bytes.Repeat([]byte{9}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	p := &policyText{of: 7, mkeys: mkeyNumber{3, 5}, seed: seed, file: []byte(anyParts)}
	text := p.encode()
	if got, err := decodePolicy(text); err != nil || got.seed != seed || got.mkeys != p.mkeys || string(got.file) != anyParts {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := decodePolicy(bytes.Replace(text, []byte("secret 09"), []byte("secret zz"), 1)); err == nil || strings.Contains(err.Error(), "0909") {
		t.Errorf("a damaged one: %v", err)
	}
}

// TestWriteSeed: without replace a file that is there stays.
func TestWriteSeed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	for i, replace := range []bool{false, false, true} {
		seed, err := keys.New(bytes.NewReader(bytes.Repeat([]byte{byte(i + 1)}, 32)))
		if err != nil {
			t.Fatal(err)
		}
		err = writeSeed(file, &seed, replace)
		if i == 1 {
			if !os.IsExist(err) || err == fs.ErrExist {
				t.Errorf("a file that is there: %v", err)
			}
			continue
		}
		if got, failed := readSeed(file); err != nil || failed != nil || got != seed {
			t.Errorf("%d: %v, %v", i, err, failed)
		}
	}
}
