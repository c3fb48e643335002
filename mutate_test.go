package ibsm_test

import "testing"

// TestMutate: the mutation tester, which no pattern of packages includes, is sound.
func TestMutate(t *testing.T) {
	t.Parallel()
	output(t, "go", "vet", "./testdata/mutate")
	output(t, "go", "test", "./testdata/mutate")
}
