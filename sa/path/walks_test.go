package path

import (
	"testing"

	"ibsm/mad"
)

// TestMaxWalks: a request that names one end of its paths is never refused for the size of
// the subnet: all unicast LIDs may be its other end.
func TestMaxWalks(t *testing.T) {
	if maxWalks < int(mad.MaxUnicastLID) {
		t.Errorf("%d walks do not suffice for %d LIDs", maxWalks, mad.MaxUnicastLID)
	}
}
