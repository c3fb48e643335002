package ctl

// SATimes is how long answers of subnet administration took, of one way to them, from when
// the request was received.
type SATimes struct {
	Way     string       `json:"way"` // get: one packet, until it is sent; table: until it is made; register: until it may be sent
	Count   uint64       `json:"count"`
	Seconds float64      `json:"seconds"` // in sum
	P50     float64      `json:"p50"`     // seconds that half of the answers took at most
	P99     float64      `json:"p99"`     // and 99 in 100
	Buckets []TimeBucket `json:"buckets"` // in order, those that are not empty
}

// TimeBucket counts what took more than Over, and To at most, both in seconds. To is 0
// where there is no bound.
type TimeBucket struct {
	Over  float64 `json:"over"`
	To    float64 `json:"to,omitempty"`
	Count uint64  `json:"count"`
}

// Quantile is how long the share q of what is counted took at most, in seconds, 0 if
// nothing is. Within a bucket times are taken for spread evenly; above the last bound it is
// that bound.
func Quantile(buckets []TimeBucket, q float64) float64 {
	total := uint64(0)
	for _, b := range buckets {
		total += b.Count
	}
	rank, below := q*float64(total), 0.0
	for _, b := range buckets {
		n := float64(b.Count)
		if n > 0 && below+n >= rank {
			return b.Over + max(b.To-b.Over, 0)*(rank-below)/n
		}
		below += n
	}
	return 0
}
