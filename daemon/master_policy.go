package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/routing/qos"
)

// policyText is the policy of a master, as it is sent to standbys and stored: its partitions,
// its shared settings (see conf), and its QoS policy. It begins with a line,
//
//	ibsm ruling 1 GUID SOURCE LENGTH
//	ibsm ruling 2 GUID SOURCE LENGTH QOSLENGTH
//
// with the partitions.Source and the length of the settings, which follow in the format of
// ibsm.toml. In version 2, which is written only where there is a QoS policy, qos-policy.conf is next.
// The rest is partitions.conf.
type policyText struct {
	of     mad.GUID // the manager whose files it comes from
	shared []byte
	qos    []byte // nil for no policy
	source partitions.Source
	file   []byte // where the source is a file
}

// The lines of the versions.
const (
	policyHead  = "ibsm ruling 1 %v %d %d\n"
	policyHead2 = "ibsm ruling 2 %v %d %d %d\n"
)

// maxPolicyHead bounds the line.
const maxPolicyHead = 80

func (t *policyText) encode() []byte {
	head := fmt.Appendf(nil, policyHead, t.of, uint8(t.source), len(t.shared))
	if t.qos != nil {
		head = fmt.Appendf(nil, policyHead2, t.of, uint8(t.source), len(t.shared), len(t.qos))
	}
	return slices.Concat(head, t.shared, t.qos, t.file)
}

// errPolicyText is for other versions and for garbage.
var errPolicyText = errors.New("it is of another version, or damaged")

func decodePolicy(text []byte) (*policyText, error) {
	end := bytes.IndexByte(text[:min(len(text), maxPolicyHead)], '\n')
	if end < 0 {
		return nil, errPolicyText
	}
	var guid string
	var source uint8
	var length, qosLength int
	head := string(text[:end+1])
	if n, err := fmt.Sscanf(head, strings.Replace(policyHead, "%v", "%s", 1), &guid, &source, &length); n != 3 || err != nil {
		if n, err := fmt.Sscanf(head, strings.Replace(policyHead2, "%v", "%s", 1), &guid, &source, &length, &qosLength); n != 4 || err != nil || qosLength <= 0 {
			return nil, errPolicyText
		}
	}
	of, err := mad.ParseGUID(guid)
	rest := text[end+1:]
	if err != nil || length < 0 || length > len(rest) || qosLength > len(rest)-length {
		return nil, errPolicyText
	}
	t := &policyText{of: of, shared: rest[:length], source: partitions.Source(source), file: rest[length+qosLength:]}
	if qosLength > 0 {
		t.qos = rest[length : length+qosLength]
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
	chosen := partitions.Selected{Source: p.source}
	switch p.source {
	case partitions.FromFile, partitions.FromLastGood:
		chosen = partitions.Select(partitions.Input{Name: fmt.Sprintf("partitions.conf of %v", p.of), Text: p.file}, nil, partitions.NoStart)
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
	paths := &qosSelected{name: fmt.Sprintf("qos-policy.conf of %v", p.of), text: p.qos}
	if p.qos != nil {
		if paths.policy, paths.errors, _ = qos.Parse(paths.name, p.qos); paths.policy == nil {
			return nil, paths.errors.Err()
		}
	}
	return &masterPolicy{policyText: *p, text: text, chosen: &chosen, qos: paths}, nil
}

// settingsName names the settings in messages.
func (t *policyText) settingsName() string { return fmt.Sprintf("settings of %v.toml", t.of) }

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
