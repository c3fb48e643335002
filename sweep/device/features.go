package device

import (
	"maps"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// Feature is something that OpenSM 3.3.23 sends to no device, or not by default, so that a device may not know it.
type Feature uint8

// Features.
const (
	// ExtendedGets is bit 31 of PortInfo's modifier in Gets, by which a manager says that it understands extended link
	// speeds.
	ExtendedGets Feature = iota
	// ExtendedSets is the same bit in Sets.
	ExtendedSets
	// Wildcards are Sets of the SLtoVLMappingTables of all ports of a switch, or for all ports that packets come in by.
	Wildcards
	// GeneralInfo is a Get of it, which says whether a switch has adaptive routing and private forwarding tables.
	GeneralInfo
	// AdaptiveRoutingInfo is a Get of it: whether adaptive routing is on.
	AdaptiveRoutingInfo
	// PrivateLFTInfo is a Get of it: whether private forwarding tables are on.
	PrivateLFTInfo
	// FDR10Info is a Get of ExtendedPortInfo: whether a port has FDR10.
	FDR10Info
	// PortStates is a Get of SwitchPortStateTable, which has the states of all ports of a switch.
	PortStates
	features
)

// Answer is what a device has made of a feature.
type Answer uint8

// Answers.
const (
	Untried    Answer = iota
	Unanswered        // once
	Works
	// Fails is any error, or no answer, where the device answers to the same request without the feature.
	Fails
)

// Features is what devices have made of features. It is owned by one goroutine.
type Features struct {
	nodes  map[mad.GUID]answers
	models map[featureOfModel]Answer // what any device of a model has made of it
}

type answers [features]Answer

type featureOfModel struct {
	model   Model
	feature Feature
}

// Model is a kind of device: quirks come by model.
type Model struct {
	Vendor   uint32
	Device   uint16
	Revision uint32
}

// ModelOf is the model of a device.
func ModelOf(info *smp.NodeInfo) Model {
	return Model{info.VendorID(), info.DeviceID(), info.Revision()}
}

// maxModels limits the number of remembered models: a host can claim to be of any model.
const maxModels = 256 * int(features)

// NewFeatures knows of no device.
func NewFeatures() *Features {
	return &Features{map[mad.GUID]answers{}, map[featureOfModel]Answer{}}
}

// Of is the known answer of a device to a feature. A device that was not asked counts as failing if the feature fails
// on other devices of its model and works on none.
func (f *Features) Of(feature Feature, info *smp.NodeInfo) Answer {
	own := f.nodes[info.NodeGUID()][feature]
	if own <= Unanswered && f.models[featureOfModel{ModelOf(info), feature}] == Fails {
		return Fails
	}
	return own
}

// OfModel is what devices of a model have made of a feature: Works if it works on one of them.
func (f *Features) OfModel(feature Feature, info *smp.NodeInfo) Answer {
	return f.models[featureOfModel{ModelOf(info), feature}]
}

// Learn takes the answer of a device.
func (f *Features) Learn(feature Feature, info *smp.NodeInfo, answer Answer) {
	f.set(feature, info, answer)
	model := featureOfModel{ModelOf(info), feature}
	was, known := f.models[model]
	if was != Works && (known || len(f.models) < maxModels) {
		f.models[model] = answer
	}
}

func (f *Features) set(feature Feature, info *smp.NodeInfo, answer Answer) {
	of := f.nodes[info.NodeGUID()]
	of[feature] = answer
	f.nodes[info.NodeGUID()] = of
}

// LearnNoAnswer takes it that a device has not answered where a lost packet would look alike, or with an error that may
// be for the moment. The second time the feature fails, unless it has worked before.
func (f *Features) LearnNoAnswer(feature Feature, info *smp.NodeInfo) {
	switch f.nodes[info.NodeGUID()][feature] {
	case Untried:
		f.set(feature, info, Unanswered)
	case Unanswered, Fails:
		f.Learn(feature, info, Fails)
	}
}

// LearnStatus takes the status of an answer, and reports whether it says that the device lacks the feature. Works and
// Fails are permanent; an error that may be temporary counts as no answer.
func (f *Features) LearnStatus(feature Feature, info *smp.NodeInfo, status mad.Status) (absent bool) {
	switch status {
	case mad.StatusOK:
		f.Learn(feature, info, Works)
	case mad.StatusBadVersion, mad.StatusBadMethod, mad.StatusBadMethodAttr, mad.StatusBadField:
		if f.nodes[info.NodeGUID()][feature] != Works { // of another port, or before
			f.Learn(feature, info, Fails)
		}
		return true
	default:
		f.LearnNoAnswer(feature, info)
	}
	return false
}

// Forget forgets the answers of the nodes for which gone reports true: they have restarted, or left. What is known of
// models stays.
func (f *Features) Forget(gone func(mad.GUID) bool) {
	maps.DeleteFunc(f.nodes, func(node mad.GUID, _ answers) bool { return gone(node) })
}

// Clear forgets all, also of models.
func (f *Features) Clear() { *f = *NewFeatures() }

// Prune forgets devices that have left.
func (f *Features) Prune(t *topo.Topo) {
	f.Forget(func(node mad.GUID) bool { return t.FindNode(node) == topo.None })
}
