package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/perf/sick"
	"ibsm/routing/qos"
	"ibsm/sweep/routes"
)

// policyText is the policy of a master, as it is sent to standbys and stored: its partitions,
// its shared settings (see conf), its QoS policy, and the files of its routing engines. It begins with a
// line,
//
//	ibsm policy 1 GUID SOURCE SETTINGS QOS ENGINES KEYS ROUTES LINKS
//
// with the version, 1, the partitions.Source and the lengths of the parts that follow: the settings in the format of
// ibsm.toml, qos-policy.conf, the files of routing engines, the number of the M_Keys of ports, the record of routes,
// and the sick links and those that are out of use. A part is empty where there is nothing of its kind. The rest is
// partitions.conf.
type policyText struct {
	of      mad.GUID // the manager whose files it comes from
	shared  []byte
	qos     []byte // nil for no policy
	engines keptFiles
	mkeys   mkeyNumber
	links   *sick.Saved // nil for nothing
	routes  routes.Record
	source  partitions.Source
	file    []byte // where the source is a file

	fileTexts map[string][]byte // of a policy that is decoded: those of engines, by key
}

// Of the line.
const (
	policyVersion = 1
	policyHead    = "ibsm policy %d %v %d"
	policyParts   = 6
	maxPolicyHead = 160 // bytes
)

func (t *policyText) encode() []byte {
	var record []byte
	if t.routes != (routes.Record{}) {
		record = []byte(t.routes.Text())
	}
	parts := [policyParts][]byte{t.shared, t.qos, t.engines.encode(), t.mkeys.encode(), record, encodeLinks(t.links)}
	text := fmt.Appendf(nil, policyHead, policyVersion, t.of, uint8(t.source))
	for _, p := range parts {
		text = fmt.Appendf(text, " %d", len(p))
	}
	return slices.Concat(text, []byte("\n"), slices.Concat(parts[:]...), t.file)
}

// errPolicyText is for garbage.
var errPolicyText = errors.New("it is damaged")

// splitPolicy takes a policy apart.
func splitPolicy(text []byte) (of mad.GUID, source uint8, parts [policyParts][]byte, file []byte, err error) {
	end := bytes.IndexByte(text[:min(len(text), maxPolicyHead)], '\n')
	if end < 0 {
		return 0, 0, parts, nil, errPolicyText
	}
	var version uint8
	var guid string
	words := strings.Fields(string(text[:end]))
	if _, err := fmt.Sscanf(string(text[:end+1]), strings.Replace(policyHead, "%v", "%s", 1), &version, &guid,
		&source); err != nil {
		return 0, 0, parts, nil, errPolicyText
	}
	if version != policyVersion {
		return 0, 0, parts, nil,
			fmt.Errorf("its version is %d but this manager expects %d: run the same version of ibsm on all managers",
				version, policyVersion)
	}
	if of, err = mad.ParseGUID(guid); err != nil || len(words) != 5+policyParts {
		return 0, 0, parts, nil, errPolicyText
	}
	rest := text[end+1:]
	for i, word := range words[5:] {
		length, err := strconv.Atoi(word)
		if err != nil || length < 0 || length > len(rest) {
			return 0, 0, parts, nil, errPolicyText
		}
		parts[i], rest = rest[:length:length], rest[length:]
	}
	return of, source, parts, rest, nil
}

func decodePolicy(text []byte) (*policyText, error) {
	of, source, parts, file, err := splitPolicy(text)
	if err != nil {
		return nil, err
	}
	t := &policyText{of: of, shared: parts[0], source: partitions.Source(source), file: file}
	if len(parts[1]) > 0 {
		t.qos = parts[1]
	}
	t.mkeys, t.routes = decodeMKeyNumber(parts[3]), routes.ParseRecord(parts[4])
	if t.links, err = sick.Decode(parts[5]); err != nil {
		return nil, err
	}
	if t.fileTexts, err = splitFiles(parts[2]); err != nil {
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
	if p.engines, err = parsePortGroupsOf(p.fileTexts); err != nil {
		return nil, err
	}
	chosen := partitions.Selected{Source: p.source}
	switch p.source {
	case partitions.FromFile, partitions.FromLastGood:
		chosen = partitions.Select(partitions.Input{Name: fmt.Sprintf("partitions.conf of %v", p.of), Text: p.file,
			PortGroups: p.engines.portGroups().ForPartitions(), NoNames: conf.Security.In(settings) == conf.Tenants},
			nil, partitions.NoStart)
		if len(chosen.Errors) > 0 {
			return nil, chosen.Errors.Err()
		}
	case partitions.FromNothing, partitions.FromFallback:
		chosen.Policy = partitions.Default()
	case partitions.FromCaution:
		chosen.Policy = partitions.Closed()
	case partitions.FromSetting:
		chosen = partitions.Select(partitions.Input{Err: fs.ErrNotExist, Absent: []byte(tenantsPartitions)}, nil,
			partitions.NoStart)
	default:
		return nil, errPolicyText
	}
	paths := &qosSelected{name: fmt.Sprintf("qos-policy.conf of %v", p.of), text: p.qos, others: p.engines.portGroups()}
	if p.qos != nil {
		if paths.policy, paths.errors, _ = qos.Parse(paths.others, paths.name, p.qos); paths.policy == nil {
			return nil, paths.errors.Err()
		}
	}
	if err := p.engines.parse(p.fileTexts, paths.groups()); err != nil {
		return nil, err
	}
	return &masterPolicy{policyText: *p, text: text, chosen: &chosen, qos: paths}, nil
}

// settingsName names the settings in messages.
func (t *policyText) settingsName() string { return fmt.Sprintf("settings of %v.toml", t.of) }

// sameFiles reports whether two policies differ in nothing but sick links and the record of routes. Both may be nil.
func (p *masterPolicy) sameFiles(o *masterPolicy) bool {
	if p == nil || o == nil || o.chosen == nil {
		return false
	}
	a, b := p.policyText, o.policyText
	a.links, b.links, a.routes, b.routes = nil, nil, routes.Record{}, routes.Record{}
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
