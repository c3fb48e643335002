package daemon

import (
	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/conf/policyfile"
	"ibsm/routing/portgroups"
)

// Port groups are defined in pgrp_policy_file, which is among the files of routing engines whatever these are, and in
// the QoS policy. Files of GUIDs name them, and the QoS policy names those of pgrp_policy_file.

// readPortGroups reads the pgrp_policy_file that the configuration names. was is in force before a reload, nil at a
// start.
func readPortGroups(was *inForce, c *conf.Config) (r filesRead) {
	r.was, r.files = was, keptFiles{}
	name := conf.PortGroupsFile.In(c)
	if name == "" {
		return r
	}
	var file keptFile
	var warnings diag.List
	text, err := r.inUse(conf.PortGroupsFile, c).read(name, policyfile.MaxFile)
	if err == nil {
		file, warnings, err = parsePortGroups(name, text)
	}
	r.add(conf.PortGroupsFile.Key(), name, file, warnings, err)
	return r
}

// selectFiles reads the files of port groups, of the QoS policy and of routing engines at a start, which go by each
// other. The error says why the manager must not start.
func selectFiles(l *conf.Loaded) (files keptFiles, policy *qosSelected, warnings diag.List, err error) {
	r := readPortGroups(nil, l.Config)
	if len(r.errors) == 0 {
		if policy, err = selectQoS(l, r.files.portGroups()); err != nil {
			return nil, nil, nil, err
		}
		r.read(l.Config, enginesToRead(l.Config), policy.groups())
	}
	files, warnings, err = selectKeptFiles(l, &r)
	return files, policy, warnings, err
}

func parsePortGroups(name string, text []byte) (keptFile, diag.List, error) {
	groups, errors, warnings := portgroups.Parse(name, text)
	set := portgroups.NewSet(groups)
	return keptFile{text, func(to *fileSettings) { to.Groups = set }, groups}, warnings, errors.Err()
}

// portGroups are those of pgrp_policy_file; nil without one.
func (f keptFiles) portGroups() *portgroups.Set { return f.known(nil) }

// known are all groups: those of pgrp_policy_file, and then those of the QoS policy. Nil is none.
func (f keptFiles) known(ofQoS []*portgroups.Group) *portgroups.Set {
	own := f[conf.PortGroupsFile.Key().Name].groups
	if len(own)+len(ofQoS) == 0 {
		return nil
	}
	return portgroups.NewSet(own, ofQoS)
}

// groups are those of the policy.
func (s *qosSelected) groups() []*portgroups.Group {
	if s == nil || s.policy == nil {
		return nil
	}
	return s.policy.Groups
}

// named is the list of a file, nil if it names no groups.
func named(l *portgroups.List) *portgroups.List {
	if len(l.Groups()) == 0 {
		return nil
	}
	return l
}
