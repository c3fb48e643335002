package ctl

// SATimes holds the response times of subnet administration for one kind of request. A
// time begins when the request was received.
type SATimes struct {
	// get: until the packet is sent; table: until the response is complete; register: until the reply may be sent
	Way     string       `json:"way"`
	Count   uint64       `json:"count"`
	Seconds float64      `json:"seconds"` // in sum
	P50     float64      `json:"p50"`     // median, in seconds
	P99     float64      `json:"p99"`     // 99th percentile, in seconds
	Buckets []TimeBucket `json:"buckets"` // non-empty ones, in order
}

// TimeBucket counts times above Over up to To, both in seconds. To is 0 for no upper
// bound.
type TimeBucket struct {
	Over  float64 `json:"over"`
	To    float64 `json:"to,omitempty"`
	Count uint64  `json:"count"`
}

// Quantile is the q quantile in seconds, 0 without times. Times are interpolated within a
// bucket; above the last bound it is that bound.
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
