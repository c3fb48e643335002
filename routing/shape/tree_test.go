package shape

import (
	"fmt"

	"ibsm/topo"
)

// FindTree finds the levels of a fat tree, or says why the switches are none.
func FindTree(t *topo.Topo) (*Tree, error) {
	r, err := newTree(newFabric(t))
	if err != nil {
		return nil, fmt.Errorf("not a fat tree: %w", err)
	}
	return r.tree(), nil
}
