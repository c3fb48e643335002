package partitions_test

import (
	"testing"

	"ibsm/partitions"
)

// TestPattern: patterns of names that are not of hosts, as docs/partitions.md has them.
func TestPattern(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"mlx5_0", "mlx5_0", true}, {"mlx5_0", "mlx5_01", false}, {"mlx5_[0-11]", "mlx5_10", true},
		{"mlx5_[0-11]", "mlx5_12", false}, {"mlx5_[0-11]", "mlx5_01", false}, {"mlx5_[00-11]", "mlx5_01", true},
		{"*", "", true}, {"mlx?_*", "mlx5_3", true}, {"ibp*s0", "ibp24s0", true}, {"ibp*s0", "ibp24s1", false},
	} {
		p, err := partitions.ParsePattern(c.pattern)
		if err != nil || p.Matches(c.name) != c.want {
			t.Errorf("%q and %q: %t, want %t (%v)", c.pattern, c.name, !c.want, c.want, err)
		}
	}
	if (partitions.Pattern{}).Matches("a") || !(partitions.Pattern{}).Matches("") {
		t.Error("the zero Pattern does not match the empty name alone")
	}
}
