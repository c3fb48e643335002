package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ibsm/conf"
	"ibsm/keys"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/perf/sick"
	"ibsm/routing/qos"
	"ibsm/sweep"
)

// policyText is the policy of a master, as it is sent to standbys and stored: its partitions,
// its shared settings (see conf), its QoS policy, and the files of its routing engines. It begins with a
// line,
//
//	ibsm ruling 1 GUID SOURCE LENGTH
//	ibsm ruling 2 GUID SOURCE LENGTH QOSLENGTH
//	ibsm ruling 3 GUID SOURCE LENGTH QOSLENGTH ENGINELENGTH
//	ibsm ruling 4 GUID SOURCE LENGTH QOSLENGTH ENGINELENGTH KEYSLENGTH
//	ibsm ruling 5 GUID SOURCE LENGTH QOSLENGTH ENGINELENGTH KEYSLENGTH LINKSLENGTH
//	ibsm ruling 6 GUID SOURCE LENGTH QOSLENGTH ENGINELENGTH KEYSLENGTH LINKSLENGTH SEEDLENGTH
//
// with the partitions.Source and the length of the settings, which follow in the format of ibsm.toml.
// In version 2, which is written only where there is a QoS policy, qos-policy.conf is next, and in
// version 3, which is written only where routing engines have files, these. In version 4, which is written only
// where ports have, or had, M_Keys of their own, or auto chose the routing engine, its first line is the number of the M_Keys, and its
// second the record of routes: managers that do not know this one read the first alone. In version 5, which is written only where links are sick, or out
// of use, it says which. In version 6, which is written only where M_Keys of ports follow from a seed that was made at first use, the file of the
// seed is next: it is sent encrypted, or not at all. The rest is partitions.conf.
type policyText struct {
	of      mad.GUID // the manager whose files it comes from
	shared  []byte
	qos     []byte // nil for no policy
	engines engineFiles
	mkeys   mkeyNumber
	seed    keys.Secret // the zero value for none
	links   *sick.Saved // nil for nothing
	routes  sweep.RoutesRecord
	source  partitions.Source
	file    []byte // where the source is a file

	engineTexts map[string][]byte // of a policy that is decoded: those of engines, by key
}

// policyHead is the line of each version, up to the lengths.
const policyHead = "ibsm ruling %d %v %d"

// maxPolicyHead bounds the line.
const maxPolicyHead = 80

func (t *policyText) encode() []byte {
	files, number, links := t.engines.encode(), t.keysPart(), encodeLinks(t.links)
	var seed []byte
	if hasSeed(t.seed) {
		seed = t.seed.Text()
	}
	lengths := []int{len(t.shared), len(t.qos), len(files), len(number), len(links), len(seed)}
	version := 1
	switch {
	case len(seed) > 0:
		version = 6
	case len(links) > 0:
		version = 5
	case len(number) > 0:
		version = 4
	case len(files) > 0:
		version = 3
	case len(t.qos) > 0:
		version = 2
	}
	text := fmt.Appendf(nil, policyHead, version, t.of, uint8(t.source))
	for _, n := range lengths[:version] {
		text = fmt.Appendf(text, " %d", n)
	}
	return slices.Concat(text, []byte("\n"), t.shared, t.qos, files, number, links, seed, t.file)
}

// keysPart is the number of the M_Keys of ports and the record of routes.
func (t *policyText) keysPart() []byte {
	if t.routes == (sweep.RoutesRecord{}) {
		return t.mkeys.encode()
	}
	return fmt.Appendf(t.mkeys.encode(), "\n%s", t.routes.Text())
}

// errPolicyText is for other versions and for garbage.
var errPolicyText = errors.New("it is of another version, or damaged")

