package routing

import "testing"

// TestCRand: the first three and the 1,001st number of rand() after srand(seed), as a C program
// with glibc 2.36 prints them.
func TestCRand(t *testing.T) {
	for seed, want := range map[uint32][4]int{
		1:          {1804289383, 846930886, 1681692777, 981914693},
		2:          {1505335290, 1738766719, 190686788, 1682007530},
		42:         {71876166, 708592740, 1483128881, 1963050744},
		4000000000: {1111130805, 1380198982, 1306113867, 165601347},
	} {
		r := NewCRand(seed)
		got := [4]int{r.Next(), r.Next(), r.Next()}
		for range 997 {
			r.Next()
		}
		if got[3] = r.Next(); got != want {
			t.Errorf("seed %d: %v, want %v", seed, got, want)
		}
	}
}
