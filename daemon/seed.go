package daemon

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"ibsm/conf"
	"ibsm/keys"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/store"
	"ibsm/sweep/elect"
)

// The seed of the M_Keys of ports, where no keys_file has a secret from which they follow. The first master that needs it has it on disk before it
// sends an M_Key: beside the state store, in the format of keys_file. Standbys get it with the policy of the master, encrypted or not at all.

// seedFile is its name, below state_dir and the port's GUID.
const seedFile = "keys"

// seedPath is the file of a port's manager, "" where nothing is kept: then the seed is in memory only.
func seedPath(l *conf.Loaded, port mad.GUID) string {
	dir := keptDir(l)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, port.String(), seedFile)
}

// readSeed reads the seed from a file, the zero value where there is no file. The error says what is wrong and what to do.
func readSeed(path string) (seed keys.Secret, err error) {
	if path == "" {
		return seed, nil
	}
	text, err := readSecret(path)
	if errors.Is(err, fs.ErrNotExist) {
		return seed, nil
	}
	if err == nil {
		seed, err = keys.Parse(path, text)
	}
	if err != nil {
		return seed, fmt.Errorf("the seed of the M_Keys of ports cannot be read: %w; put back %s from a standby, or remove it: then ports open at the end of their leases, and get M_Keys of a new seed", err, path)
	}
	return seed, nil
}

// writeSeed writes the seed to a file, which is on disk after that. Without replace a file that is there is left alone: fs.ErrExist.
func writeSeed(path string, seed *keys.Secret, replace bool) error {
	if path == "" {
		return nil
	}
	return store.WriteSecret(path, seed.Text(), replace)
}

// portSeed is the seed of a manager. The zero value is none. One that is only drawn is of no port: with it this manager treats a subnet whose ports have
// M_Keys of a seed that it does not know as any other whose secret it does not know, and waits.
type portSeed struct {
	value  keys.Secret
	state  seedState
	path   string // its file; "" before the port is open, and where nothing is kept
	reason string // why its file could not be written when that was tried last, as logged; "" where it could
}

// seedState is how far a seed has come.
type seedState uint8

const (
	seedDrawn  seedState = iota // there is none, or it is of no port
	seedUnkept                  // ports may get M_Keys of it; it is in memory, and its file has yet to be written
	seedKept                    // the same; it is in its file, or nothing is kept
)

// inUse reports whether ports may get M_Keys of it.
func (s *portSeed) inUse() bool { return s.state != seedDrawn }

// hasSeed reports whether there is one.
func hasSeed(seed keys.Secret) bool { return seed != (keys.Secret{}) }

// secret is what the M_Keys of ports follow from: the secret of keys_file, or else the seed. ok is false where ports cannot have them yet. The m_key
// cannot be it: it is shown to agents that nobody knows.
func (s *inForce) secret(l *conf.Loaded) (secret keys.Secret, ok bool) {
	if secret, ok = l.Secret(); ok {
		return secret, true
	}
	return s.seed.value, s.seed.inUse() && hasSeed(s.seed.value)
}

// draw draws a seed where one may be needed.
func (s *portSeed) draw(l *conf.Loaded) {
	if !hasSeed(s.value) && l.MakesSeed() {
		s.value, _ = keys.New(rand.Reader) // which does not fail
	}
}

// seedAgain is the seed of a port's manager, by the file as it is now. One that is in use and whose file is gone, or has yet to be written, stays:
// tendMKeys writes it.
func (c *configuration) seedAgain(was portSeed, path string) (seed portSeed, err error) {
	seed = was
	seed.path = path
	if was.state == seedUnkept { // what the file has is older
		return seed, nil
	}
	value, err := readSeed(path)
	switch {
	case err != nil:
		return was, err
	case hasSeed(value):
		seed.value, seed.state, seed.reason = value, seedKept, ""
	case was.inUse() && path != "":
		c.logger.Warn("the seed of M_Keys in use has no file, and is written to it", "file", path)
		seed.state = seedUnkept
	}
	return seed, nil
}

// keepSeed writes the seed in use to its file, in place of what is there.
func (c *configuration) keepSeed(now *inForce) {
	err := writeSeed(now.seed.path, &now.seed.value, true)
	swapped := c.swap(now, func(next *inForce) {
		if c.seedWritten(&next.seed, err); next.seed != now.seed {
			c.sendTo(next, true) // shown is another state
		}
	})
	if !swapped && err == nil {
		c.change(func(next *inForce) {
			if next.seed.state == seedKept { // it was written meanwhile, and perhaps replaced by the one of before
				next.seed.state = seedUnkept
			}
		})
	}
}

