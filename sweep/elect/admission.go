package elect

import (
	"slices"

	"ibsm/mad/smp"
)

// DefaultSMKey is OpenSM's sm_key, which everybody knows.
const DefaultSMKey = 1

// hasSecret reports whether our SM_Key is one that others do not know. 0 is no key.
func (c *Config) hasSecret() bool { return c.SMKey != 0 && c.SMKey != DefaultSMKey }

// Protected reports whether a manager needs more than SMInfo with the default key to apply here.
func (c *Config) Protected() bool { return c.hasSecret() || len(c.Allowed) > 0 }

// Ignores reports whether a manager is ignored, even as MASTER: a host that does not know the key, or is not allowed,
// must not depose a master. Without a secret or a list none is ignored, since two masters are worse than one with
// another key.
func (m *Machine) Ignores(o *smp.SMInfo) bool { return m.cfg.Protected() && !m.mayBeMaster(o) }

// mayBeMaster reports whether the mastership may be handed to a manager: it has our SM_Key and
// is allowed. A manager may show 0 in place of its key, which is as good as the default one.
func (m *Machine) mayBeMaster(o *smp.SMInfo) bool {
	return (o.SMKey() == m.cfg.SMKey || o.SMKey() == 0 && !m.cfg.hasSecret()) && m.allows(o)
}

func (m *Machine) allows(o *smp.SMInfo) bool {
	return len(m.cfg.Allowed) == 0 || slices.Contains(m.cfg.Allowed, o.GUID())
}
