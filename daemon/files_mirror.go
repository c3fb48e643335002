package daemon

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"ibsm/conf"
	"ibsm/routing/portgroups"
)

// differ are the keys of the files that do not say the same in both.
func (f keptFiles) differ(o keptFiles) (keys []string) {
	all := []string{conf.PortGroupsFile.Key().Name}
	for _, kind := range fileKinds {
		all = append(all, kind.path.Key().Name)
	}
	for _, key := range all {
		var settings [2]fileSettings
		for i, files := range []keptFiles{f, o} {
			if file, ok := files[key]; ok {
				file.apply(&settings[i])
			}
		}
		if !settings[0].Equal(&settings[1]) {
			keys = append(keys, key)
		}
	}
	return keys
}

// encode is the files as lines "KEY LENGTH", each followed by the file.
func (f keptFiles) encode() (text []byte) {
	for _, key := range slices.Sorted(maps.Keys(f)) {
		text = append(fmt.Appendf(text, "%s %d\n", key, len(f[key].text)), f[key].text...)
	}
	return text
}

// splitFiles is the reverse of encode, up to the meaning of the files.
func splitFiles(text []byte) (map[string][]byte, error) {
	texts := map[string][]byte{}
	for len(text) > 0 {
		head, rest, _ := bytes.Cut(text, []byte("\n"))
		var key string
		var length int
		if n, err := fmt.Sscanf(string(head[:min(len(head), maxPolicyHead)]), "%s %d", &key, &length); n != 2 ||
			err != nil || length < 0 || length > len(rest) {
			return nil, errPolicyText
		}
		if _, twice := texts[key]; twice {
			return nil, errPolicyText
		}
		texts[key], text = rest[:length:length], rest[length:]
	}
	return texts, nil
}

// parsePortGroupsOf is pgrp_policy_file among the files of the master.
func parsePortGroupsOf(texts map[string][]byte) (keptFiles, error) {
	f := keptFiles{}
	key := conf.PortGroupsFile.Key().Name
	text, is := texts[key]
	if !is {
		return f, nil
	}
	file, _, err := parsePortGroups(key+" of the master", text)
	f[key] = file
	return f, err
}

// parse adds the other files of the master to its pgrp_policy_file. ofQoS are the groups of its QoS policy.
func (f keptFiles) parse(texts map[string][]byte, ofQoS []*portgroups.Group) error {
	groups := f.known(ofQoS)
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		if _, is := f[key]; is {
			continue
		}
		file, err := parseKeptFile(key, texts[key], groups)
		if err != nil {
			return err
		}
		f[key] = file
	}
	return nil
}

// parseKeptFile is a file of the master.
func parseKeptFile(key string, text []byte, groups *portgroups.Set) (keptFile, error) {
	for _, kind := range fileKinds {
		if kind.path.Key().Name == key {
			apply, _, err := kind.parse(key+" of the master", text, groups)
			return keptFile{text: text, apply: apply}, err
		}
	}
	return keptFile{}, fmt.Errorf("unknown kind of routing engine file %q", key)
}
