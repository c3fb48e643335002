package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/partitions"
)

// ruling is what a master rules by, as it goes to standbys and into the store: its
// partitions, and the settings that conf calls shared. The text of one is a line,
//
//	ibsm ruling 1 GUID SOURCE LENGTH
//
// with the partitions.Source and the length of what follows it: the settings in the form of
// ibsm.toml. The rest is partitions.conf.
type ruling struct {
	of     mad.GUID // the manager whose files say so
	shared []byte
	source partitions.Source
	file   []byte // where the source is a file
}

// rulingHead is the line, of one version.
const rulingHead = "ibsm ruling 1 %v %d %d\n"

// maxRulingHead bounds the line.
const maxRulingHead = 80

func (r *ruling) encode() []byte {
	head := fmt.Appendf(nil, rulingHead, r.of, uint8(r.source), len(r.shared))
	return append(append(head, r.shared...), r.file...)
}

// errRuling is for what is no ruling of this version.
var errRuling = errors.New("it is of another version, or damaged")

func decodeRuling(text []byte) (*ruling, error) {
	end := bytes.IndexByte(text[:min(len(text), maxRulingHead)], '\n')
	if end < 0 {
		return nil, errRuling
	}
	var guid string
	var source uint8
	var length int
	if n, err := fmt.Sscanf(string(text[:end+1]), strings.Replace(rulingHead, "%v", "%s", 1), &guid, &source, &length); n != 3 || err != nil {
		return nil, errRuling
	}
	of, err := mad.ParseGUID(guid)
	rest := text[end+1:]
	if err != nil || length < 0 || length > len(rest) {
		return nil, errRuling
	}
	return &ruling{of: of, shared: rest[:length], source: partitions.Source(source), file: rest[length:]}, nil
}

// inherited is the ruling of a master that this manager stands by, or has taken over from.
type inherited struct {
	ruling
	text   []byte
	chosen *partitions.Chosen // nil where the operator has applied this manager's own since
}

// newInherited reads a ruling. It must be one that this manager can go on with.
func newInherited(text []byte) (*inherited, error) {
	r, err := decodeRuling(text)
	if err != nil {
		return nil, err
	}
	settings, err := conf.New().WithShared(r.settingsName(), r.shared)
	if err != nil {
		return nil, err
	}
	if _, _, err := chooseEngine(conf.RoutingEngine.In(settings)); err != nil {
		return nil, err
	}
	chosen := partitions.Chosen{Source: r.source}
	switch r.source {
	case partitions.FromFile, partitions.FromLastGood:
		chosen = partitions.Begin(partitions.Reading{Name: fmt.Sprintf("partitions.conf of %v", r.of), Text: r.file}, nil, false)
		if len(chosen.Errors) > 0 {
			return nil, chosen.Errors.Err()
		}
	case partitions.FromNothing, partitions.FromFallback:
		chosen.Policy = partitions.Default()
	case partitions.FromCaution:
		chosen.Policy = partitions.Closed()
	default:
		return nil, errRuling
	}
	return &inherited{ruling: *r, text: text, chosen: &chosen}, nil
}

// settingsName stands for the settings where they are told of.
func (r *ruling) settingsName() string { return fmt.Sprintf("settings of %v.toml", r.of) }

// over is a configuration and partitions with those of the master in their place.
func (i *inherited) over(l *conf.Loaded, own *partitions.Chosen) (*conf.Loaded, *partitions.Chosen) {
	chosen := i.chosen
	if chosen == nil {
		chosen = own
	}
	c, err := l.WithShared(i.settingsName(), i.shared)
	if err != nil {
		return l, chosen // newInherited has tried it
	}
	copied := *l
	copied.Config = c
	return &copied, chosen
}
