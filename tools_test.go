package ibsm_test

import "testing"

// TestTools: the programs behind make mutants and make hunt, which no pattern of packages includes, are sound.
func TestTools(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"./testdata/mutate", "./testdata/hunt"} {
		output(t, "go", "vet", tool)
		output(t, "go", "test", tool)
	}
}
