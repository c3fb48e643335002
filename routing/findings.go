package routing

import "ibsm/topo"

// Refused is why an engine does not route a subnet, where OpenSM's log has words for it, too.
type Refused struct {
	Reason string // for the operator
	OpenSM string // the line in OpenSM's log, without its time and level
}

func (r *Refused) Error() string { return r.Reason }

// Findings are what an engine has found out about a subnet besides its routes, for operators, and what its dumps need.
type Findings struct {
	// Roots are the root switches, in OpenSM's order of GUIDs (updn).
	Roots []topo.SwitchIdx
	// Computes are the ports of compute nodes in the order of their leaves, as many for each leaf, None
	// for those that a leaf lacks: the order in which ranks of MPI jobs meet on no link (ftree).
	Computes []topo.PortIdx
	// Tree is what the tree looks like (ftree).
	Tree *TreeShape
	// Lanes are how lanes are used (lash, dfsssp).
	Lanes *LaneUse
	// Weights are those of links by which the engine has chosen ways; nil where each link counts 1 (minhop, dor and
	// file with hop_weights_file).
	Weights map[SwitchPort]uint8
	// Mesh is what the analysis of meshes has found (lash with do_mesh_analysis); nil without one.
	Mesh *MeshShape
}

// TreeShape is what a fat tree looks like.
type TreeShape struct {
	LeafRank         int
	Hosts, HostPorts int   // nodes of hosts, and ports of them
	Computes         int   // of HostPorts
	Switches         []int // by rank, from the roots on
	Leaves           int
}

// LaneUse is how lanes are used.
type LaneUse struct {
	Available, Start int // lanes from Start on
	Switches         int // of the subnet (lash)
	// Paths are how many have each lane that is needed before lanes are evened out, and Even of all lanes
	// after it: roughly, where lanes share paths.
	Paths, Even []uint64
}

// MeshShape is what the switches of a mesh or torus look like.
type MeshShape struct {
	// Classes are the switches whose neighbours look alike, those of the first switch first; none if no
	// switch looks like one of a mesh.
	Classes []MeshClass
	// Seen is how many switches each dimension has, 6 for six and more, as the first switch of the largest class
	// sees it; nil if it sees no mesh.
	Seen []int
	// Polynomial is by what that switch is known, its coefficients from that of x^0 on.
	Polynomial []int32
	// Size is how many switches the mesh has in each dimension; nil if there is none.
	Size []int32
}

// MeshClass is switches whose neighbours look alike.
type MeshClass struct {
	Shape    int // OpenSM's number of what they look like; 0 for nothing known
	Switches int
}
