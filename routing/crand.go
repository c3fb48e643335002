package routing

// CRand draws the numbers of the C library's rand, which some engines of OpenSM use: glibc's
// additive feedback generator.
type CRand struct {
	state [31]uint32
	at    int
}

// NewCRand is the generator after srand(seed). A program that never calls srand has seed 1.
func NewCRand(seed uint32) *CRand {
	r := &CRand{}
	word := int64(max(seed, 1))
	if seed > 1<<31-1 {
		word = int64(int32(seed))
	}
	for i := range r.state {
		r.state[i] = uint32(word)
		if word = 16807 * word % (1<<31 - 1); word < 0 {
			word += 1<<31 - 1
		}
	}
	r.at = 3
	for range 310 {
		r.Next()
	}
	return r
}

// Next is the next number, 0 .. 2^31-1.
func (r *CRand) Next() int {
	i := (r.at + 28) % 31
	r.state[r.at] += r.state[i]
	n := r.state[r.at] >> 1
	r.at = (r.at + 1) % 31
	return int(n)
}