func decodePolicy(text []byte) (*policyText, error) {
	end := bytes.IndexByte(text[:min(len(text), maxPolicyHead)], '\n')
	if end < 0 {
		return nil, errPolicyText
	}
	var version, source uint8
	var guid string
	words := strings.Fields(string(text[:end]))
	if _, err := fmt.Sscanf(string(text[:end+1]), strings.Replace(policyHead, "%v", "%s", 1), &version, &guid, &source); err != nil || version < 1 || version > 6 || len(words) != 5+int(version) {
		return nil, errPolicyText
	}
	of, err := mad.ParseGUID(guid)
	if err != nil {
		return nil, errPolicyText
	}
	rest := text[end+1:]
	var parts [6][]byte
	for i, word := range words[5:] {
		length, err := strconv.Atoi(word)
		if err != nil || length < 0 || length > len(rest) {
			return nil, errPolicyText
		}
		parts[i], rest = rest[:length:length], rest[length:]
	}
	t := &policyText{of: of, shared: parts[0], source: partitions.Source(source), file: rest}
	if len(parts[1]) > 0 {
		t.qos = parts[1]
	}
	number, record, _ := bytes.Cut(parts[3], []byte("\n"))
	t.mkeys, t.routes = decodeMKeyNumber(number), sweep.ParseRoutesRecord(record)
	if t.links, err = sick.Decode(parts[4]); err != nil {
		return nil, err
	}
	if len(parts[5]) > 0 {
		if t.seed, err = keys.Parse("the seed of "+guid, parts[5]); err != nil {
			return nil, err
		}
	}
	if t.engineTexts, err = splitEngineFiles(parts[2]); err != nil {
		return nil, err
	}
	return t, nil
}

// masterPolicy is the policy of the master that this manager follows or has taken over from. It
// is immutable.
type masterPolicy struct {
	policyText
	text   []byte               // the same, encoded
	chosen *partitions.Selected // nil if the operator has since applied this manager's own
	qos    *qosSelected
}

// newMasterPolicy decodes a policy, and checks that this manager can use it.
func newMasterPolicy(text []byte) (*masterPolicy, error) {
	p, err := decodePolicy(text)
	if err != nil {
		return nil, err
	}
	settings, err := conf.New().WithShared(p.settingsName(), p.shared)
	if err != nil {
		return nil, err
	}
	if err := checkEngines(settings); err != nil {
		return nil, err
	}
	if p.engines, err = parsePortGroupsOf(p.engineTexts); err != nil {
		return nil, err
	}
	chosen := partitions.Selected{Source: p.source}
	switch p.source {
	case partitions.FromFile, partitions.FromLastGood:
		chosen = partitions.Select(partitions.Input{Name: fmt.Sprintf("partitions.conf of %v", p.of), Text: p.file, PortGroups: p.engines.portGroups().ForPartitions(), NoNames: conf.Security.In(settings) == conf.Tenants}, nil, partitions.NoStart)
		if len(chosen.Errors) > 0 {
			return nil, chosen.Errors.Err()
		}
	case partitions.FromNothing, partitions.FromFallback:
		chosen.Policy = partitions.Default()
	case partitions.FromCaution:
		chosen.Policy = partitions.Closed()
	default:
		return nil, errPolicyText
	}
	paths := &qosSelected{name: fmt.Sprintf("qos-policy.conf of %v", p.of), text: p.qos, others: p.engines.portGroups()}
	if p.qos != nil {
		if paths.policy, paths.errors, _ = qos.ParseWith(paths.others, paths.name, p.qos); paths.policy == nil {
			return nil, paths.errors.Err()
		}
	}
	if err := p.engines.parse(p.engineTexts, paths.groups()); err != nil {
		return nil, err
	}
	return &masterPolicy{policyText: *p, text: text, chosen: &chosen, qos: paths}, nil
}

// settingsName names the settings in messages.
func (t *policyText) settingsName() string { return fmt.Sprintf("settings of %v.toml", t.of) }

// sameFiles reports whether two policies differ in nothing but sick links, the record of routes and the seed of M_Keys. Both may be nil.
func (p *masterPolicy) sameFiles(o *masterPolicy) bool {
	if p == nil || o == nil || o.chosen == nil {
		return false
	}
	a, b := p.policyText, o.policyText
	a.links, b.links, a.routes, b.routes = nil, nil, sweep.RoutesRecord{}, sweep.RoutesRecord{}
	a.seed, b.seed = keys.Secret{}, keys.Secret{}
	return bytes.Equal(a.encode(), b.encode())
}

// withoutPartitions is the policy without its partitions.
func (p *masterPolicy) withoutPartitions() *masterPolicy {
	settings := *p
	settings.chosen = nil
	return &settings
}

// over returns l and own with the settings and partitions of the policy in their place.
func (p *masterPolicy) over(l *conf.Loaded, own *partitions.Selected) (*conf.Loaded, *partitions.Selected) {
	chosen := p.chosen
	if chosen == nil {
		chosen = own
	}
	c, err := l.WithShared(p.settingsName(), p.shared)
	if err != nil {
		return l, chosen // newMasterPolicy has tried it
	}
	copied := *l
	copied.Config = c
	return &copied, chosen
}
