package elect

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/proof"
)

// DefaultSMKey is OpenSM's sm_key, which everybody knows.
const DefaultSMKey = 1

// HasSecret reports whether our SM_Key is one that others do not know. 0 is no key. Then it is shown to nobody who has
// not shown it, and managers prove to each other that they share it, and the secret of keys_file: see sweep/proof.
func (c *Config) HasSecret() bool { return c.SMKey != 0 && c.SMKey != DefaultSMKey }

// HasSecret is Config.HasSecret.
func (m *Machine) HasSecret() bool { return m.cfg.HasSecret() }

// Prove completes our answer to a Question, after everything else in it.
func (m *Machine) Prove(q *proof.Question, info *smp.SMInfo) { q.Answer(&m.key, info) }

// Verify reports whether the answer to a Question is a proof. Then the SMInfo counts as showing our SM_Key, and has it
// from then on.
func (m *Machine) Verify(q *proof.Question, info *smp.SMInfo) bool {
	if !m.cfg.HasSecret() || !q.Proved(&m.key, info) {
		return false
	}
	info.SetSMKey(m.cfg.SMKey)
	return true
}

// Order completes the data of Set(SMInfo) to a manager that has proved what it knows, and has asked with a nonce last.
func (m *Machine) Order(mod uint32, to mad.GUID, asked proof.Nonce, info *smp.SMInfo) {
	proof.Order(&m.key, mod, to, asked, info)
}

// IsFresh reports whether Set(SMInfo), which Verifies, was made after one of our Questions.
func (m *Machine) IsFresh(mod uint32, asked []proof.Question, info *smp.SMInfo) bool {
	return m.cfg.HasSecret() && slices.ContainsFunc(asked, func(q proof.Question) bool {
		return proof.Fresh(&m.key, mod, m.cfg.GUID, q.Nonce, info)
	})
}

// Verifies is Verify for the data of Set(SMInfo), which may be a copy of an earlier one. A manager of this kind sends
// HANDOVER and ACKNOWLEDGE only.
func (m *Machine) Verifies(mod uint32, info *smp.SMInfo) bool {
	if !m.cfg.HasSecret() || mod != smp.ControlHandover && mod != smp.ControlAcknowledge ||
		!proof.Ordered(&m.key, mod, m.cfg.GUID, info) {
		return false
	}
	info.SetSMKey(m.cfg.SMKey)
	return true
}

// Protected reports whether a manager needs more than SMInfo with the default key to apply here.
func (c *Config) Protected() bool { return c.HasSecret() || len(c.Allowed) > 0 }

// Ignores reports whether a manager is ignored, even as MASTER: a host that does not know the key, or is not allowed,
// must not depose a master. Without a secret or a list none is ignored, since two masters are worse than one with
// another key.
func (m *Machine) Ignores(o *smp.SMInfo) bool { return m.cfg.Protected() && !m.mayBeMaster(o) }

// mayBeMaster reports whether the mastership may be handed to a manager: it has our SM_Key, or has proved that it knows
// it, and is allowed. A manager may show 0 in place of its key, which is as good as the default one.
func (m *Machine) mayBeMaster(o *smp.SMInfo) bool {
	return (o.SMKey() == m.cfg.SMKey || o.SMKey() == 0 && !m.cfg.HasSecret()) && m.allows(o)
}

func (m *Machine) allows(o *smp.SMInfo) bool {
	return len(m.cfg.Allowed) == 0 || slices.Contains(m.cfg.Allowed, o.GUID())
}
