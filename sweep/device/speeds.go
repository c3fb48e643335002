package device

import (
	"maps"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// Speeds is what devices have made of bit 31 of PortInfo's attribute modifier, by which a manager says that it
// understands extended link speeds. OpenSM 3.3.23 has it in no Get, and in Sets only to devices whose CapabilityMask has
// IsExtendedSpeedsSupported, so a device may not know it. It is owned by one goroutine.
type Speeds struct {
	nodes  map[mad.GUID]speeds
	models map[Model]speeds // what any device of a model has made of it
}

// speeds are the answers of a node, or of a model.
type speeds struct{ get, set Bit31 }

// Bit31 is what a device has made of the bit in a Get, or in a Set.
type Bit31 uint8

// Answers to the bit.
const (
	Bit31Untried Bit31 = iota
	Bit31Accepted
	Bit31Refused // any error, or silence, and an answer to the same request without the bit
)

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

// maxModels bounds the models that are remembered: a host can claim to be any.
const maxModels = 256

// NewSpeeds knows of no device.
func NewSpeeds() *Speeds { return &Speeds{map[mad.GUID]speeds{}, map[Model]speeds{}} }

// Get is what a device has made of the bit in a Get. A device that was not asked is taken for one that refuses it if
// others of its model do, and none accepts it.
func (s *Speeds) Get(info *smp.NodeInfo) Bit31 {
	if own := s.nodes[info.NodeGUID()].get; own != Bit31Untried {
		return own
	}
	if s.models[ModelOf(info)].get == Bit31Refused {
		return Bit31Refused
	}
	return Bit31Untried
}

// Set is likewise what it has made of the bit in a Set.
func (s *Speeds) Set(info *smp.NodeInfo) Bit31 {
	if own := s.nodes[info.NodeGUID()].set; own != Bit31Untried {
		return own
	}
	return s.models[ModelOf(info)].set
}

// LearnGet takes the answer of a device to a Get with the bit.
func (s *Speeds) LearnGet(info *smp.NodeInfo, answer Bit31) {
	node, kind := s.nodes[info.NodeGUID()], s.models[ModelOf(info)]
	node.get, kind.get = answer, best(kind.get, answer)
	s.nodes[info.NodeGUID()] = node
	s.learnModel(ModelOf(info), kind)
}

// LearnSet takes the answer of a device to a Set with the bit. That it accepts the bit is remembered of its model alone.
func (s *Speeds) LearnSet(info *smp.NodeInfo, answer Bit31) {
	kind := s.models[ModelOf(info)]
	if answer == Bit31Refused {
		node := s.nodes[info.NodeGUID()]
		node.set = Bit31Refused
		s.nodes[info.NodeGUID()] = node
	} else if kind.set == Bit31Accepted {
		return
	}
	kind.set = best(kind.set, answer)
	s.learnModel(ModelOf(info), kind)
}

// best is what is known of a model: a device that accepts the bit shows that the model does.
func best(was, answer Bit31) Bit31 {
	if was == Bit31Accepted {
		return was
	}
	return answer
}

func (s *Speeds) learnModel(model Model, kind speeds) {
	if _, known := s.models[model]; known || len(s.models) < maxModels {
		s.models[model] = kind
	}
}

// Prune forgets devices that have left.
func (s *Speeds) Prune(t *topo.Topo) {
	maps.DeleteFunc(s.nodes, func(node mad.GUID, _ speeds) bool { return t.FindNode(node) == topo.None })
}
