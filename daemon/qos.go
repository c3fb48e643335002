package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/registry"
	"ibsm/routing/portgroups"
	"ibsm/routing/qos"
)

// qosRead is the content of the QoS policy file, or the error from reading it. Where QoS is off the
// file is not read.
type qosRead struct {
	off   bool
	name  string
	named bool // the operator named the file; it is an error if it does not exist
	text  []byte
	err   error // nil, or why there is no text
}

// readQoS reads the file that the configuration names. was is in force before a reload, nil at a start.
func readQoS(was *inForce, l *conf.Loaded) (r qosRead) {
	r.name, r.named, r.off = conf.QoSPolicyFile.In(l.Config), conf.QoSPolicyFile.Chosen(l.Config),
		!conf.QoS.In(l.Config)
	if !r.off && r.name != "" {
		in := inUse{}
		if was != nil && was.qos != nil {
			in = inUseOf(conf.QoSPolicyFile, was.own.Config, l.Config, was.qos.text)
		}
		r.text, r.err = in.read(r.name, qos.MaxFile)
	}
	return r
}

// qosSelected is the QoS policy of this manager's own file, with the findings about the file. It is
// immutable.
type qosSelected struct {
	policy *qos.Policy // nil for none
	name   string
	text   []byte          // of the policy
	others *portgroups.Set // of pgrp_policy_file, which the policy may name
	// errors are why the policy is not that of the present file.
	errors   diag.List
	warnings diag.List
}

// reload selects the policy: that of the file, or the one before if the file has errors. The same
// text is the same policy. others are the groups of pgrp_policy_file.
func (s *qosSelected) reload(r qosRead, others *portgroups.Set) *qosSelected {
	next := &qosSelected{name: r.name, others: others}
	switch {
	case r.off || r.name == "" || errors.Is(r.err, fs.ErrNotExist) && !r.named:
		return next
	case r.err != nil:
		next.errors.Add(diag.Position{File: r.name}, "%v", r.err)
	case s.policy != nil && s.name == r.name && string(s.text) == string(r.text) && s.others.Equal(others):
		return &qosSelected{policy: s.policy, name: s.name, text: s.text, others: s.others, warnings: s.warnings}
	default:
		next.policy, next.errors, next.warnings = qos.Parse(others, r.name, r.text)
		next.text = r.text
	}
	if next.policy == nil {
		next.policy, next.name, next.text, next.others = s.policy, s.name, s.text, s.others
	}
	return next
}

// selectQoS selects the policy at a start. The error says why the manager must not start: the file
// cannot be used, or with --strict it has warnings.
func selectQoS(l *conf.Loaded, others *portgroups.Set) (*qosSelected, error) {
	s := (&qosSelected{}).reload(readQoS(nil, l), others)
	switch {
	case len(s.errors) > 0:
		return nil, fmt.Errorf("the QoS policy file cannot be used: fix it, or start without -Q: %w", s.errors)
	case l.Strict && len(s.warnings) > 0:
		return nil, fmt.Errorf("--strict: the QoS policy file has warnings: %w", s.warnings)
	}
	return s, nil
}

// setQoS puts a policy into force, and logs the findings about its file.
func (c *configuration) setQoS(next *inForce, s *qosSelected) {
	was := next.qos
	next.qos = s
	for _, e := range s.errors {
		c.logger.Error(e.Error())
	}
	warnings := s.warnings
	if s.policy != nil && next.partitions != nil && next.partitions.Policy != nil {
		warnings = slices.Concat(warnings, s.policy.Conflicts(next.partitions.Policy))
	}
	for _, w := range warnings {
		c.logger.Warn(w.Error())
	}
	switch {
	case len(s.errors) > 0 && s.policy != nil:
		c.logger.Error(
			"the QoS policy file cannot be used: the last valid version stays in force. Fix the file and send SIGHUP",
			"file", s.name)
	case len(s.errors) > 0:
		c.logger.Error(
			"THERE IS NO QOS POLICY: the file cannot be used, and no policy was in force before. Fix the file and send SIGHUP", "file", s.name)
	case s.policy != nil:
		c.logger.Info("QoS policy in force", "file", s.name, "rules", len(s.policy.Rules), "levels",
			len(s.policy.Levels))
	case was != nil && was.policy != nil:
		c.logger.Warn("the QoS policy is no longer in force: QoS is off, or its file is missing", "file", s.name)
	}
}

// qosPolicy is the policy of paths by the configuration that this manager uses as master; nil for none.
func (s *inForce) qosPolicy(l *conf.Loaded) *qosSelected {
	switch {
	case !conf.QoS.In(l.Config):
		return &qosSelected{}
	case s.from != nil:
		return s.from.qos
	case s.qos == nil:
		return &qosSelected{}
	}
	return s.qos
}

// pathGroups are the groups that the SA makes, those of IPoIB with the SL that the policy gives to their
// partition. defaulted are those with an MTU or rate of the settings.
func pathGroups(chosen *partitions.Selected, l *conf.Loaded, policy *qos.Policy) (all []registry.Group,
	defaulted map[mad.GID]bool) {
	all, defaulted = groups(chosen, l.Config)
	if policy == nil {
		return all, defaulted
	}
	return policy.ForGroups(all), defaulted
}

// trouble is what ibsmctl shows of a policy file that is not in force; nil if it is.
func (s *qosSelected) trouble(l *conf.Loaded) *ctl.QoSTrouble {
	if len(s.errors) == 0 {
		return nil
	}
	t := &ctl.QoSTrouble{InForce: "earlier policy", File: conf.QoSPolicyFile.In(l.Config), Reason: s.errors[0].Error()}
	if s.policy == nil {
		t.InForce = "no policy"
	}
	return t
}

// qosFindings are the errors and warnings of a policy file, for the control socket.
func qosFindings(s *qosSelected) []ctl.Finding {
	return fileFindings(conf.QoSPolicyFile.Key(), s.errors, s.warnings)
}
