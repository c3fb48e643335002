package tree

import (
	"context"
	"strings"
	"unicode"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/rails"
	"ibsm/topo"
)

// Settings are the operator's settings of the engine.
type Settings struct {
	// Compute and IO are the port GUIDs of compute nodes (cn_guid_file) and of I/O nodes (io_guid_file); nil for no
	// file. Hosts in neither are service nodes where there is a file of compute nodes, and otherwise what their
	// capabilities and names say.
	Compute, IO map[mad.GUID]bool
}

// New is the engine with settings. It refuses a subnet in which more than three cables in a hundred connect switches of
// one level, and one in which it finds no lanes for paths that turn. It computes everything afresh: In.Keep does not
// matter.
func New(s Settings) routing.Engine {
	return func(ctx context.Context, in routing.In) (*routing.Tables, error) { return s.route(ctx, in) }
}

// nodeType is what hosts are for. Those of each type are numbered by themselves, so that shifts among compute nodes do
// not meet because there are others between them.
type nodeType uint8

const (
	compute nodeType = iota
	storage
	service
	router
	noHost // or a host on a switch above leaves
	nodeTypes
)

// typeOf is the type of a host.
func (s *Settings) typeOf(t *topo.Topo, p topo.PortIdx) nodeType {
	node, port := &t.Nodes[t.Ports[p].Node], &t.Ports[p]
	switch {
	case node.Type == mad.Router:
		return router
	case s.Compute[port.GUID]:
		return compute
	case s.IO[port.GUID]:
		return storage
	case s.Compute != nil:
		return service
	case port.Info.CapabilityMask()&smp.IsDeviceManagementSupported != 0: // it offers I/O controllers
		return storage
	}
	return namedType(node.Desc.String())
}

// wordTypes are the types of hosts by words in their names.
var wordTypes = map[string]nodeType{
	"oss": storage, "ost": storage, "mds": storage, "mdt": storage, "mgs": storage, "nsd": storage, "storage": storage,
	"stor":   storage,
	"lustre": storage, "gpfs": storage, "beegfs": storage, "ceph": storage, "nas": storage, "nfs": storage,
	"login": service, "mgmt": service, "admin": service, "ufm": service, "cufm": service,
	"router": router, "gateway": router, "gw": router,
}

// namedType is what the words in the name of a host say; compute if they say nothing.
func namedType(desc string) nodeType {
	host, _ := rails.Split(desc)
	for word := range strings.FieldsFuncSeq(strings.ToLower(host), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if t, is := wordTypes[word]; is {
			return t
		}
	}
	return compute
}
