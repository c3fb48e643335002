package conf

import (
	"time"

	"ibsm/keys"
)

// Tenants is the value of security for subnets whose hosts have users with root.
const Tenants = "tenants"

// secured are the settings that Tenants changes where nobody has chosen a value.
var secured = []struct {
	key   *Key
	value Value
}{
	{MKeyProtectionLevel.Key(), Value{Num: 2}},
	{MKeyLeasePeriod.Key(), Value{Num: 60}},
	{MKeyPerPort.Key(), Value{Num: 1}},
	{SAEnhancedTrustModel.Key(), Value{Num: 1}},
	{SACheckSGIDSpoofing.Key(), Value{Num: 1}},
	{SARateThreshold.Key(), Value{Num: 1000}},
}

// secure sets what security says of other settings, and returns the names of those that changed by it. Tenants without
// secret keys is an error: it would protect nothing.
func (c *Config) secure(report *Report) (changed []string) {
	tenants := Security.In(c) == Tenants
	defer c.checkMKeys(report)
	for _, s := range secured {
		at := &c.settings[s.key.row()]
		was := at.Value
		if at.Source == FromSecurity {
			*at = Setting{Value: s.key.standard()}
			if s.key.isDerived() && KeysFile.In(c) != "" {
				*at = Setting{Value: Value{Num: 1}, Source: FromKeysFile}
			}
		}
		if tenants && (!at.chosen(s.key) || at.Source == FromKeysFile) {
			*at = Setting{Value: s.value, Source: FromSecurity, Position: c.Setting(Security.Key()).Position}
		}
		if at.Value != was {
			changed = append(changed, s.key.Name)
		}
	}
	if !tenants {
		return changed
	}
	for _, k := range []Accessor[uint64]{MKey, SMKey, SAKey} {
		if k.In(c) <= 1 && (KeysFile.In(c) == "" || k.Chosen(c)) { // OpenSM's defaults, which everybody knows
			report.add(Refusal, c.Setting(Security.Key()).Position, Security.Key().Name,
				"security tenants: %s is not secret; make a secret with ibsmctl security new FILE, and name FILE as keys_file", k.Key().Name)
		}
	}
	return changed
}

// Change is a setting that security changes, with its values before and after.
type Change struct{ Key, Before, After string }

// AsTenants is the configuration as with security tenants, and what changes by it. The error says why that is refused.
func (l *Loaded) AsTenants() (next *Loaded, changes []Change, err error) {
	config := l.clone()
	config.settings[Security.row] = Setting{Value: Value{Text: Tenants}}
	var report Report
	config.secure(&report)
	config.reconcile(&report)
	if err := report.Err(Reload); err != nil {
		return nil, nil, err
	}
	for i := range table {
		k := &table[i]
		if before, after := l.settings[i].Value, config.settings[i].Value; before != after {
			changes = append(changes, Change{k.Name, k.Format(before), k.Format(after)})
		}
	}
	copied := *l
	copied.Config = config
	return &copied, changes, nil
}

// Secret is that of keys_file. ok is false where there is none.
func (c *Config) Secret() (s keys.Secret, ok bool) { return c.secret, c.secret != (keys.Secret{}) }

// LeastKeyUpdate is the least time between two changes of the M_Keys of all ports by periodic_key_update, unless that
// is 0.
const LeastKeyUpdate = time.Minute

// checkMKeys refuses M_Keys of ports without the secret that they follow from.
func (c *Config) checkMKeys(report *Report) {
	if MKeyPerPort.In(c) && KeysFile.In(c) == "" {
		report.add(Refusal, c.Setting(MKeyPerPort.Key()).Position, MKeyPerPort.Key().Name,
			"m_key_per_port TRUE without keys_file: the M_Keys of ports follow from its secret; "+
				"make one with ibsmctl security new FILE, and name FILE as keys_file on all managers")
	}
	if period := PeriodicKeyUpdate.In(c); period > 0 && period < LeastKeyUpdate {
		report.add(Warning, c.Setting(PeriodicKeyUpdate.Key()).Position, PeriodicKeyUpdate.Key().Name,
			"periodic_key_update is less than %d s: that time is used", LeastKeyUpdate/time.Second)
	}
}

// checkTrust warns of a trust model that trusts nobody.
func (c *Config) checkTrust(report *Report) {
	if SAEnhancedTrustModel.In(c) && SAKey.In(c) <= 1 && KeysFile.In(c) == "" {
		report.add(Warning, c.Setting(SAEnhancedTrustModel.Key()).Position, SAEnhancedTrustModel.Key().Name,
			"sa_enhanced_trust_model TRUE with an sa_key that everybody knows: no request is trusted; set a secret sa_key or keys_file")
	}
}