// seedWritten takes the outcome of writing a seed in use to its file. It logs that this begins to fail, and that it has ended.
func (c *configuration) seedWritten(seed *portSeed, err error) {
	failed := seed.reason != ""
	if err != nil {
		seed.state, seed.reason = seedUnkept, err.Error()
		if !failed {
			c.logger.Error(noSeedKept, "file", seed.path, "reason", err)
		}
		return
	}
	seed.state, seed.reason = seedKept, ""
	if failed {
		c.logger.Warn(seedKeptAgain, "file", seed.path)
	}
}

const (
	noSeedKept    = "the seed of the M_Keys of ports cannot be kept: free disk space or fix the permissions"
	seedKeptAgain = "the seed of the M_Keys of ports is kept now"
)

// needsSeed reports whether ports should get M_Keys of a seed that none has yet: this manager is master, and more of the subnet than its own port answers it.
func (c *configuration) needsSeed(now *inForce) bool {
	l, _ := now.effective()
	views := c.views.Load()
	if _, ok := now.secret(l); ok || !now.master || !l.MakesSeed() || l.Once || views == nil {
		return false
	}
	v := (*views)()
	return v != nil && len(v.Topo.Nodes) > 1
}

// useSeed keeps the seed that was drawn, and then has ports get M_Keys of it. Where it cannot be kept they stay as they are.
func (c *configuration) useSeed(now *inForce) {
	seed, value := now.seed, now.seed.value
	err := writeSeed(seed.path, &value, false)
	if errors.Is(err, fs.ErrExist) { // somebody has put it there since the start
		if value, err = readSeed(seed.path); err == nil && !hasSeed(value) {
			err = fmt.Errorf("%s is a link to a file that does not exist, or was just removed", seed.path)
		}
	}
	if err == nil {
		seed.value, seed.state, seed.reason = value, seedKept, ""
	} else {
		seed.reason = err.Error()
	}
	c.swap(now, func(next *inForce) { // or it is tried again
		next.seed = seed
		switch {
		case err == nil:
			c.logger.Info("ports get M_Keys of a seed that was made for them: keep a copy (ibsmctl security export)", "file", seed.path)
			c.send(next)
		case seed.reason != now.seed.reason:
			c.logger.Error(noSeedKept, "file", seed.path, "reason", err)
			c.sendTo(next, true)
		}
	})
}

// hearSeed writes the seed that a master has sent to its file, where it is another one, before it is used. It returns what has it come into force.
func (c *configuration) hearSeed(from *masterPolicy) (take func(next *inForce)) {
	was := c.current.Load().seed
	if from == nil || !hasSeed(from.seed) || from.seed == was.value {
		return func(*inForce) {}
	}
	err := writeSeed(was.path, &from.seed, true)
	return func(next *inForce) {
		undisturbed := next.seed == was // else the file may have been written by somebody else after that
		next.seed.value, next.seed.state = from.seed, seedUnkept
		if undisturbed {
			c.seedWritten(&next.seed, err)
		}
	}
}

// takeSeed takes the seed of the policy in force, which is of a master. It is in memory until it is written, where that has not been done.
func (s *inForce) takeSeed() {
	if s.from != nil && hasSeed(s.from.seed) && !(s.seed.inUse() && s.seed.value == s.from.seed) {
		s.seed.value, s.seed.state = s.from.seed, seedUnkept
	}
}

// unkept is why the seed is in no file, "" where it is, and where none is wanted.
func (s *inForce) unkept(l *conf.Loaded) string {
	if _, own := l.Secret(); own || !conf.MKeyPerPort.In(l.Config) || !s.seed.inUse() && !s.master {
		return ""
	}
	return s.seed.reason
}

// sentSeed is the seed that standbys get, the zero value for none: the secret of keys_file is never sent, and without a secret SM_Key
// everybody could read it, for the m_key is shown to agents that nobody knows.
func (s *inForce) sentSeed(l *conf.Loaded, cfg *manager.Config) keys.Secret {
	if _, own := l.Secret(); own || !s.seed.inUse() || s.mkeys.number == 0 || cfg.Elect.SMKey <= elect.DefaultSMKey {
		return keys.Secret{}
	}
	return s.seed.value
}
